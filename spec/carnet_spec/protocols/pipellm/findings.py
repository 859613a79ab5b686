"""Findings: what speculative encryption needs, which the abstract of the paper does not say.

Each is an attack on a reading of the abstract. The paper itself may exclude it.
"""

from __future__ import annotations

from functools import partial

from carnet_spec.language.family import Finding

ABSTRACT = "the abstract of the paper, read literally"

_finding = partial(Finding, threat="lone-host", about=ABSTRACT)

FINDINGS = (
    _finding(
        "finding-1",
        "a guess waits in shared memory: the host sees it and a NOP, or anything else, under one IV, and reads both",
        claim="confidentiality",
        variant="shared-staging",
    ),
    _finding(
        "finding-2",
        "a wrong guess in shared memory verifies still: the host lets the GPU decrypt it instead of what was asked for",
        claim="copy-agreement",
        variant="shared-staging",
    ),
    _finding(
        "finding-3",
        "a page is written after it was encrypted ahead, and what it held before is sent",
        claim="copy-agreement",
        variant="no-invalidation",
    ),
    _finding(
        "finding-4",
        "the copy returns before the block is encrypted, and the application writes on",
        claim="copy-agreement",
        variant="asynchronous-writes",
    ),
    _finding(
        "finding-5",
        "a guess that was right overtakes a copy that was asked for before it",
        claim="order-kept",
        variant="hits-first",
    ),
    _finding(
        "finding-6",
        "a guess that was right is sent before the counter is there: the IV comes again, and encrypts something else",
        claim="iv-unique",
        variant="no-padding",
    ),
    _finding(
        "finding-7",
        "relinquishing begins again with the old key: the counter comes back, and the IVs with it",
        claim="iv-unique",
        variant="old-key",
    ),
)
