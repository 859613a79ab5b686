"""Attestation documents of AWS's Nitro system: of enclaves, and of instances with NitroTPM."""
