"""Key schedules of GPU Travelling, and the inner key over any of them."""
