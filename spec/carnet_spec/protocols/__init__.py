"""The protocols that Carnet specifies, one folder each with its text; :mod:`.registry` lists them by id."""
