"""The device as GPU Travelling orders it: commands, and what each of them does."""
