"""The protocols that Carnet specifies, one module or folder each; :mod:`.registry` lists them by id."""
