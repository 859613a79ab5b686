"""Attestation: real evidence of GPUs and confidential VMs, appraised step by step, and the simulated kind for tests."""
