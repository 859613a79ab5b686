"""The timed claims: proved for any times, looked at tick by tick where it is small, attacked without each defence.

The layer is superposed on the untimed design. That every run with a clock is a run without one is checked here, too:
it is why the untimed claims hold of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from carnet_check.engines.induction import try_claims
from carnet_check.results import Verdict
from carnet_spec.language import Action, Protocol
from carnet_spec.language.terms import symbols_of
from tests.fixtures.travelling import (
    COLLUSION,
    FAMILY,
    SOURCE,
    explored,
    hunted,
    kept,
    stated,
    without_guard,
    without_update,
)
from tests.unit.model_check.command import carnet, carnet_once

TIMED = FAMILY.with_layers(FAMILY.main)[1::2]
CLAIMS = {"key-lifetime", "fresh-attestation", "bounded-custody"}
THREATS = ("outsider", "holder", "hypervisor", COLLUSION)
DEFENCES = {"attestation-age": "fresh-attestation", "lease": "bounded-custody", "key-usage-limit": "key-lifetime"}
QUICK = ("attestation-age", "lease")
SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in DEFENCES if each not in QUICK]

timed = pytest.mark.parametrize("variant", TIMED)


def test_there_is_a_layer_over_each_main_variant() -> None:
    assert [FAMILY.variants[name].over for name in TIMED] == list(FAMILY.main)


@timed
def test_every_timed_claim_is_proved_wherever_it_is_made(
    variant: str, record_property: Callable[[str, object], None]
) -> None:
    protocol = SOURCE.protocol(variant)
    record_property("verifies", ", ".join(f"{FAMILY.id}-{protocol.claim(name).requirement}" for name in sorted(CLAIMS)))
    found = try_claims(protocol, jobs=1).claims
    assert set(found) == {(claim, threat) for claim in CLAIMS for threat in THREATS}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


@timed
def test_timed_claims_and_lemmas_hold_at_every_tick_of_a_small_instance(variant: str) -> None:
    """Every time to live and every lease that three instants allow is among them."""
    protocol = SOURCE.protocol(variant)
    found = explored(protocol, "hypervisor", goals=protocol.goals)
    assert found.complete
    assert not found.violations
    assert set(found.goals) == {goal.name for goal in protocol.goals}
    assert found.fired["read_clock"]


@pytest.mark.parametrize("defence", [*QUICK, *SLOW])
def test_without_a_timed_defence_there_is_an_attack(defence: str) -> None:
    """Its own claim falls; a lease keeps the evidence fresh as well."""
    found = hunted(without=(defence,), claim=DEFENCES[defence])
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, DEFENCES[defence])


# -- every run with a clock is a run without one --------------------------------------------------


@timed
def test_erasing_the_layer_leaves_the_untimed_design(variant: str) -> None:
    """Each action is an untimed one with guards and updates added, or changes nothing that is untimed."""
    protocol, base = SOURCE.protocol(variant), SOURCE.protocol(FAMILY.variants[variant].over)
    below = {update.symbol for action in base.actions for update in action.updates}
    untimed = {action.name: action for action in base.actions}
    for action in protocol.actions:
        plain = untimed.pop(action.name, None)
        added = action.updates if plain is None else action.updates[len(plain.updates) :]
        assert not {update.symbol for update in added} & below
        assert plain is None or erased(action, plain) == plain
    assert not untimed
    assert set(base.initial) <= set(protocol.initial)


def erased(action: Action, plain: Action) -> Action:
    """Return what is left of ``action`` without what was added to ``plain``: only words differ."""
    return replace(
        action,
        params=action.params[: len(plain.params)],
        guards=action.guards[: len(plain.guards)],
        updates=action.updates[: len(plain.updates)],
        says=plain.says,
        source=plain.source,
        enforces=plain.enforces,
        why=plain.why,
    )


@timed
def test_nothing_untimed_reads_the_clock(variant: str) -> None:
    base = SOURCE.protocol(FAMILY.variants[variant].over)
    new = {symbol.name for symbol in SOURCE.protocol(variant).symbols} - {symbol.name for symbol in base.symbols}
    assert {"clock", "earlier", "limit", "evidence_end", "lease_end"} <= new
    assert not {s.name for action in base.actions for g in action.guards for s in symbols_of(g.formula)} & new


# -- planted mistakes -----------------------------------------------------------------------------


def _old_lease(protocol: Protocol) -> Protocol:
    return without_update(protocol, "grant", "set lease_end")


def _old_evidence(protocol: Protocol) -> Protocol:
    return without_update(protocol, "open_session", "set evidence_end")


def _endless_save(protocol: Protocol) -> Protocol:
    return without_guard(protocol, "exec_save", "below the key's limit")


def _late_return(protocol: Protocol) -> Protocol:
    return without_guard(protocol, "take_back", "within the lease")


MISTAKES = {
    "it keeps the lease of before": ("grant", _old_lease, "bounded-custody"),
    "it keeps the evidence's end of before": ("open_session", _old_evidence, "fresh-attestation"),
    "it saves past the limit": ("exec_save", _endless_save, "key-lifetime"),
    "it takes a late return": ("take_back", _late_return, "bounded-custody"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_displeases_the_proof(mistake: str) -> None:
    action, change, _ = MISTAKES[mistake]
    assert not kept(change(SOURCE.protocol(TIMED[1])), action)


@pytest.mark.parametrize("mistake", ["it saves past the limit", "it takes a late return"])
def test_a_planted_mistake_is_seen_in_a_small_instance(mistake: str) -> None:
    """The others need a round or a session before."""
    _, change, falls = MISTAKES[mistake]
    wrong = change(SOURCE.protocol(TIMED[1]))
    against = [wrong.claim(name).checked for name in stated(wrong, "hypervisor")]
    found = explored(wrong, "hypervisor", against=lambda *_: against, stop_at_first=True, sizes={"limit": 1})
    assert set(found.violations) == {falls}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_over_a_variant_checks_its_layer_too() -> None:
    asked = carnet("verify", "gpu-travelling", "--variant", FAMILY.main[0], "--claim", "lease", "--json")
    assert asked.code == 2
    ran = carnet(
        *("verify", "gpu-travelling", "--variant", FAMILY.main[0], "--claim", "bounded-custody"),
        *("--engine", "induction", "--jobs", "1", "--json"),
    )
    assert {(row["variant"], row["verdict"]) for row in ran.json["results"]} == {(TIMED[0], "PROVED")}
    assert (ran.code, ran.json["summary"]["declared"]) == (0, [])


@pytest.mark.parametrize("id", ["fresh-attestation", "lease", "REQ-RETURN-04", "read_clock", "return-in-time", "A9"])
def test_what_a_layer_adds_can_be_explained(id: str) -> None:
    (entry,) = carnet("explain", id, "--json").json["entries"]
    assert entry["sentence"]
    assert id in json.dumps(carnet_once("list", "--json").json) or entry["kind"] in (
        "action",
        "assumption",
        "requirement",
    )
