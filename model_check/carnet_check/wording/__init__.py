"""Protocols, steps and attacks in sentences, and names that are fit for files."""
