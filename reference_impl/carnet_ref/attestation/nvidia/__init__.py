"""Attestation of NVIDIA GPUs and switches: reports, device certificates, reference values and their appraisal."""
