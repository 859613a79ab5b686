"""The files that ``carnet init`` copies: a working small protocol, to be changed step by step into the user's own."""
