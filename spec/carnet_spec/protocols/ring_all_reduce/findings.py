"""Findings: what encryption and authentication of each hop need, which the abstract of the paper does not say.

Each is an attack on a reading of the abstract. The paper itself may exclude it.
"""

from __future__ import annotations

from functools import partial

from carnet_spec.language.family import Finding

ABSTRACT = "the abstract of the paper, read literally"
CHOICE = "a choice that the abstract leaves open"

_finding = partial(Finding, threat="tenants", about=CHOICE)

FINDINGS = (
    _finding(
        "finding-1",
        "every message is encrypted and has a MAC, which says nothing of where it belongs: a partial sum passes for the"
        " whole one",
        claim="whole-sum",
        variant="bare-mac",
        about=ABSTRACT,
    ),
    _finding(
        "finding-2",
        "one key for the whole ring: two ranks seal their partial sums under one IV",
        claim="iv-unique",
        variant="group-key",
    ),
    _finding(
        "finding-3",
        "ranks agree on keys with whoever answers: a fake GPU in the ring reads partial sums",
        threat="links",
        claim="confidentiality",
        variant="unattested",
    ),
    _finding(
        "finding-4",
        "a vendor's certificate is enough: a GPU of another tenant joins the ring and changes the sum",
        claim="nothing-else",
        variant="certificate-only",
    ),
    _finding(
        "finding-5",
        "a tag that does not bind the iteration: a partial sum of an earlier iteration is added again",
        claim="nothing-else",
        variant="any-iteration",
    ),
    _finding(
        "finding-6",
        "a tag that binds neither phase nor sub-step: a partial sum is taken for the whole one",
        claim="sum-agreement",
        variant="any-phase",
    ),
    _finding(
        "finding-7",
        "more chunks than ranks, and a tag that does not bind the chunk: chunks of two buckets change places",
        claim="partial-sum-agreement",
        variant="any-chunk",
    ),
    _finding(
        "finding-8",
        "addition does not wait for the tag: what was changed on the link is in the sum, and nobody takes it out",
        claim="nothing-else",
        variant="late-check",
    ),
    _finding(
        "finding-9",
        "a rank goes on after a failed tag: ranks finish with sums that lack contributions",
        claim="whole-sum",
        variant="goes-on",
    ),
    _finding(
        "finding-10",
        "a job begins again from a checkpoint under the same keys: IVs repeat, and a link reads partial sums",
        claim="confidentiality",
        variant="same-keys",
    ),
    _finding(
        "finding-11",
        "one key for the whole ring, and the sub-step not bound: a rank adds what was sealed for another hop",
        claim="partial-sum-agreement",
        without=("hop-key", "bound-step"),
    ),
)
