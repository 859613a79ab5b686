"""The specifications: protocols with threat models and claims, as data that all other packages read.

Imports the standard library only, so that the specification can be read and re-checked with
Python alone.
"""
