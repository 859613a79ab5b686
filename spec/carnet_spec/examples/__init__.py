"""Textbook protocols written with the theories: to run, to read, and to begin one's own with. None is registered."""
