"""The enumerator and replays on systems small enough to count by hand, and what the oracle may import."""

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_spec import language
from carnet_spec.language import Formula, Initial, Instance, Kind, Step, exists, forall, implies, relation, true, used
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import TRUE, Apply, Exists, Forall, Var
from carnet_spec.trace import TraceStep as Taken
from tests.oracle.enumerate import Answers, Witness, enumerate_all, enumerate_at
from tests.oracle.evaluate import NotASpecificationError, TooBigError, premises
from tests.oracle.replay import NoSuchRunError, World, falsified, replay

# -- words to build protocols from that are small enough to count by hand --------------------------------


class Party(language.Individual):
    """Somebody."""


class Key(language.Individual, fresh=True):
    """Something that is drawn."""


class Phase(language.Individual):
    """Where somebody is."""

    IDLE = language.member()
    BUSY = language.member()
    DONE = language.member()


SOMEBODY = language.Role("somebody")
Body = Callable[..., None]
ready = relation("ready", Party, kind=Kind.STATE, of=SOMEBODY)
held = relation("held", Party, Key, kind=Kind.STATE, of=SOMEBODY)
seen = relation("seen", Key, kind=Kind.KNOWLEDGE)
corrupt = language.rigid_relation("corrupt", Party, kind=Kind.TRUTH)
on = language.flag("on", of=SOMEBODY)
off = language.flag("off", of=SOMEBODY)
turn = language.variable("turn", Party, of=SOMEBODY)
phase = language.variable("phase", Phase, of=SOMEBODY)
friend = language.function("friend", Party, to=Party, kind=Kind.STATE, of=SOMEBODY)
boss, deputy = language.constant("boss", Party), language.constant("deputy", Party)
mother = language.rigid_function("mother", Party, to=Party)


def drafted(*bodies: Body, rules: tuple[Body, ...] = ()) -> language.Draft:
    draft = language.Draft("small", "Small")
    for body in bodies:
        draft.action(by=SOMEBODY, says="it happens", source="here")(body)
    for body in rules:
        draft.rule(by=language.Role("thief", honest=False), says="it follows", source="here")(body)
    return draft


def claim(draft: language.Draft, body: Callable[..., Formula], *under: str, name: str = "claimed") -> None:
    """Claim ``body`` of all its parameters."""
    draft.claim(name=name, sentence="So it is.", requirement="TOY", source="here", under=under)(body)


def judged(draft: language.Draft, **sizes: int) -> Answers:
    """What is true of the draft at ``sizes``."""
    return enumerate_at(draft.protocol(), sizes)


def holds(draft: language.Draft, body: Callable[..., Formula], **sizes: int) -> bool:
    """Whether ``body`` is true of all states."""
    claim(draft, body)
    return not judged(draft, **sizes).violated


def steps(witness: Witness) -> list[str]:
    """The names of the actions taken."""
    return [name for name, _ in witness.steps]


def enter(step: Step, me: Party) -> None:
    step.require("not in", ~ready(me))
    step.insert(ready(me))


def with_everybody_ready(draft: language.Draft) -> language.Draft:
    """Start with all parties ready."""

    def everybody(x: Party) -> Formula:
        return true

    draft.initially(ready, everybody)
    return draft


def draw(step: Step, me: Party, key: Key) -> None:
    step.fresh(key)
    step.insert(held(me, key))


def corrupt_ones(x: Party) -> Formula:
    return corrupt(x)


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

    claim(
        draft := drafted(draw, rules=(learn,)),
        lambda: forall(lambda k: implies(used(k), seen(k)), Key),
    )

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


# -- the enumerator on systems small enough to count by hand ---------------------------------------------


# -- what is open at first -------------------------------------------------------------------------------


def test_a_variable_without_a_first_value_starts_anywhere() -> None:
    claim(draft := drafted(), lambda: turn == boss)
    assert judged(draft, Party=2).violated["claimed", ""].steps == ()
    assert not judged(draft, Party=1).violated


