"""Static analyses of a protocol, which the lints use."""
