"""Findings: what a custody log needs beside replication, and what the published designs say of it.

Each is an attack on a reading of an abstract, carried over to custody. The papers settle on a blockchain, or may
exclude it otherwise.
"""

from __future__ import annotations

from functools import partial

from carnet_spec.language.family import Finding

TEECHAIN = "Teechain's abstract, carried over to custody"
TEECHAN = "Teechan's counters, carried over to custody"

_finding = partial(Finding, threat="platform", about=TEECHAIN)

FINDINGS = (
    _finding(
        "finding-1",
        "replicated state and no blockchain to settle on: a backup finds the primary silent, and both go on",
        claim="epoch-once",
        variant="any-survivor",
    ),
    _finding(
        "finding-2",
        "a state that is read out without a freeze: what is granted afterwards is granted again",
        claim="epoch-once",
        variant="copied-out",
    ),
    _finding(
        "finding-3",
        "the acknowledgement of the tail is enough, and one broken TEE is the tail: an epoch is granted twice",
        threat="broken",
        claim="epoch-once",
        variant="tail-alone",
    ),
    _finding(
        "finding-4",
        "sealed storage in place of a counter: the platform brings an old state back",
        claim="no-rollback",
        variant="sealed-storage",
        about=TEECHAN,
    ),
    _finding(
        "finding-5",
        "the counter is incremented after the message: what was acknowledged is not there any more",
        claim="nothing-lost",
        variant="uncounted",
        about=TEECHAN,
    ),
    _finding(
        "finding-6",
        "a replica that restarts with its key and without its log is counted as it was",
        claim="nothing-lost",
        variant="kept-key",
    ),
    _finding(
        "finding-7",
        "the next primary goes on from its own log, which is not the newest",
        claim="epoch-once",
        variant="any-log",
    ),
)
