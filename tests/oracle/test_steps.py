"""The enumerator on systems small enough to count by hand: what steps do, and what formulas mean."""

from __future__ import annotations

import pytest

from carnet_spec.language import Formula, Kind, Step, exists, forall, implies, relation, true, used
from carnet_spec.language.terms import Apply, Exists, Forall, Var
from tests.oracle.enumerate import enumerate_all, enumerate_at
from tests.oracle.errors import NotASpecificationError, TooBigError
from tests.oracle.questions import premises
from tests.oracle.toys import (
    SOMEBODY,
    Key,
    Party,
    Phase,
    boss,
    claim,
    corrupt,
    corrupt_ones,
    deputy,
    drafted,
    draw,
    enter,
    friend,
    held,
    holds,
    judged,
    mother,
    off,
    on,
    phase,
    ready,
    seen,
    steps,
    turn,
    with_everybody_ready,
)

# -- steps and states ------------------------------------------------------------------------------------


def test_each_subset_of_parties_is_one_state() -> None:
    claim(draft := drafted(enter), lambda: true)
    assert [judged(draft, Party=size).states for size in (1, 2, 3)] == [2, 4, 8]


def test_a_violation_comes_with_a_shortest_way_to_it() -> None:
    claim(draft := drafted(enter), lambda: ~forall(ready, Party))
    witness = judged(draft, Party=2).violated["claimed", ""]
    assert steps(witness) == ["enter", "enter"]
    assert {row for row, value in witness.last.tables[ready.symbol].items() if value} == {(0,), (1,)}


def test_what_only_a_larger_structure_violates_is_true_in_a_smaller_one() -> None:
    def two(x: Party, y: Party) -> Formula:
        return implies(ready(x) & ready(y), x == y)

    claim(draft := drafted(enter), two)
    assert not judged(draft, Party=1).violated
    assert judged(draft, Party=2).violated


def test_updates_read_the_state_before() -> None:
    def swap(step: Step) -> None:
        step.insert(on, when=off)
        step.remove(on, when=~off)
        step.insert(off, when=on)
        step.remove(off, when=~on)

    draft = drafted(swap)
    draft.initially(on, true)
    claim(draft, lambda: ~(on & off) & (on | off))
    answers = judged(draft)
    assert not answers.violated
    assert answers.states == 2


def test_each_stands_for_every_element() -> None:
    def clear(step: Step) -> None:
        step.remove(ready(step.each(Party)))

    assert judged(with_everybody_ready(drafted(clear)), Party=3).states == 2
    assert judged(with_everybody_ready(drafted(enter, clear)), Party=2).states == 4


def test_each_of_two_arguments_makes_every_pair() -> None:
    near = relation("near", Party, Party, kind=Kind.STATE, of=SOMEBODY)

    def gather(step: Step) -> None:
        step.insert(near(step.each(Party), step.each(Party)))

    claim(draft := drafted(gather), lambda: ~near(boss, deputy))
    assert steps(judged(draft, Party=2).violated["claimed", ""]) == ["gather"]
    assert judged(draft, Party=2).conflicts == {}


def test_a_condition_may_differ_for_each_element() -> None:
    def rest(step: Step) -> None:
        who = step.each(Party)
        step.remove(ready(who), when=corrupt(who))

    def nothing_lost(x: Party) -> Formula:
        return ready(x) | corrupt(x)

    def all_lost() -> Formula:
        return exists(lambda x: corrupt(x) & ~ready(x), Party) | ~exists(lambda x: corrupt(x) & ready(x), Party)

    draft = with_everybody_ready(drafted(rest))
    claim(draft, all_lost, name="all lost")
    claim(draft, nothing_lost)
    assert {name for name, _ in judged(draft, Party=2).violated} == {"all lost"}


def test_a_function_is_assigned_at_one_place() -> None:
    def befriend(step: Step, me: Party, other: Party) -> None:
        step.set(friend(me), other)

    def itself(x: Party) -> Party:
        return x

    draft = drafted(befriend)
    draft.initially(friend, itself)
    claim(draft, lambda: exists(lambda x: friend(x) == x, Party))
    assert len(judged(draft, Party=2).violated["claimed", ""].steps) == 2
    assert judged(draft, Party=3).states == 27


def test_functions_of_functions_are_read_inside_out() -> None:
    def move(step: Step) -> None:
        step.set(turn, mother(mother(turn)))

    draft = drafted(move)
    draft.initially(turn, boss)
    draft.axiom("a swap", forall(lambda x: mother(mother(x)) == x, Party))
    assert holds(draft, lambda: turn == boss, Party=3)


def test_the_place_of_an_assignment_is_read_before_the_step() -> None:
    def pass_on(step: Step) -> None:
        step.set(friend(turn), friend(friend(turn)))
        step.set(turn, friend(turn))

    def next_one(x: Party) -> Party:
        return mother(x)

    draft = drafted(pass_on)
    draft.initially(friend, next_one)
    draft.initially(turn, boss)
    draft.axiom("never oneself", forall(lambda x: mother(x) != x, Party))
    claim(draft, lambda: friend(boss) != boss)
    assert steps(judged(draft, Party=2).violated["claimed", ""]) == ["pass_on"]  # boss -> other -> boss


