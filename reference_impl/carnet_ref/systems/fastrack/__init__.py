"""Fastrack: user and GPU share a key; workers seal and verify chunks, and whole transfers are released."""
