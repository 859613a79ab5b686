"""The records under ``docs/results``: what each is about, what of it is stale, and the one command that makes it."""