def test_enumerations_have_their_members_whatever_the_sizes() -> None:
    def work(step: Step, to: Phase) -> None:
        step.require("forward", (phase == Phase.IDLE) & (to != Phase.DONE))
        step.set(phase, to)

    draft = drafted(work)
    draft.initially(phase, Phase.IDLE)
    assert holds(draft, lambda: phase != Phase.DONE)
    assert judged(draft).states == 2


# -- rules, conflicts, bounds ----------------------------------------------------------------------------


def test_a_rule_is_never_forced() -> None:
    def learn(step: Step, key: Key) -> None:
        step.given("it is used", used(key))
        step.insert(seen(key))

    claim(draft := drafted(draw, rules=(learn,)), lambda: forall(lambda k: implies(used(k), seen(k)), Key))

    @draft.goal(sentence="It is learned.")
    def learned() -> Formula:
        return exists(seen, Key)

    answers = judged(draft, Party=1, Key=1)
    assert steps(answers.violated["claimed", ""]) == ["draw"]
    assert steps(answers.reached["goal learned", ""]) == ["draw", "learn"]


def test_updates_that_disagree_are_a_conflict_and_nothing_comes_after() -> None:
    def both(step: Step, me: Party, other: Party) -> None:
        step.insert(ready(me))
        step.remove(ready(other))

    claim(draft := drafted(both), lambda: ~exists(ready, Party))
    alone, two = judged(draft, Party=1), judged(draft, Party=2)
    assert set(alone.conflicts) == set(two.conflicts) == {("both", "")}
    assert not alone.violated
    assert two.violated


def test_updates_that_agree_are_no_conflict() -> None:
    def twice(step: Step, me: Party, other: Party) -> None:
        step.insert(ready(me), name="one")
        step.insert(ready(other), name="two")

    assert not judged(drafted(twice), Party=2).conflicts


def test_assignments_through_different_terms_may_meet() -> None:
    def meet(step: Step, me: Party) -> None:
        step.set(friend(boss), me, name="one")
        step.set(friend(deputy), turn, name="two")

    assert judged(drafted(meet), Party=2).conflicts
    assert not judged(drafted(meet), Party=1).conflicts
    draft = drafted(meet)
    draft.axiom("apart", boss != deputy)
    assert not judged(draft, Party=2).conflicts


def test_too_much_to_look_at_is_no_answer() -> None:
    draft = drafted(enter)
    claim(draft, lambda: true)
    with pytest.raises(TooBigError):
        enumerate_at(draft.protocol(), {"Party": 3}, budget=7)
    assert enumerate_at(draft.protocol(), {"Party": 3}, budget=8).states == 8
    assert enumerate_all(draft.protocol(), most=3, budget=7).too_big == [{"Party": 3}]


def test_axioms_about_what_changes_have_no_meaning() -> None:
    draft = drafted(enter)
    draft.axiom("always", forall(ready, Party))
    with pytest.raises(NotASpecificationError, match="ready, which changes"):
        judged(draft, Party=1)


# -- names and quantifiers -------------------------------------------------------------------------------


def test_an_inner_variable_hides_an_outer_one_of_its_name_and_sort() -> None:
    x = Var("x", Party.sort)
    ready_x = Apply(ready.symbol, (x,))
    shadowed = Forall((x,), Exists((x,), ready_x))  # somebody is ready: false at first, not "everybody is"
    claim(draft := drafted(), lambda: Formula(shadowed))
    draft.initially(ready, corrupt_ones)
    draft.axiom("one is corrupt, one is not", exists(corrupt, Party) & ~forall(corrupt, Party))
    assert not judged(draft, Party=2).violated


def test_variables_of_one_name_and_two_sorts_are_two_variables() -> None:
    party, key = Var("x", Party.sort), Var("x", Key.sort)
    body = Apply(held.symbol, (party, key))
    claim(draft := drafted(draw), lambda: Formula(Forall((party,), Exists((key,), body))))

    @draft.goal(sentence="All hold one.")
    def held_by_all() -> Formula:
        return Formula(Forall((party,), Exists((key,), body)))

    answers = judged(draft, Party=2, Key=2)
    assert answers.violated
    assert len(answers.reached["goal held-by-all", ""].steps) == 2


@pytest.mark.parametrize(
    "names", [("key", "key1", "key12"), ("c0", "e1", "x'"), ("v0", "s", "w"), ("$on.x", "k!0", "")]
)
def test_names_mean_nothing(names: tuple[str, str, str]) -> None:
    first, second, third = (relation(name, Party, kind=Kind.STATE, of=SOMEBODY) for name in names)

    def one(step: Step, me: Party) -> None:
        step.insert(first(me))

    def two(step: Step, me: Party) -> None:
        step.require("first", first(me))
        step.insert(second(me))

    def claimed(x: Party) -> Formula:
        return implies(second(x), first(x)) & ~third(x)

    claim(draft := drafted(one, two), claimed)
    answers = judged(draft, Party=2)
    assert not answers.violated
    assert answers.states == 9


def test_premises_are_those_that_a_claim_asserts() -> None:
    def nested(x: Party) -> Formula:
        inner = forall(lambda y: implies(ready(y), x == y), Party)
        return implies(corrupt(x), inner) & ~(ready(x) & corrupt(x))

    claim(draft := drafted(enter), nested)
    assert len(premises(draft.protocol().claims[0].checked.formula)) == 2
    answers = judged(draft, Party=2)
    assert answers.reached["claimed/0", ""].steps == ()
    assert len(answers.reached["claimed/1", ""].steps) == 1
