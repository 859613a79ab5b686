"""What may happen to values, worked out from a protocol's text alone: the analyses that lints rest on."""
