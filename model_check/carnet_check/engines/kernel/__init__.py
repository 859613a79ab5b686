"""The engine that trusts no solver: the kernel checks the certificates beside a specification again."""
