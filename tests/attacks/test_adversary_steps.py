"""What the adversary can do, it does in some explored baseline; what it never does there is proved to be impossible.

A step that nothing removes is only seen where a defence is missing: for each of these there is a weakened design in
which it is taken.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Search
from carnet_check.engines.exploring.searches import search
from carnet_check.verification.checks import possibilities, possible_actions
from carnet_spec.language import Action, Protocol
from tests.fixtures.travelling import BARE, COLLUSION, FAMILY, SOURCE

PAST_KEYS = "past-keys"
EXPLORED = (
    *(("tiny", threat.id) for threat in SOURCE.protocol().threats),
    ("open-mode", COLLUSION),
    ("afterwards", PAST_KEYS),
)
"""Profiles and threat models whose baselines are explored, together, for every step of the adversary's."""

HANDED_OVER = {"corrupt": 0, "chunks": 0}
"""Honest holders alone, and no data: what the orchestrator uploads and the GPU sends home is all that crosses."""

WEAKENED: dict[str, tuple[tuple[str, ...], int, dict[str, int]]] = {
    "code_diverts": (("rotation-in",), 2, {"rounds": 2}),
    "offer_known_key": (("orchestrator-quote",), 1, {}),
    "offer_own_key": (("orchestrator-quote",), 1, {"own_keys": 1}),
    "two_time_pad": (("sender-iv-monotonic",), 0, {"chunks": 2}),
    "known_plaintext_pad": (("rotation-in", "count-handover"), 0, {}),
    "reply_pad": (("atomic-rotation",), 1, {}),
    "reply_opened": (("atomic-rotation",), 1, {}),
    "model_opened": (("atomic-rotation",), 1, {}),
    "model_pad": (("rotation-out", "count-handover"), 0, {}),
    "upload_pad": (("rotation-out", "rotation-in", "sender-iv-monotonic"), 0, HANDED_OVER),
    "upload_opened": (("rotation-out", "rotation-in", "sender-iv-monotonic"), 0, HANDED_OVER),
    "engine_pad": (("sender-iv-monotonic",), 0, {"chunks": 2}),
    "engine_plaintext_pad": (("rotation-in", "count-handover"), 0, {}),
    "engine_upload_pad": (("channel-counter",), 0, HANDED_OVER),
    "engine_upload_opened": (("channel-counter",), 0, HANDED_OVER),
    "engine_reply_pad": (("channel-counter",), 0, {**HANDED_OVER, "rounds": 2}),
    "same_engine_forges_h2d": (("channel-counter",), 0, HANDED_OVER),
    "same_engine_forges_d2h": (("channel-counter",), 0, {**HANDED_OVER, "rounds": 2}),
}
"""For each step that is impossible in the main variants: without which defences, and in how many moves, it is taken."""


def hostile(protocol: Protocol) -> list[Action]:
    return [action for action in protocol.actions if not action.by.honest]


@functools.cache
def taken(variant: str, profile: str, threat: str) -> frozenset[str]:
    """Return the steps that are taken when every claim is explored."""
    protocol = SOURCE.protocol(variant)
    claims = tuple(c.name for c in protocol.claims if threat in (*c.under, *c.fails_under))
    asked = Search(SOURCE.reference, variant, (), threat, SOURCE.profile(profile), claims)
    found = search(EXPLICIT, asked)
    assert found.complete
    assert not found.problems
    return frozenset(name for name, count in found.fired.items() if count)


@functools.cache
def never(variant: str) -> frozenset[str]:
    """Return the steps that are impossible under every threat model, with any number of everything."""
    protocol = SOURCE.protocol(variant)
    known = {each.name: each.formula for each in protocol.invariants if not each.under}
    may = possible_actions(protocol, possibilities(protocol, None, known), ())
    return frozenset(action.name for action in protocol.actions) - {action.name for action in may}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", FAMILY.main)
def test_what_no_explored_baseline_takes_is_impossible(variant: str) -> None:
    seen = frozenset[str]().union(*(taken(variant, *where) for where in EXPLORED))
    idle = {action.name for action in hostile(SOURCE.protocol(variant))} - seen
    assert idle == never(variant)


@pytest.mark.slow
@pytest.mark.parametrize("variant", FAMILY.main[:1])
def test_what_is_impossible_has_a_weakened_design(variant: str) -> None:
    """Nothing honest is impossible, and every impossible step of the adversary's is seen below."""
    idle = never(variant)
    assert idle == set(WEAKENED)
    assert idle <= {action.name for action in hostile(SOURCE.protocol(variant))}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", WEAKENED)
def test_an_impossible_step_is_taken_without_a_defence(step: str) -> None:
    """Not before: the defence is what stops it."""
    without, moves, sizes = WEAKENED[step]
    protocol = SOURCE.protocol("", without)
    profile = replace(BARE, scale={**BARE.scale, "corrupt_chunks": 1, **sizes}, budget=moves)
    claims = tuple(claim.name for claim in protocol.claims if COLLUSION in claim.under)
    asked = Search(SOURCE.reference, protocol.variant, without, COLLUSION, profile, claims, caps=Caps(states=2_000_000))
    assert search(EXPLICIT, asked).fired[step]


def test_a_profile_gives_the_adversary_what_its_threat_model_allows() -> None:
    protocol = SOURCE.protocol()
    made = {threat: SOURCE.instance(protocol, threat, SOURCE.profile("tiny")) for threat in ("holder", COLLUSION)}
    assert ("mallory's chunk 1",) in made["holder"].relations["dataset"]
    assert set(made[COLLUSION].elements["Gpu"]) >= {"gpu1", "fake1"}
    assert made[COLLUSION].relations["job_manifest"] > {("orchestrator",)}
    assert set(made[COLLUSION].elements["Gpu"]) > set(made["holder"].elements["Gpu"])
