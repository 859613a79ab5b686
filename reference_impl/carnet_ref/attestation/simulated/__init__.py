"""Simulated hardware: evidence of the same formats as the real thing, under roots that are named TEST.

Nothing made here is accepted with the production trust anchors. Everything is derived from a seed and a clock that are
passed in: the same inputs make the same bytes. Signatures of manifests and OCSP replies are the exception, since the
libraries that make them draw at random: the same inputs make documents that say the same.
"""
