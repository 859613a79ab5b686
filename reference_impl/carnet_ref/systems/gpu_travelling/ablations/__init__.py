"""Ablations: the parts of designs that lack some of the specification's defences; no shipped code knows of them."""
