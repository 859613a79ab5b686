"""Whether the specification's claims are true: the engines that prove, exhaust and attack them.

Imports ``carnet_spec`` and never ``carnet_ref``.
"""
