"""Findings: what a custody log needs beside replication, and what the published designs say of it."""

from __future__ import annotations

from carnet_spec.language.family import Finding

FINDINGS: tuple[Finding, ...] = ()
