"""Findings: what encryption and authentication of each hop need, which the abstract of the paper does not say."""

from __future__ import annotations

FINDINGS = ()
