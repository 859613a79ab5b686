"""The schedules of each system: its transfers as tasks on resources."""
