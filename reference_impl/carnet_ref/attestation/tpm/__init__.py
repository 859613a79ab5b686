"""Quotes of TPM 2.0, and the virtual TPMs of clouds."""
