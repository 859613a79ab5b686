"""From what a user names to a protocol and the finite instances that it is checked on."""
