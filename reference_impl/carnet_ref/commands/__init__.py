"""The commands that the reference implementation adds to ``carnet``; each is imported when it is used."""
