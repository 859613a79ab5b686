"""The subcommand that runs GPU Travelling."""
