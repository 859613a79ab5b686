"""Findings: what tensor granularity and delayed verification need, which the abstract of the paper does not say.

Each is an attack on a reading of the abstract. The paper itself may exclude it.
"""

from __future__ import annotations

from functools import partial

from carnet_spec.language.family import Finding

ABSTRACT = "the abstract of the paper, read literally"

_finding = partial(Finding, threat="bus", about=ABSTRACT)

FINDINGS = (
    _finding(
        "finding-1",
        "one scheme and one key on both sides: CPU and NPU write one tensor in one version, under one IV",
        claim="confidentiality",
        variant="two-counters",
    ),
    _finding(
        "finding-2",
        "computation runs ahead of the MAC, and so does what it exports",
        claim="verified-export",
        variant="predict-and-export",
    ),
    _finding(
        "finding-3",
        "a result of unverified data goes through memory, and its own MAC verifies",
        claim="verified-export",
        variant="own-mac-only",
    ),
    _finding(
        "finding-4",
        "the delayed MAC is computed from a second read: what was verified is not what was computed with",
        claim="verified-export",
        variant="verify-by-second-pass",
    ),
    _finding(
        "finding-5",
        "line tags that are linear are summed up to a tensor's MAC: the same change in two lines cancels",
        claim="tensor-agreement",
        variant="sum-of-tags",
    ),
    _finding(
        "finding-6",
        "lines that are authenticated without their address change places",
        claim="tensor-agreement",
        variant="bare-lines",
    ),
    _finding(
        "finding-7",
        "the table of versions overflows to memory, and memory gives an old entry back",
        claim="iv-unique",
        variant="spilled-table",
    ),
    _finding(
        "finding-8",
        "both enclaves use the machine's key: another job on the machine has it, too",
        threat="neighbour",
        claim="confidentiality",
        variant="machine-key",
    ),
)
