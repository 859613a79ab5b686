"""Verifiable claims about training: exclaves attest their steps, and an auditor checks the resulting graph."""
