"""A model of axioms that is found is one, and that none was found is said of axioms that have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.loading import meanings
from carnet_check.loading.families import NO_THREAT, Source, load
from carnet_check.loading.meanings import has_model
from carnet_spec.language import Formula, Profile, Protocol, exists, false, forall, implies, true
from tests.unit.model_check.command import FIXTURES, TOY
from tests.unit.model_check.small import Party, alice, before, bob, corrupt, drafted

MADE = load(f"{FIXTURES / 'unsound.py'}:axioms_that_cannot_be")
"""A source without instances of its own; what it says is not looked at."""
TINY = MADE.profile("tiny")


def found(*axioms: Formula) -> bool:
    draft = drafted()
    for number, axiom in enumerate(axioms):
        draft.axiom(f"axiom {number}", axiom)
    return has_model(MADE, draft.protocol(), NO_THREAT, TINY)


def _bigger(x: Any) -> Formula:
    return exists(lambda y: before(x, y), Party)


IRREFLEXIVE = forall(lambda x: ~before(x, x), Party)
ANTISYMMETRIC = forall(lambda x, y: implies(before(x, y), ~before(y, x)), Party, Party)
SATISFIABLE: dict[str, tuple[Formula, ...]] = {
    "nothing": (),
    "true": (true,),
    "of one element": (forall(lambda x: x == alice, Party), corrupt(alice)),
    "of two elements": (alice != bob, corrupt(alice), ~corrupt(bob)),
    "of three elements": (IRREFLEXIVE, ANTISYMMETRIC, forall(_bigger, Party)),
}
CONTRADICTORY: dict[str, tuple[Formula, ...]] = {
    "false, which speaks of nothing": (false,),
    "false beside something": (false, corrupt(alice)),
    "some and none": (exists(corrupt, Party), forall(lambda x: ~corrupt(x), Party)),
    "two that are one and differ": (forall(lambda x: x == alice, Party), bob != alice),
}


@pytest.mark.parametrize("name", SATISFIABLE)
def test_a_small_model_is_found(name: str) -> None:
    assert found(*SATISFIABLE[name])


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_no_model_of_a_contradiction_is_found(name: str) -> None:
    assert not found(*CONTRADICTORY[name])


def test_axioms_of_the_threat_model_count() -> None:
    protocol = load(f"{FIXTURES / 'unsound.py'}:a_threat_that_cannot_be").protocol()
    nobody, somebody = (protocol.threat(id) for id in ("nobody", "somebody"))
    assert has_model(MADE, protocol, nobody, TINY)
    assert not has_model(MADE, protocol, somebody, TINY)


def test_what_is_too_much_to_look_at_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanings, "MOST_TRIED", 3)
    assert not found(*SATISFIABLE["of three elements"])


def _given() -> tuple[Source, Protocol, Profile]:
    source = load(TOY)
    return source, source.protocol(), source.profile("tiny")


def test_the_instance_of_the_family_is_a_model_only_if_it_obeys(monkeypatch: pytest.MonkeyPatch) -> None:
    source, protocol, profile = _given()
    assert not source.instances_are_made
    monkeypatch.setattr(meanings, "_is_small", lambda *_: False)
    assert has_model(source, protocol, protocol.threats[0], profile)
    impossible = drafted()
    impossible.axiom("impossible", false)
    spoilt = replace(protocol, axioms=impossible.protocol().axioms)
    assert not has_model(source, spoilt, protocol.threats[0], profile)
