"""What Carnet claims: protocols, threat models and claims, as data that every other part reads.

Imports the standard library only, so that the specification can be read and re-checked with
Python alone.
"""
