"""Attestation results for others: what an appraisal found, in a signed token that any relying party can read."""
