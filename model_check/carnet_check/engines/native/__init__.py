"""Explicit-state search by code that is compiled for the model: branches, masks and a table of states, in threads.

Decided in docs/adr/0058-a-model-is-compiled-for-its-search.md.
"""
