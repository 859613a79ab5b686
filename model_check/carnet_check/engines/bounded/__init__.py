"""Bounded model checking: every run of a few steps at once, for any number of everything, by Z3."""
