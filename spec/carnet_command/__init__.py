"""What all packages with subcommands of ``carnet`` share: errors, exit codes, terminal text and worker processes."""
