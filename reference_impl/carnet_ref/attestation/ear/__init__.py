"""Signed tokens with attestation results (EAR): signing them, and checking those of others."""
