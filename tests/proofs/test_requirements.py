"""Each requirement carries weight: forget the part of a step that it asks for, and a proof breaks or a goal is lost.

One invariant is named for each, so that what is looked at is one proof obligation. A requirement that only makes
things possible is known by what cannot be reached without it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_spec.language import Protocol
from carnet_spec.language.requirements import Level
from tests.fixtures.travelling import BARE, FAMILY, SOURCE, kept, without_guard, without_update

Verifies = Callable[[str, object], None]

GUARDS = {
    "REQ-SETUP-02": ("give_report", "true mode", "reports_tell_the_mode"),
    "REQ-SETUP-03": ("accept_gpu", "certificate", "attested_is_protected"),
    "REQ-SETUP-04": ("accept_gpu", "nonce", "attested_is_protected"),
    "REQ-SETUP-05": ("accept_gpu", "mode", "attested_is_protected"),
    "REQ-SETUP-06": ("accept_gpu", "report in session", "attested_is_protected"),
    "REQ-SETUP-07": ("accept_gpu", "signer is responder", "attested_is_protected"),
    "REQ-SETUP-08": ("attest_orchestrator", "measurement", "channels_end_at_the_orchestrator"),
    "REQ-SETUP-09": ("attest_orchestrator", "bound to the channel", "channels_end_at_the_orchestrator"),
    "REQ-SETUP-10": ("attest_orchestrator", "manifest", "channels_end_at_the_orchestrator"),
    "REQ-SETUP-12": ("admit", "enrolment proof", "admitted_ends"),
    "REQ-SETUP-13": ("grant", "a lease within it", "fresh-attestation"),
    "REQ-SETUP-14": ("accept_gpu", "debug flag", "attested_is_protected"),
    "REQ-SETUP-15": ("accept_gpu", "reference values", "attested_is_protected"),
    "REQ-SETUP-16": ("accept_gpu", "not revoked", "attested_is_protected"),
    "REQ-SETUP-17": ("attest_orchestrator", "agreed on", "channels_end_at_the_orchestrator"),
    "REQ-SESSION-01": ("send_fence", "next number", "iv-unique"),
    "REQ-SESSION-02": ("exec_fence", "in order", "iv-unique"),
    "REQ-SESSION-03": ("fenced", "acknowledged", "fenced_at_home"),
    "REQ-KEY-01": ("rotate_out", "fresh k", "key-isolation"),
    "REQ-KEY-02": ("gpu_rotate_out", "ordered", "key-isolation"),
    "REQ-KEY-03": ("rotate_out", "phase", "clean-handoff"),
    "REQ-KEY-04": ("gpu_rotate_out", "not accepted before", "clean-handoff"),
    "REQ-KEY-05": ("rotated_out", "acknowledged", "live_key_is_the_link"),
    "REQ-KEY-06": ("rotated_in", "acknowledged", "live_key_is_the_link"),
    "REQ-KEY-07": ("provision", "below the key's limit", "key-lifetime"),
    "REQ-GRANT-01": ("grant", "addressee", "grants"),
    "REQ-GRANT-02": ("grant", "counter handed over", "grants"),
    "REQ-GRANT-04": ("accept_grant", "attested channel", "orchestrator-genuine"),
    "REQ-GRANT-05": ("accept_grant", "once", "handoff-agreement"),
    "REQ-DATA-01": ("provision", "own data", "senders"),
    "REQ-DATA-02": ("gpu_receive", "verifies", "received_was_sent"),
    "REQ-IV-01": ("provision", "IV unused", "iv-unique"),
    "REQ-IV-04": ("rotate_out", "next channel", "epochs_have_channels_of_their_own"),
    "REQ-MODEL-01": ("trained", "digest", "latest_is_in_memory"),
    "REQ-MODEL-02": ("trained", "digest", "provenance"),
    "REQ-IV-02": ("gpu_receive", "implicit IV", "no-replay"),
    "REQ-RETURN-01": ("give_back", "count to", "honest_returns"),
    "REQ-RETURN-02": ("take_back", "returned", "handoff-agreement"),
    "REQ-RETURN-04": ("take_back", "within the lease", "bounded-custody"),
    "REQ-HOME-02": ("fenced", "acknowledged", "fenced_at_home"),
    "REQ-HOME-04": ("verified", "code digest", "code_checked_at_home"),
    "REQ-HOME-05": ("verified", "model digest", "latest_is_in_memory"),
    "REQ-HOME-06": ("verified", "count", "count_was_compared"),
    "REQ-HOME-07": ("verified", "no context", "code_checked_at_home"),
    "REQ-TRAIN-01": ("send_train", "returned", "data-agreement"),
    "REQ-SCRUB-03": ("scrubbed", "acknowledged", "clean-handoff"),
    "REQ-STOP-01": ("open_session", "fresh s", "keys_of_sessions"),
}
"""Checks: the action, the guard that is forgotten, and the invariant that the action then breaks."""

UPDATES = {
    "REQ-SETUP-01": ("open_session", "set link_h2d", "opened_session"),
    "REQ-GRANT-03": ("grant", "set lent_key", "holder_key"),
    "REQ-IV-03": ("take_back", "set count", "handoff-agreement"),
    "REQ-RETURN-03": ("evict", "set custody", "handoff-agreement"),
    "REQ-HOME-01": ("exec_fence", "insert done", "what_is_heard_is_answered"),
    "REQ-MODEL-03": ("saved", "set kept", "secured_is_kept"),
    "REQ-MODEL-04": ("open_session", "insert lost", "participation"),
    "REQ-STOP-02": ("lose_session", "remove buffer", "gpu-genuine"),
    "REQ-SCRUB-01": ("exec_scrub", "remove buffer", "scrub_holds"),
    "REQ-SCRUB-02": ("exec_scrub", "remove workspace", "scrub_holds"),
}
"""Deeds: the action, the update that is forgotten, and the invariant that the action then breaks."""

GOALS = {
    "REQ-SETUP-11": ("prove_enrolment", "insert enrolment_proof", "data-resident"),
    "REQ-PLATFORM-01": ("switch_mux", "set mux", "data-resident"),
    "REQ-SESSION-04": ("exec_read_back", "code digest", "trained"),
    "REQ-HOME-03": ("upload", "insert uploaded", "trained"),
    "REQ-TRAIN-02": ("exec_train", "insert workspace", "trained"),
    "REQ-TRAIN-03": ("exec_save", "insert sent_as", "model-at-home"),
}
"""What makes a goal possible: the action, the update that is forgotten, and the goal that is then out of reach."""


@functools.cache
def enforcing(action: str, part: str) -> Protocol:
    """Return the first variant, layers last, in which the action has such a part."""
    for name in FAMILY.with_layers(FAMILY.main[:1]):
        protocol = SOURCE.protocol(name)
        found = protocol.action(action)
        if part in {guard.name for guard in found.guards} | {update.name for update in found.updates}:
            return protocol
    raise AssertionError(f"{action} has no '{part}'")


OF_VARIANTS = ("REQ-LATE-01", "REQ-LATE-02", "REQ-ROLLBACK-01", "REQ-SETUP-18")
"""What designs with another adversary ask for; test_late_adversary has their rows."""


def test_every_requirement_has_its_row() -> None:
    rows = [*GUARDS, *UPDATES, *GOALS, *OF_VARIANTS]
    assert len(rows) == len(set(rows))
    asked = {
        id
        for id, each in FAMILY.text.requirements().items()
        if each.level is not Level.ASSUMPTION and id.startswith("REQ")
    }
    assert set(rows) == asked


@pytest.mark.parametrize("id", [*GUARDS, *UPDATES])
def test_a_requirement_that_is_forgotten_breaks_a_proof(id: str, record_property: Verifies) -> None:
    record_property("verifies", f"{FAMILY.id}-{id}")
    action, part, invariant = (GUARDS | UPDATES)[id]
    whole = enforcing(action, part)
    assert id in whole.action(action).enforces
    forget = without_guard if id in GUARDS else without_update
    assert not kept(forget(whole, action, part), action, invariant)


@pytest.mark.parametrize("id", GOALS)
def test_a_requirement_that_is_forgotten_loses_a_goal(id: str, record_property: Verifies) -> None:
    record_property("verifies", f"{FAMILY.id}-{id}")
    action, update, goal = GOALS[id]
    whole = SOURCE.protocol()
    assert id in whole.action(action).enforces
    assert reached(whole, goal)
    assert not reached(without_update(whole, action, update), goal)


def reached(protocol: Protocol, goal: str) -> bool:
    instance = SOURCE.instance(protocol, "holder", BARE)
    goals = tuple(each for each in protocol.goals if each.name == goal)
    found = explore(protocol, instance, invariants=(), goals=goals, threat="holder")
    assert found.complete
    return goal in found.goals


@pytest.mark.parametrize("id", [id for id in FAMILY.text.requirements() if id.startswith("CLAIM")])
def test_a_claim_stands_for_its_sentence(id: str) -> None:
    main = FAMILY.with_layers(FAMILY.main[:1])
    stating = (
        claim
        for name in (*main, "leaked-device", "late-corruption")
        for claim in SOURCE.protocol(name).claims
        if claim.requirement == id and claim.invariant
    )
    assert next(stating).sentence == FAMILY.text.requirements()[id].sentence
