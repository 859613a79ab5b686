"""Attacks: the search for them, their diagrams, their replay on an implementation, and regression tests made of them.

The interpreter replays every attack. An attack that it does not reproduce is an internal error.
"""
