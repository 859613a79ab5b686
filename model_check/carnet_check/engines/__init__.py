"""Engines: each takes a task and returns an outcome, and knows no protocol."""
