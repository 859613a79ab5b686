"""Findings: attacks on readings of the deck, on the stock driver, and on Carnet's own design and its neighbours.

Each comes out of ``carnet attack``. A finding about the deck or the driver rests on how either was read: the page of
findings says under which assumption it holds, and what the authors could answer.
"""

from __future__ import annotations

from functools import partial

from carnet_spec.language.family import Finding

DECK = "the deck"
DRIVER = "the stock driver"
OURS = "Carnet's design and its neighbours"
LISTS = (DECK, DRIVER, OURS)
"""What findings are about, in the order in which they are listed."""

_finding = partial(Finding, threat="collusion", claim="confidentiality")

FINDINGS = (
    _finding(
        "finding-1",
        "the stock ratchet, and the last holder computes the next key",
        variant="ratchet",
        about=DRIVER,
    ),
    _finding("finding-2", "rotation before travelling only: a late write", variant="rotate-out-only", about=DECK),
    _finding("finding-3", "fence before rotation: the fence proves nothing", variant="fence-before-rotate", about=OURS),
    _finding("finding-4", "scrub of the buffer alone: residue is read", variant="scrub-buffer-only", about=DECK),
    _finding(
        "finding-5",
        "two writers, one key: an IV is used twice",
        without=("count-handover", "rotation-in"),
        about=OURS,
    ),
    _finding("finding-6", "a plain semaphore: a scrub that never happened", variant="plain-semaphores", about=DRIVER),
    _finding("finding-7", "the whole bundle lent, d2h kept: traffic opened", variant="whole-bundle-lent", about=DRIVER),
    _finding("finding-8", "a report from outside the session", variant="report-not-in-session", about=DRIVER),
    _finding("finding-9", "attest, reset, silent re-attach", variant="reattach-after-reset", about=OURS),
    _finding("finding-10", "an intra-handshake quote is relayed", variant="intra-handshake-quote", about=DECK),
    _finding("finding-10-manifest", "a genuine instance with other inputs", without=("manifest-check",), about=DECK),
    _finding("finding-11", "an engine per holder, not retired", without=("engine-retirement",), about=OURS),
    _finding(
        "finding-12", "half a rotation: counters restart", claim="iv-unique", without=("atomic-rotation",), about=OURS
    ),
    _finding(
        "finding-13",
        "reports on the link: the kernel left behind answers",
        variant="kernel-answers",
        about=OURS,
    ),
    _finding(
        "finding-14",
        "orders on the link: the kernel left behind gives them first",
        claim="trains-verified",
        variant="kernel-orders",
        about=OURS,
    ),
    _finding(
        "finding-15",
        "an engine's key leaks while it is retired: its later epochs open",
        threat="past-keys",
        claim="forward-isolation",
        variant="retired-engine-leaks",
        about=OURS,
    ),
    _finding(
        "finding-16",
        "a device key leaked and nobody asks: the platform is the GPU",
        variant="leaked-device",
        about=OURS,
    ),
    _finding(
        "finding-17",
        "two instances of one manifest: a holder serves the other one",
        claim="handoff-agreement",
        variant="forked-orchestrator",
        about=DECK,
    ),
    _finding(
        "finding-18",
        "a hidden address: the model is overwritten blindly",
        claim="trains-verified",
        variant="hidden-address",
        about=DECK,
    ),
)
"""What Carnet found; each comes out of ``carnet attack``."""
