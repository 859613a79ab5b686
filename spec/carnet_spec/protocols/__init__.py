"""The registered protocols, one folder each, with their normative texts."""
