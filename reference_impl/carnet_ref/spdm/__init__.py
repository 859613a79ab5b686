"""SPDM: the protocol that authenticates a device and opens a protected session with it."""
