"""Attestation: real evidence of GPUs and confidential VMs, appraised step by step, and the simulated kind for tests.

A relying party calls ``appraise``, which takes evidence of any kind.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from carnet_ref.attestation.dispatch import appraise

__all__ = ["appraise"]


def __getattr__(name: str) -> object:
    """Import `appraise` when it is asked for: who reads one format needs nothing that finds the format of a file."""
    if name != "appraise":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from carnet_ref.attestation.dispatch import appraise

    return appraise
