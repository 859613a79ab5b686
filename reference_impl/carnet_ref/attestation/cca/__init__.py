"""Attestation tokens of Arm's Confidential Compute Architecture (CCA)."""
