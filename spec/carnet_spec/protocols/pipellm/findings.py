"""Findings: what speculative encryption needs, which the abstract of the paper does not say."""

from __future__ import annotations

from carnet_spec.language.family import Finding

FINDINGS: tuple[Finding, ...] = ()
