"""The schedules: how each system moves what it moves, as tasks on resources."""
