"""The transport of frames: within one process, or between processes over loopback TCP."""
