"""Mutation analysis of specifications: each part is changed, and each mutant is killed, equivalent, or survives."""