def test_each_row_of_a_function_starts_on_its_own() -> None:
    claim(
        draft := drafted(),
        lambda: forall(lambda x: forall(lambda y: friend(x) == friend(y), Party), Party),
    )
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


# -- replays: what a trace may end in, and why it is none ------------------------------------------------


TWO = Instance(
    {"Party": ("p1", "p2"), "Key": ("k1", "k2")},
    relations={"corrupt": frozenset({("p1",)})},
    functions={"boss": {(): "p2"}},
)


def step(action: str, **args: str) -> Taken:
    return Taken(action, "somebody", tuple(args.items()))


def test_a_run_ends_in_the_state_after_its_steps() -> None:
    draft = drafted(enter, draw)
    claim(draft, lambda: ~ready(boss))
    [last] = replay(draft.protocol(), TWO, [step("enter", me="p2"), step("draw", me="p1", key="k2")])
    assert last.tables[held.symbol] == {(0, 0): False, (0, 1): True, (1, 0): False, (1, 1): False}
    assert falsified(draft.protocol().claim("claimed").checked.formula, [last])


def test_what_is_open_at_first_stays_open() -> None:
    def visit(step: Step, me: Party) -> None:
        step.require("its turn", turn == me)
        step.insert(ready(me))

    draft = drafted(visit)
    claim(draft, lambda: turn == boss)
    protocol = draft.protocol()
    formula = protocol.claim("claimed").checked.formula
    assert len(replay(protocol, TWO, [])) == 2
    assert falsified(formula, replay(protocol, TWO, [step("visit", me="p1")]))
    assert not falsified(formula, replay(protocol, TWO, [step("visit", me="p2")]))


def test_a_step_whose_guard_fails_is_no_run() -> None:
    with pytest.raises(NoSuchRunError, match=r"step 2.*guard 'not in'"):
        replay(drafted(enter).protocol(), TWO, [step("enter", me="p1"), step("enter", me="p1")])


def test_one_element_is_not_fresh_twice() -> None:
    def draw_two(step: Step, first: Key, second: Key) -> None:
        step.fresh(first)
        step.fresh(second)

    with pytest.raises(NoSuchRunError, match="two fresh values are the same"):
        replay(drafted(draw_two).protocol(), TWO, [step("draw_two", first="k1", second="k1")])


def test_updates_that_disagree_are_no_run() -> None:
    def both(step: Step, me: Party, other: Party) -> None:
        step.insert(ready(me))
        step.remove(ready(other))

    with pytest.raises(match="disagree about ready"):
        replay(drafted(both).protocol(), TWO, [step("both", me="p1", other="p1")])


def test_other_parameters_are_no_run() -> None:
    with pytest.raises(NoSuchRunError, match="does not name the parameters me"):
        replay(drafted(enter).protocol(), TWO, [step("enter", you="p1")])


def test_an_instance_has_to_satisfy_the_axioms() -> None:
    draft = drafted(enter)
    draft.threat("honest", "Nobody is corrupt", none=~exists(corrupt, Party))
    draft.threat("any", "Anybody may be")
    world = World(draft.protocol(), TWO)
    assert (world.allows("honest"), world.allows("any")) == (False, True)

    def nobody() -> Formula:
        return ~exists(corrupt, Party)

    draft.axiom("nobody", nobody())
    with pytest.raises(NoSuchRunError, match="breaks axiom nobody"):
        replay(draft.protocol(), TWO, [])


# -- the oracle reads the language and nothing else ------------------------------------------------------


ENUMERATOR = ("enumerate", "evaluate", "machine", "replay")
ALLOWED = ("carnet_spec.language", "carnet_spec.trace", "tests.oracle")


def imported(tree: ast.AST) -> set[str]:
    """The modules that ``tree`` imports."""
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return found | {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("module", ENUMERATOR)
def test_it_imports_the_language_and_its_own_modules_only(module: str) -> None:
    found = imported(ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")))
    carnets = {name for name in found if name.startswith(("carnet", "tests"))}
    assert not {name for name in carnets if not name.startswith(ALLOWED)}
