"""Engines: each takes a task and returns a result; no engine depends on a particular protocol."""
