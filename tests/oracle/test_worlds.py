"""The enumerator on systems small enough to count by hand: how a protocol can begin, and what it can draw."""

from __future__ import annotations

from dataclasses import replace

from carnet_spec.language import Formula, Initial, Kind, Step, exists, forall, implies, relation, used
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import TRUE, Var
from tests.oracle.enumerate import enumerate_at
from tests.oracle.toys import (
    SOMEBODY,
    Key,
    Party,
    boss,
    claim,
    corrupt,
    deputy,
    drafted,
    draw,
    enter,
    friend,
    held,
    holds,
    judged,
    mother,
    on,
    ready,
    seen,
    steps,
    turn,
)

# -- what is open at first -------------------------------------------------------------------------------


def test_a_variable_without_a_first_value_starts_anywhere() -> None:
    claim(draft := drafted(), lambda: turn == boss)
    witness = judged(draft, Party=2).violated["claimed", ""]
    assert witness.steps == ()
    assert not judged(draft, Party=1).violated


def test_each_row_of_a_function_starts_on_its_own() -> None:
    claim(draft := drafted(), lambda: forall(lambda x: forall(lambda y: friend(x) == friend(y), Party), Party))
    assert judged(draft, Party=2).violated
    assert judged(draft, Party=2).states == 3  # of the four tables, two differ in names only


def test_a_relation_without_a_first_value_starts_empty() -> None:
    def nobody(x: Party) -> Formula:
        return ~ready(x)

    assert holds(drafted(), nobody, Party=3)


def test_first_values_may_read_parameters_and_rigid_symbols() -> None:
    def the_corrupt(x: Party) -> Formula:
        return corrupt(x) & (x != boss)

    def claimed(x: Party) -> Formula:
        return implies(ready(x), corrupt(x)) & implies(corrupt(x), ready(x) | (x == boss))

    draft = drafted()
    draft.initially(ready, the_corrupt)
    assert holds(draft, claimed, Party=2)


def test_first_values_of_two_parameters_keep_their_order() -> None:
    above = relation("above", Party, Party, kind=Kind.STATE, of=SOMEBODY)

    def child_above(child: Party, parent: Party) -> Formula:
        return mother(child) == parent

    def claimed(x: Party) -> Formula:
        return above(x, mother(x))

    draft = drafted()
    draft.initially(above, child_above)
    assert holds(draft, claimed, Party=2)

    def backwards(x: Party) -> Formula:
        return above(mother(x), x)

    claim(draft, backwards, name="backwards")
    assert {name for name, _ in judged(draft, Party=2).violated} == {"backwards"}


# -- rigid symbols ---------------------------------------------------------------------------------------


def test_constants_may_coincide() -> None:
    claim(draft := drafted(), lambda: boss != deputy, name="apart")
    claim(draft, lambda: boss == deputy, name="one")
    assert {name for name, _ in judged(draft, Party=2).violated} == {"apart", "one"}
    assert {name for name, _ in judged(draft, Party=1).violated} == {"apart"}


def test_rigid_functions_are_arbitrary() -> None:
    def onto(x: Party) -> Formula:
        return exists(lambda y: mother(y) == x, Party)

    assert not holds(drafted(), onto, Party=2)


def test_axioms_exclude_structures() -> None:
    draft = drafted()
    draft.axiom("one is corrupt", exists(corrupt, Party))
    draft.axiom("the boss is not", ~corrupt(boss))
    claim(draft, lambda: boss != deputy, name="apart")
    claim(draft, lambda: ~corrupt(deputy), name="honest")
    assert judged(draft, Party=1).models == set()
    assert judged(draft, Party=1).states == 0
    assert {name for name, _ in judged(draft, Party=2).violated} == {"apart", "honest"}


def test_each_threat_model_has_its_own_answers() -> None:
    draft = drafted(enter)
    draft.threat("nobody", "Nobody is corrupt", none=~exists(corrupt, Party))
    draft.threat("anybody", "Anybody may be")
    draft.threat("both", "It cannot be", some=exists(corrupt, Party), none=~exists(corrupt, Party))

    def fine(x: Party) -> Formula:
        return implies(ready(x), ~corrupt(x))

    claim(draft, fine, "nobody", "anybody", "both")
    answers = judged(draft, Party=2)
    assert answers.models == {"nobody", "anybody"}
    assert set(answers.violated) == {("claimed", "anybody")}
    assert set(answers.reached) == {("claimed/0", "nobody"), ("claimed/0", "anybody")}


# -- fresh values ----------------------------------------------------------------------------------------


def test_a_fresh_value_is_any_unused_one_and_is_used_afterwards() -> None:
    def own(x: Party, y: Party, k: Key) -> Formula:
        return implies(held(x, k) & held(y, k), x == y) & implies(held(x, k), used(k))

    claim(draft := drafted(draw), own)
    answers = judged(draft, Party=2, Key=2)
    assert not answers.violated
    assert answers.states == 9  # each key: unused, the one's, the other's


def test_two_fresh_values_of_a_step_differ() -> None:
    def draw_two(step: Step, first: Key, second: Key) -> None:
        step.fresh(first)
        step.fresh(second)
        step.insert(seen(first))

    claim(draft := drafted(draw_two), lambda: forall(lambda k: implies(used(k), seen(k)), Key))
    assert judged(draft, Key=1).states == 1
    assert judged(draft, Key=2).violated
    assert judged(draft, Key=2).states == 3


def test_a_value_that_is_given_back_may_be_drawn_again_in_any_order() -> None:
    def give_back(step: Step, me: Party, key: Key) -> None:
        step.require("held", held(me, key))
        step.remove(used(key))
        step.insert(seen(key))

    claim(draft := drafted(draw, give_back), lambda: forall(lambda k: implies(seen(k), ~used(k)), Key))
    assert steps(judged(draft, Party=1, Key=2).violated["claimed", ""]) == ["draw", "give_back", "draw"]

    def draws_an_old_one(step: Step, key: Key) -> None:
        step.require("given back", seen(key))
        step.fresh(key)
        step.insert(on)

    def a_new_one_is_left(k: Key) -> Formula:
        return implies(on, ~exists(lambda x: ~used(x) & ~seen(x), Key)) & (seen(k) | ~seen(k))

    claim(draft := drafted(draw, give_back, draws_an_old_one), a_new_one_is_left)
    assert judged(draft, Party=1, Key=2).violated  # though the other key was never used


def test_what_is_used_at_first_cannot_be_drawn() -> None:
    protocol = drafted(draw).protocol()
    k = Var("k", Key.sort)
    started = replace(protocol, initial=(Initial(used_symbol(Key.sort), (k,), TRUE),))
    assert enumerate_at(started, {"Party": 2, "Key": 2}).states == 1
