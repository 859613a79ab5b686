"""Loading a protocol by its reference, and building the finite instances on which it is checked."""
