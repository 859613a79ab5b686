"""Certificates of proofs: the file that lies beside a specification, and the search that makes it."""
