"""No part of a protocol has a blank name, and no claim is made under a threat model that nobody declares."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from carnet_spec.language import Draft, Formula, SpecificationError, implies, used
from carnet_spec.language.decoding import decoded
from carnet_spec.language.statements import Assumption, Axiom, Claim, Defence, Eventually, Goal, Invariant, Threat
from carnet_spec.language.terms import TRUE
from tests.fixtures import toy
from tests.unit.spec.language.vocabulary import Agent, Key, drafted, own

NAMED: dict[str, Callable[[str], object]] = {
    "a threat model": lambda name: Threat(name, "T", ()),
    "a claim or lemma": lambda name: Invariant(name, (), TRUE),
    "a claim": lambda name: Claim(name, None, "", "", "", ()),
    "an axiom": lambda name: Axiom(name, TRUE),
    "an assumption": lambda name: Assumption(name, ""),
    "a defence": lambda name: Defence(name, ""),
    "a goal": lambda name: Goal(name, (), TRUE, ""),
    "a liveness property": lambda name: Eventually(name, TRUE, TRUE, ""),
    "an action": lambda name: replace(toy.FAMILY.protocol().actions[0], name=name),
    "a protocol": lambda name: replace(toy.FAMILY.protocol(), id=name),
    "a variant": lambda name: replace(toy.FAMILY.protocol(), variant=name),
}


@pytest.mark.parametrize("name", ["", " ", "\t\n"])
@pytest.mark.parametrize("what", NAMED)
def test_nothing_has_a_blank_name(what: str, name: str) -> None:
    with pytest.raises(SpecificationError, match=f"^{what}.* has a blank name, {re.escape(repr(name))}"):
        NAMED[what](name)
    NAMED[what]("said")


def _under(*threats: str) -> Draft:
    draft = drafted()

    @draft.claim(name="peace", sentence="x", requirement="R", source="x", under=threats)
    def _(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    return draft


def _lemma_under(*threats: str) -> Draft:
    draft = drafted()

    @draft.lemma_under(*threats)
    def peace(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    return draft


@pytest.mark.parametrize("stated", [_under, _lemma_under])
def test_a_threat_model_that_nobody_declares_is_refused_where_it_is_named(stated: Callable[..., Draft]) -> None:
    said = r"peace \(test_naming.py:\d+\) names .* 'anyy' .*; did you mean 'any'\? known: any"
    with pytest.raises(SpecificationError, match=said):
        stated("any", "anyy").protocol()
    stated("any").protocol()


def test_a_protocol_may_declare_no_threat_model() -> None:
    draft = Draft("open", "Open")

    @draft.claim(name="peace", sentence="x", requirement="R", source="x", under=("anybody",))
    def _(a: Agent, k: Key) -> Formula:
        return implies(own(a, k), used(k))

    assert draft.protocol().claim("peace").under == ("anybody",)


@pytest.mark.parametrize("id", ["", "somebody else"])
def test_hostile_json_with_such_names_is_not_read(id: str) -> None:
    content = json.loads(toy.FAMILY.protocol().encoded)
    content["claims"][0]["under"] = [id]
    with pytest.raises(SpecificationError, match="names a threat model"):
        decoded(json.dumps(content, sort_keys=True, separators=(",", ":")))


def test_hostile_json_with_a_blank_threat_model_is_not_read() -> None:
    content = json.loads(toy.FAMILY.protocol().encoded)
    content["threats"][0]["id"] = ""
    with pytest.raises(SpecificationError, match="a threat model has a blank name"):
        decoded(json.dumps(content, sort_keys=True, separators=(",", ":")))
