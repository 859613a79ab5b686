"""A run witnesses a fall in the design as it is now, and the same question has the same digest."""

import functools
from dataclasses import replace

import pytest

from carnet_check.loading.families import Source
from carnet_check.mutation.weaknesses import Weakness, still_attacks, weakened_designs, weaknesses
from carnet_check.witnesses import Questions, is_attack
from carnet_spec.language import Guard, Protocol, terms
from tests.fixtures import hall

HALL = Source("tests/fixtures/hall.py", hall.FAMILY, "hall")
PROTOCOL = hall.FAMILY.protocol()
WEAK = hall.FAMILY.protocol("main", ("guest-list",))


@functools.cache
def attack() -> Weakness:
    found = (each for where in weakened_designs(HALL, "main") for each in weaknesses(HALL, where))
    return next(each for each in found if each.tells == ("guests-only", "insiders"))


def is_one(protocol: Protocol = WEAK, **changed: object) -> bool:
    run = replace(attack().trace, **changed)  # type: ignore[arg-type]  # the fields of a trace differ in type
    return is_attack(HALL, protocol, attack().place.profile, attack().claim, run)


def guarded(protocol: Protocol, formula: terms.Term) -> Protocol:
    """Return a protocol in which the guard of the hall checks one thing more."""
    admit = protocol.action("admit")
    changed = replace(admit, guards=(*admit.guards, Guard("again", formula)))
    return replace(protocol, actions=tuple(changed if each == admit else each for each in protocol.actions))


def test_what_was_found_is_an_attack_and_stays_one_where_a_redundant_guard_is_added() -> None:
    assert is_one()
    assert is_one(guarded(WEAK, terms.TRUE))


def test_nothing_is_one_that_cannot_be_taken_or_breaks_nothing() -> None:
    assert not is_one(PROTOCOL), "the defence is back"
    assert not is_one(guarded(WEAK, terms.FALSE)), "a guard makes the fall impossible"
    assert not is_one(steps=attack().trace.steps[:-1])
    assert not is_one(steps=attack().trace.steps[1:])
    assert not is_one(replace(WEAK, claims=WEAK.claims[1:])), "the claim is gone"


def test_nothing_is_one_under_a_threat_model_that_forbids_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    bribed = HALL.instance(WEAK, "insiders", attack().place.profile)
    monkeypatch.setattr(Source, "instance", lambda *_: bribed)
    assert is_one()
    assert not is_one(threat="outsiders")


def test_all_attacks_on_a_design_have_to_be_some_still() -> None:
    assert still_attacks(HALL, [attack()])
    assert not still_attacks(HALL, [attack(), replace(attack(), claim="guests-see")])
    gone = replace(attack().weakened, without=("no-such-defence",))
    assert not still_attacks(HALL, [replace(attack(), weakened=gone)])


def test_a_question_is_the_same_while_only_other_actions_change() -> None:
    before, after = Questions(PROTOCOL), Questions(guarded(PROTOCOL, terms.TRUE))
    find, admit = PROTOCOL.action("find"), PROTOCOL.action("admit")
    assert before.digest(find) == after.digest(find)
    assert before.digest(admit) != after.digest(admit)
    assert before.digest() != after.digest(), "an axiom matters to every action"
    assert before.digest(find) != before.digest(replace(find, cost=2))


@pytest.mark.parametrize("part", ["claims", "threats"])
def test_a_question_is_another_where_claims_or_axioms_change(part: str) -> None:
    other = replace(PROTOCOL, **{part: getattr(PROTOCOL, part)[:-1]})
    assert Questions(PROTOCOL).digest(PROTOCOL.action("find")) != Questions(other).digest(PROTOCOL.action("find"))
