"""The common parts of engines that visit the states of finite instances: searches, workers, and verdicts."""
