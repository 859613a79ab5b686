"""Teechain for custody: a log that a chain of replicas keeps, and that one next chain goes on from."""
