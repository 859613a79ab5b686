"""The common parts of engines that prove claims obligation by obligation."""
