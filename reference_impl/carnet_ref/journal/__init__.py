"""The journal of custody: what must survive a crash, sealed, in one file."""
