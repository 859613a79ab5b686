"""Fastrack: a key of user and GPU, chunks sealed and verified by any number of workers, released as a whole."""
