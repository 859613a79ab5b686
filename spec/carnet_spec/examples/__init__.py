"""Textbook protocols, written with the theories, as examples to run and to copy; none is registered."""
