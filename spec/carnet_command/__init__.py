"""What every package that adds subcommands to the carnet command shares: errors, exit codes, lines for a terminal."""
