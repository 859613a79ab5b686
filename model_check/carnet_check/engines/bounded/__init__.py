"""Bounded model checking: every run up to a number of steps, in instances of any size, by Z3."""
