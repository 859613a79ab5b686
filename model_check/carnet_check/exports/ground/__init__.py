"""An instance of a protocol written out: places, what they may hold, and every step without a variable."""
