"""Slalom: an enclave delegates its linear layers on blinded values, and checks the results."""
