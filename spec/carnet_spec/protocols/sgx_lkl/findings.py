"""Findings: what "oblivious" needs, which the abstract of the paper does not say.

Each is an attack on a reading of the abstract, or on a hand-over that nobody pads. The paper itself may exclude it.
"""

from __future__ import annotations

from functools import partial

from carnet_spec.language.family import Finding
from carnet_spec.protocols.sgx_lkl.variants import ON_DEMAND, SHUFFLED

ABSTRACT = "the abstract of the paper, read literally"
HAND_OVER = "a hand-over of GPU Travelling that nobody pads"

_finding = partial(Finding, threat="watching", about=ABSTRACT)

FINDINGS = (
    _finding(
        "finding-1",
        "blocks in an order that nobody knows: the host still sees which are fetched again",
        claim="revisits",
        variant=SHUFFLED,
    ),
    _finding(
        "finding-2",
        "a constant bit rate of the network alone: whether the disk is asked tells of the workload",
        claim="count",
        variant=ON_DEMAND,
    ),
    _finding(
        "finding-3",
        "encryption hides what is said, and not how much of it",
        claim="size",
        variant="protected-only",
    ),
    _finding("finding-4", "how long a run takes tells what it worked on", claim="end", variant="early-end"),
    _finding(
        "finding-5",
        "the host refuses a call, and sees by the retry that it was none of the dummies",
        threat="meddling",
        claim="refusal",
        variant="needed-retry",
    ),
    _finding(
        "finding-6",
        "the host spoils an answer, and sees by the error that it was read",
        threat="meddling",
        claim="error",
        variant="calls-checked",
    ),
    _finding(
        "finding-7",
        "the number of chunks tells how much data the holder has",
        claim="hand-over-count",
        variant="bare-hand-over",
        about=HAND_OVER,
    ),
    _finding(
        "finding-8",
        "the last chunk tells how much data the holder has, to the byte",
        claim="hand-over-size",
        variant="bare-hand-over",
        about=HAND_OVER,
    ),
)
