"""Runs as the solver is told of them: what each part of a step does, by the number of steps that break a claim.

Every expected number can be counted by hand.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from carnet_spec.language import Formula, Protocol, Step, all_of, constant, forall, implies
from tests.unit.model_check.engines.bounded.looked import broken_after, standings
from tests.unit.model_check.small import (
    Key,
    Party,
    Phase,
    ahead,
    alice,
    before,
    bob,
    claimed,
    corrupt,
    drafted,
    first,
    known,
    last,
    paired,
    phase,
    second,
    seen,
    third,
)


def light_first(step: Step) -> None:
    step.insert(first)


def light_second(step: Step) -> None:
    step.require("first", first)
    step.insert(second)


def put_out(step: Step) -> None:
    step.require("second", second)
    step.remove(first)


def swap(step: Step) -> None:
    """Both read the state before."""
    step.require("first", first)
    step.insert(third, when=second)
    step.insert(second)


def blink(step: Step) -> None:
    """The later of two updates counts."""
    step.insert(third)
    step.remove(third, name="again")


def meet(step: Step, a: Party, b: Party) -> None:
    step.require("two", a != b)
    step.insert(ahead(a, b))


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def everyone_is_seen(step: Step) -> None:
    step.insert(seen(step.each(Party)))


def follow(step: Step, a: Party, b: Party) -> None:
    step.require("ahead", ahead(a, b))
    step.insert(seen(b), when=seen(a))


def forget_all(step: Step) -> None:
    step.require("first", first)
    step.remove(ahead(step.each(Party), alice))


def turn(step: Step, a: Party) -> None:
    step.set(last, a)


def move_on(step: Step) -> None:
    step.require("early", phase == Phase.EARLY)
    step.set(phase, Phase.LATE)


def end(step: Step) -> None:
    step.require("late", phase == Phase.LATE)
    step.set(phase, Phase.OVER)


def draw_two(step: Step, a: Key, b: Key) -> None:
    step.fresh(a)
    step.fresh(b)
    step.insert(paired(a, b))


def draw(step: Step, k: Key) -> None:
    step.fresh(k)
    step.insert(second, when=paired(k, k))
    step.insert(paired(k, k))


def betray(step: Step) -> None:
    step.given("corrupt", corrupt(alice))
    step.insert(known(alice))


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


def impossible(step: Step) -> None:
    step.require("both", first & ~first)
    step.insert(second)


def at_first(draft: Any, **values: Any) -> Any:
    for name, value in values.items():
        draft.initially({"seen": seen, "phase": phase, "ahead": ahead, "last": last}[name], value)
    return draft


LIT = (light_first, light_second, put_out)


def loops(a: Party) -> Formula:
    return before(a, a)


RUNS: dict[str, tuple[Protocol, dict[str, int | None]]] = {
    "what was inserted stays": (
        claimed(
            drafted(*LIT), never=lambda: ~second, both=lambda: ~(second & first), out=lambda: implies(second, first)
        ),
        {"never": 2, "both": 2, "out": 3},
    ),
    "conditions read the state before": (
        claimed(drafted(light_first, swap), third=lambda: ~third),
        {"third": 3},
    ),
    "updates of one symbol are made in order": (
        claimed(drafted(light_first, blink), dark=lambda: ~third),
        {"dark": None},
    ),
    "two actions share their constants": (
        claimed(
            drafted(meet, see),
            same=lambda: forall(lambda a: ~ahead(a, a), Party),
            met=lambda: forall(lambda a, b: ~ahead(a, b), Party, Party),
            round=lambda: forall(lambda a, b: ~(ahead(a, b) & ahead(b, a)), Party, Party),
            three=lambda: forall(lambda a, b: ~(ahead(a, b) & seen(a) & seen(b)), Party, Party),
        ),
        {"same": None, "met": 1, "round": 2, "three": 3},
    ),
    "each is for all": (
        claimed(
            drafted(everyone_is_seen),
            some=lambda: forall(lambda a: ~seen(a), Party),
            two=lambda: forall(lambda a, b: implies(seen(a), seen(b)), Party, Party),
        ),
        {"some": 1, "two": None},
    ),
    "a condition has the arguments of its action": (
        claimed(
            drafted(meet, see, follow),
            seen=lambda: forall(lambda a, b: implies(seen(b) & ahead(a, b), ~seen(a)), Party, Party),
        ),
        {"seen": 3},
    ),
    "a removal leaves other rows": (
        claimed(
            drafted(meet, light_first, forget_all),
            mine=lambda: forall(lambda a: implies(first, ~ahead(a, alice)), Party),
            other=lambda: forall(lambda a, b: implies(ahead(a, b), ~first), Party, Party),
        ),
        {"mine": 2, "other": 2},
    ),
    "what has no first value may have any": (
        claimed(drafted(turn), alice=lambda: last == alice),
        {"alice": 0},
    ),
    "what is assigned": (
        claimed(at_first(drafted(turn), last=alice), alice=lambda: last == alice),
        {"alice": 1},
    ),
    "members are different": (
        claimed(
            at_first(drafted(move_on, end), phase=Phase.EARLY),
            late=lambda: phase != Phase.LATE,
            over=lambda: phase != Phase.OVER,
        ),
        {"late": 1, "over": 2},
    ),
    "a first value is read": (
        claimed(at_first(drafted(see), seen=loops), none=lambda: forall(lambda a: ~seen(a), Party)),
        {"none": 0},
    ),
    "what has a first value has no other": (
        claimed(
            at_first(drafted(meet), seen=loops), some=lambda: forall(lambda a: implies(seen(a), before(a, a)), Party)
        ),
        {"some": None},
    ),
    "two fresh values differ": (
        claimed(
            drafted(draw_two),
            apart=lambda: forall(lambda a: ~paired(a, a), Key),
            drawn=lambda: forall(lambda a, b: ~paired(a, b), Key, Key),
        ),
        {"apart": None, "drawn": 1},
    ),
    "a fresh value was not used before": (
        claimed(drafted(draw), again=lambda: ~second, drawn=lambda: forall(lambda a: ~paired(a, a), Key)),
        {"again": None, "drawn": 1},
    ),
    "the adversary acts": (
        claimed(drafted(see, costly=(betray,)), secret=lambda: ~known(alice)),
        {"secret": 1},
    ),
    "a rule is a step": (
        claimed(drafted(see, rules=(learn,)), secret=lambda: forall(lambda a: ~known(a), Party)),
        {"secret": 2},
    ),
    "where no step can be taken there are no runs": (
        claimed(drafted(impossible), dark=lambda: ~second),
        {"dark": None},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_claims_break_after_as_many_steps_as_it_takes(name: str) -> None:
    protocol, expected = RUNS[name]
    assert broken_after(protocol) == expected


def test_a_protocol_without_actions_has_its_first_state_alone() -> None:
    protocol = claimed(drafted(), alone=lambda: last == alice, dark=lambda: ~first)
    assert broken_after(protocol) == {"alone": 0, "dark": None}


def test_runs_longer_than_the_bound_are_not_looked_at() -> None:
    protocol = claimed(drafted(*LIT), out=lambda: implies(second, first))
    assert [broken_after(protocol, depth)["out"] for depth in (1, 2, 3, 4)] == [None, None, 3, 3]
    assert [standings(protocol, depth)["out", "unrestricted"].least for depth in (1, 2)] == [2, 3]


# -- axioms ----------------------------------------------------------------------------------------


def betrayed(**axioms: Formula) -> Any:
    draft = drafted(see, costly=(betray,))
    draft.assumption("A1", "It is so.")
    for name, formula in axioms.items():
        draft.axiom(name, formula, assumption="A1")
    return draft


def test_axioms_hold_in_every_run() -> None:
    def secret() -> Formula:
        return ~known(alice)

    assert broken_after(claimed(betrayed(), secret=secret)) == {"secret": 1}
    assert broken_after(claimed(betrayed(honest=~corrupt(alice)), secret=secret)) == {"secret": None}
    assert broken_after(claimed(betrayed(other=~corrupt(bob)), secret=secret)) == {"secret": 1}


def test_the_axioms_of_a_threat_model_hold_under_it_alone() -> None:
    draft = betrayed()
    draft.threat("nobody", "nobody is corrupt", nobody=forall(lambda x: ~corrupt(x), Party))
    draft.threat("bob", "bob is honest", bob=~corrupt(bob))
    draft.threat("anyone", "anyone may be corrupt")
    found = standings(claimed(draft, secret=lambda: ~known(alice)))
    assert {threat: (each.least, each.last is None) for (_, threat), each in found.items()} == {
        "nobody": (5, True),
        "bob": (1, False),
        "anyone": (1, False),
    }


def test_nothing_is_asked_after_what_is_not_known() -> None:
    """Whatever is answered about more steps says nothing of so many or fewer."""
    protocol = claimed(drafted(*LIT), out=lambda: implies(second, first))
    (standing,) = standings(protocol, rlimit=1).values()
    assert standing.last is not None
    assert (standing.least, standing.last.steps, standing.last.found) == (1, 1, None)
    assert not standing.last.is_proved
    assert not standing.last.is_refuted


# -- structures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "shown"), [(1, 1), (2, 2), (5, 5), (7, 8)])
def test_a_structure_has_as_many_elements_as_it_takes(number: int, shown: int) -> None:
    """Beyond those sizes that are tried it has as many as the solver likes."""
    parties = [constant(f"p{place}", Party) for place in range(number)]
    apart = [a != b for a, b in itertools.combinations(parties, 2)]
    draft = betrayed(many=all_of(*apart, *(corrupt(a) for a in parties)))
    ((_, standing),) = standings(claimed(draft, secret=lambda: ~known(alice) | ~corrupt(alice))).items()
    assert standing.last is not None
    assert standing.last.found is not None
    instance = standing.last.found.instance
    assert len(instance.elements["Party"]) == shown
    assert instance.words.startswith(f"{shown} Party")
    assert len(instance.relations["corrupt"]) >= number
