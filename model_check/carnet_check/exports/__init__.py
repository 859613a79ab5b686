"""A protocol, an obligation or a trace as text in the languages of other tools; no engine is needed for it."""
