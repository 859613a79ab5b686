"""Each strengthening of the adversary or of a claim matters: with it, a weaker design falls that stood before.

The attack is found, made minimal and replayed in the interpreter step by step.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from carnet_check.results import Verdict
from tests.fixtures.travelling import COLLUSION, hunted

DATA = "confidentiality"


@dataclass(frozen=True)
class Fall:
    """What ``carnet attack`` is asked, and the claim that falls."""

    claim: str
    variant: str = ""
    without: tuple[str, ...] = ()
    threat: str = COLLUSION
    quick: bool = False


FALLS = {
    "code left behind uses the engines, and answers": Fall(DATA, "kernel-answers"),
    "code left behind gives orders": Fall("trains-verified", "kernel-orders"),
    "orders are repeated and reordered": Fall("trains-verified", without=("session-sequence",)),
    "code left behind outlives the upload": Fall("trains-verified", without=("code-read-back",)),
    "an IV used twice forges": Fall("no-implant", without=("count-handover", "rotation-in"), threat="hypervisor"),
    "data-agreement speaks of the buffer": Fall("data-agreement", "ratchet"),
    "hand-overs agree on the address": Fall("handoff-agreement", without=("address-in-grant",), quick=True),
    "iv-unique speaks of key bytes": Fall("iv-unique", without=("channel-counter",)),
    "key-lifetime counts by key bytes": Fall("key-lifetime", without=("key-usage-limit",)),
    "honest GPUs are reset, too": Fall(
        "no-silent-reset", without=("fail-stop-on-reset",), threat="outsider", quick=True
    ),
    "past keys are those never accepted again": Fall("forward-isolation", "retired-engine-leaks", threat="past-keys"),
    "certified GPUs have leaked device keys": Fall(DATA, "leaked-device"),
    "certified GPUs have their debug flag on": Fall(DATA, without=("debug-check",)),
    "certified GPUs run older firmware": Fall(DATA, without=("reference-values",)),
    "somebody starts a second orchestrator": Fall("handoff-agreement", "forked-orchestrator"),
    "models have versions": Fall("participation", without=("model-read-back",)),
}
"""For each strengthening the design that newly falls."""


def assert_falls(fall: Fall) -> None:
    found = hunted(fall.variant, fall.without, fall.threat, fall.claim)
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, fall.claim), found.detail


@pytest.mark.parametrize("name", [name for name, fall in FALLS.items() if fall.quick])
def test_a_weaker_design_falls(name: str) -> None:
    assert_falls(FALLS[name])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name, fall in FALLS.items() if not fall.quick])
def test_every_other_weaker_design_falls(name: str) -> None:
    assert_falls(FALLS[name])
