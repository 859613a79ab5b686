"""The subcommands of ``carnet``, one module each."""
