"""The reference implementation, held to the specification by its traces; not built yet.

The package is empty on purpose: it reserves the name and the import rules (``carnet_spec`` for
vocabulary only, never ``carnet_check``) until the implementation arrives.
"""
