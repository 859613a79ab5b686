"""Attestation: real evidence of GPUs and confidential VMs, appraised step by step, and the simulated kind for tests.

A relying party calls ``appraise``, which takes evidence of any kind.
"""

from carnet_ref.attestation.dispatch import appraise

__all__ = ["appraise"]
