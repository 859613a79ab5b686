"""What engines share that prove claims obligation by obligation."""
