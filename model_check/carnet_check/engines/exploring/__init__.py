"""What engines that visit the states of finite instances share: searches, workers, and verdicts."""
