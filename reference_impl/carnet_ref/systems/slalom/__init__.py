"""Slalom: an enclave that has its linear layers computed elsewhere, on blinded values, and checks the results."""
