"""Bytes that somebody else made, read within bounds, and messages as lists of byte fields."""
