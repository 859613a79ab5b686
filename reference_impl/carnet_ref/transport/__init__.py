"""Carrying frames: in one process, or between processes over loopback TCP."""
