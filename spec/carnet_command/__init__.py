"""Errors, exit codes, terminal text and processes, for every package that adds subcommands to ``carnet``."""
