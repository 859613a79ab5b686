"""Axioms that many protocols assume of their sorts, each theory written once."""
