"""Attacks: found, minimised, replayed and drawn.

The judge of everything here is the interpreter; an attack that it does not reproduce is an internal error.
"""
