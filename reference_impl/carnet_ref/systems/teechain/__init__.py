"""Teechain for custody: a chain of replicas keeps a log, and one next chain may continue it."""
