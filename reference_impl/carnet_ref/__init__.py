"""The reference implementation: that the protocols can be built, with real cryptography and real evidence formats.

It imports ``carnet_spec`` for vocabulary only and never ``carnet_check``. The traces that it records are checked
against the specification.
"""
