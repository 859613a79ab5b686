"""Attacks: found, drawn, carried out, and kept as tests.

The judge of everything here is the interpreter; an attack that it does not reproduce is an internal error.
"""
