"""Verifiable claims about training: exclaves that attest each step, the graph that steps form, and its auditor."""
