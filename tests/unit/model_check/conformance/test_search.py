"""How a trace is followed cheaply: nothing is lost, and where work runs out it is undecided."""

import itertools
import json
from collections.abc import Mapping, Set
from dataclasses import replace

import pytest

from carnet_check.conformance import AmbiguousTraceError, Follower, Machine, Work, tables
from carnet_check.conformance.choices import Candidates, Choices, conjuncts
from carnet_check.conformance.effects import (
    FollowedRelation,
    followed_relations,
    only_prefixes_inserted,
    read_by,
    relevant_symbols,
)
from carnet_check.conformance.tables import PER_EVENT, TO_BEGIN_WITH, Column, Line
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_spec.language import Draft, Formula, InLine, Instance, Profile, Protocol, Sort, Step, exists, true
from carnet_spec.trace import TraceEvent, TraceStep
from tests.fixtures.travelling import SOURCE
from tests.fixtures.worlds import ChainTrainer, FastDeployment, world_of
from tests.unit.model_check.conformance.vocabulary import PARTIES, X, Y, compiler, frame, truth
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import see


def _keys() -> Candidates:
    return Candidates(["k0"], ["k0", "k1", "k2", "k3"])


def test_as_many_spare_elements_are_looked_at_as_arguments_are_chosen() -> None:
    assert list(_keys().choosable(1)) == ["k0", "k1"]
    assert list(_keys().choosable(2)) == ["k0", "k1", "k2"]
    assert len(_keys().choosable(9)) == len(list(_keys().choosable(9))) == 4
    choosable = _keys().choosable(1)
    assert [choosable.skips(key) for key in ("k0", "k1", "k2", "k3")] == [False, False, True, True]
    assert [key in choosable for key in ("k0", "k1", "k2", "k9")] == [True, True, False, False]


def test_an_element_that_was_chosen_is_known_until_that_is_taken_back() -> None:
    keys = _keys()
    assert keys.draw("k1") is not None
    assert list(keys.choosable(1)) == ["k0", "k1", "k2"]
    assert keys.draw("k1") is None, "it is known already"
    assert keys.draw("k0") is None
    keys = _keys()
    undo = [keys.draw(key) for key in ("k2", "k1")]
    assert list(keys.choosable(1)) == ["k0", "k2", "k1", "k3"]
    for take_back in reversed(undo):
        assert take_back is not None
        take_back()
    assert list(keys.known) == ["k0"]
    assert sorted(keys.choosable(9)) == ["k0", "k1", "k2", "k3"]
    keys = _keys()
    choosable = keys.choosable(1)
    keys.draw("k1")
    assert list(choosable) == ["k0", "k1", "k2"]


PX, PY = Party(X), Party(Y)


def _chosen(
    *conditions: Formula, alike: Mapping[Sort, Candidates] | None = None, given: Mapping[str, str] | None = None
) -> list[tuple[str, ...]]:
    given = given or {}
    made = compiler()
    scope = made.scope((X, Y))
    choices = Choices(made, (X, Y), [each.term for each in conditions], scope, alike or {})
    known_ones = choices.mask_of(var for var in (X, Y) if var.name in given)
    return list(choices.each(frame(made, given.get("x", ""), given.get("y", "")), known_ones))


CONDITIONS: dict[str, list[Formula]] = {
    "none": [],
    "one of each": [seen(PX), ~seen(PY)],
    "both together": [ahead(PX, PY)],
    "an equality": [PX == PY, seen(PX)],
    "a conjunction": [seen(PX) & ahead(PX, PY) & first],
    "a disjunction": [seen(PX) | (last == PY)],
    "a quantifier": [exists(lambda a: ahead(PX, a) & ahead(a, PY), Party)],
    "what never holds": [known(PX)],
    "what needs no variable": [second],
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_choice_for_which_all_conditions_hold_comes_once(name: str) -> None:
    conditions = CONDITIONS[name]
    every = list(itertools.product(PARTIES, repeat=2))
    wanted = [(x, y) for x, y in every if all(truth(each, x=x, y=y) for each in conditions)]
    assert sorted(_chosen(*conditions)) == wanted


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("given", [{"x": "p1"}, {"y": "p3"}, {"x": "p3", "y": "p3"}], ids=str)
def test_choices_agree_with_what_is_given(name: str, given: dict[str, str]) -> None:
    wanted = [(x, y) for x, y in _chosen(*CONDITIONS[name]) if x == given.get("x", x) and y == given.get("y", y)]
    assert sorted(_chosen(*CONDITIONS[name], given=given)) == sorted(wanted)


def test_of_elements_that_are_alike_as_many_are_tried_as_are_chosen() -> None:
    alike = {Party.sort: Candidates(["p3"], PARTIES)}
    assert sorted(_chosen(alike=alike, given={"x": "p3"})) == [("p3", "p1"), ("p3", "p2"), ("p3", "p3")]
    alone = {Party.sort: Candidates([], ("p1", "p2", "p3"))}
    assert sorted({x for x, _ in _chosen(alike=alone)}) == ["p1", "p2"], "two arguments, so two of three"


def test_a_conjunction_is_taken_apart_however_it_is_nested() -> None:
    nested = (first & (second & seen(PX))) & known(PX)
    assert list(conjuncts(nested.term)) == [each.term for each in (first, second, seen(PX), known(PX))]
    assert list(conjuncts((first | second).term)) == [(first | second).term]


def _relevant(*bodies: Body) -> set[str]:
    return {symbol.name for symbol in relevant_symbols(drafted(*bodies).protocol())}


def need(step: Step) -> None:
    step.require("third", third)


def carry(step: Step) -> None:
    step.insert(third, when=second)


def light(step: Step, a: Party) -> None:
    step.insert(second, when=seen(last) & corrupt(a))


def remember(step: Step, a: Party) -> None:
    step.insert(known(a), when=first)


def test_what_decides_about_what_a_guard_reads_is_kept_and_the_rest_left_out() -> None:
    assert _relevant(remember, carry) == set()
    assert _relevant(need, remember) == {"third"}
    assert _relevant(need, carry, light, remember) == {"third", "second", "seen", "last"}
    assert _relevant(light, remember, carry, need) == {"third", "second", "seen", "last"}
    (update,) = drafted(light).protocol().action("light").updates
    assert {symbol.name for symbol in read_by(update)} == {"seen", "last", "corrupt"}


def note(step: Step, a: Party) -> None:
    """Note everybody who was seen so far."""
    other = step.each(Party)
    step.insert(ahead(a, other), when=seen(other))


def ask(step: Step, a: Party, b: Party) -> None:
    step.require("noted", ahead(a, b))
    step.insert(second)


def _followed(*bodies: Body, draft: Draft | None = None) -> dict[str, tuple[str, int]]:
    protocol: Protocol = (draft or drafted(see, note, *bodies)).protocol()
    found = followed_relations(protocol, relevant_symbols(protocol))
    return {symbol.name: (how.base.name, how.at) for symbol, how in found.items()}


def test_notes_of_every_row_so_far_are_kept_as_their_number() -> None:
    def lose_notes(step: Step, a: Party) -> None:
        step.remove(ahead(a, step.each(Party)))

    assert _followed(ask) == {"ahead": ("seen", 1)}
    assert _followed() == {}
    assert _followed(ask, lose_notes) == {"ahead": ("seen", 1)}


def lose(step: Step, a: Party) -> None:
    step.remove(seen(a))


def lose_note(step: Step, a: Party, b: Party) -> None:
    step.remove(ahead(a, b))


def lose_some_notes(step: Step, a: Party) -> None:
    other = step.each(Party)
    step.remove(ahead(a, other), when=corrupt(other))


def search(step: Step, a: Party) -> None:
    step.require("somebody", exists(lambda b: ahead(a, b), Party))
    step.insert(second)


def note_others(step: Step, a: Party) -> None:
    other = step.each(Party)
    step.insert(ahead(other, a), when=seen(other))


def swap_notes(step: Step, a: Party, b: Party) -> None:
    step.insert(ahead(a, b))
    step.remove(ahead(b, step.each(Party)), name="forget")


@pytest.mark.parametrize("body", [lose, lose_note, lose_some_notes, search, note_others, swap_notes])
def test_a_number_is_not_enough_where(body: Body) -> None:
    """The rows noted are not a prefix any more, or more is asked than whether one row is among them."""
    assert _followed(ask, body) == {}


def test_what_holds_at_first_is_in_no_prefix_and_kept_as_no_number() -> None:
    def seen_at_first(a: Party) -> Formula:
        return true

    draft = drafted(see, note, ask)
    draft.initially(seen, seen_at_first)
    assert _followed(draft=draft) == {}

    def ahead_at_first(a: Party, b: Party) -> Formula:
        return true

    draft = drafted(see, note, ask)
    draft.initially(ahead, ahead_at_first)
    assert _followed(draft=draft) == {}


def test_a_relation_is_pure_if_it_is_only_inserted_into_for_all() -> None:
    updates = [update for action in drafted(see, note).protocol().actions for update in action.updates]
    assert only_prefixes_inserted(ahead.symbol, updates)
    assert not only_prefixes_inserted(seen.symbol, updates)
    assert FollowedRelation(seen.symbol, 1) == FollowedRelation(seen.symbol, 1)
    assert paired.symbol not in {update.symbol for update in updates}


def test_a_trace_may_spend_its_allowances_and_is_undecided_beyond_them() -> None:
    work = Work()
    work.spend(TO_BEGIN_WITH)
    assert work.left == 0
    with pytest.raises(AmbiguousTraceError, match=f"undecided after {TO_BEGIN_WITH:,} steps"):
        work.spend(1)
    work = Work()
    work.spend(TO_BEGIN_WITH)
    work.add_event_allowance()
    work.spend(PER_EVENT)
    with pytest.raises(AmbiguousTraceError):
        work.spend(1)
    error = AmbiguousTraceError("undecided")
    assert (error.kind, int(error.exit_code)) == ("unknown", 3)


NAMES = ("a", "b", "c", "d")
STORED = frozenset(itertools.combinations(NAMES, 2))


def test_a_line_is_its_pairs() -> None:
    line: Set[object] = InLine(NAMES)
    assert line == STORED
    assert (len(line), sorted(map(str, line)), hash(line)) == (6, sorted(map(str, STORED)), hash(InLine(NAMES)))
    assert {row for row in itertools.product((*NAMES, "e"), repeat=2) if row in line} == STORED
    assert "a" not in line
    assert line & {("a", "b"), ("b", "a")} == {("a", "b")}


@pytest.mark.parametrize("positions", [(), (0,), (1,), (0, 1)], ids=str)
def test_a_line_is_looked_up_as_a_table_is(positions: tuple[int, ...]) -> None:
    line, stored = (
        Line("before", InLine(NAMES)).index(positions),
        tables.Relation("before", sorted(STORED)).index(positions),
    )
    for key in itertools.product(NAMES, repeat=len(positions)):
        found, expected = line.get(key, {}), stored.get(key, {})
        assert (sorted(found), len(found)) == (sorted(expected), len(expected))
        assert all((row in found) == (row in expected) for row in itertools.product(NAMES, repeat=2))


def recorded(rounds: int) -> list[TraceStep]:
    """Return the steps of a run in which every epoch is a channel of its own on an engine."""
    deployment = FastDeployment(holder_names(2), rounds, chunks=2, chunk_bytes=16, trainer=ChainTrainer())
    world, _ = world_of(deployment)
    world.run(500 * rounds)
    steps = (TraceEvent.from_json(json.loads(line)).step for line in world.recorder.lines)
    return [step for step in steps if isinstance(step, TraceStep)]


def design(rounds: int, steps: list[TraceStep], stored: bool = False) -> tuple[Protocol, Instance]:
    """Return the protocol, and an instance that has whatever the steps name."""
    protocol = SOURCE.protocol("engine-per-holder")
    sizes = {"holders": 2, "corrupt": 0, "chunks": 2, "rounds": rounds, "slots": rounds + 8}
    instance = SOURCE.instance(protocol, "outsider", Profile("a run", sizes))
    named: dict[str, dict[str, None]] = {
        sort: dict.fromkeys(value for step in steps for name, value in step.args if name in places)
        for sort, places in {"Key": "kj", "Session": "s", "Version": "n"}.items()
    }
    elements = {sort: (*instance.elements[sort], *names) for sort, names in named.items()}
    before = instance.relations["before"]
    relations = {**instance.relations, "before": frozenset(before) if stored else before}
    return protocol, replace(instance, elements={**instance.elements, **elements}, relations=relations)


def verdict(protocol: Protocol, instance: Instance, steps: list[TraceStep]) -> tuple[int, str] | None:
    follower = Follower(Machine(protocol, instance))
    found = next((found for step in steps if (found := follower.take(step)) is not None), None)
    return None if found is None else (found.index, found.why)


def test_stored_or_not_the_verdict_is_the_same() -> None:
    steps = recorded(2)
    changed = [
        [*steps[:at], replace(step, args=(*step.args[:n], (name, other), *step.args[n + 1 :])), *steps[at + 1 :]]
        for at, step in enumerate(steps)
        for n, (name, value) in enumerate(step.args)
        if value.isdecimal()
        for other in (str(int(value) + 1), str(max(0, int(value) - 1)))
    ]
    verdicts = set()
    for each in (steps, *changed[::9]):
        one, other = (verdict(*design(2, steps, stored), each) for stored in (False, True))
        assert one == other
        verdicts.add(one is None)
    assert verdicts == {True, False}


def test_an_event_costs_no_more_where_a_counter_is_far() -> None:
    """Each return is the next channel on the orchestrator's engine: its counter goes as far as the run."""
    rounds = 120
    steps = recorded(rounds)
    follower = Follower(Machine(*design(rounds, steps)))
    part = len(steps) // 6
    spent = []
    for at in range(0, 6 * part, part):
        begun = follower.work.left
        assert [follower.take(step) for step in steps[at : at + part]] == [None] * part
        spent.append(begun + PER_EVENT * part - follower.work.left)
    assert spent[-1] < 1.1 * spent[1]


def test_a_row_is_inserted_or_removed_once_and_taken_back_whole() -> None:
    pairs = tables.Relation("pairs", [("a", "b")])
    by_first = pairs.index((0,))
    undo = pairs.insert(("a", "c"))
    assert pairs.insert(("a", "c")) is None
    assert list(by_first["a",]) == [("a", "b"), ("a", "c")]
    assert undo is not None
    undo()
    assert list(pairs.rows) == list(by_first["a",]) == [("a", "b")]
    pairs = tables.Relation("pairs", [("a", "b")])
    by_second = pairs.index((1,))
    undo = pairs.remove(("a", "b"))
    assert pairs.remove(("a", "b")) is None
    assert (list(pairs.rows), by_second) == ([], {})
    assert undo is not None
    undo()
    assert (list(pairs.rows), list(by_second["b",])) == ([("a", "b")], [("a", "b")])


def test_an_index_that_is_made_late_knows_what_came_before() -> None:
    pairs = tables.Relation("pairs")
    for row in (("a", "b"), ("c", "b"), ("c", "d")):
        pairs.insert(row)
    assert {key: list(rows) for key, rows in pairs.index((1,)).items()} == {
        ("b",): [("a", "b"), ("c", "b")],
        ("d",): [("c", "d")],
    }
    assert list(pairs.index(())[()]) == list(pairs.rows)


def _following() -> tuple[tables.Relation, tables.Relation]:
    """Return a relation of epochs, and one that says for a party up to which epoch it read."""
    epochs, read = tables.Relation("epochs", [("e1",), ("e2",)]), tables.Relation("read")
    read.following, read.at = epochs, 1
    return epochs, read


def test_a_prefix_of_another_relation_is_kept_as_a_number_until_it_is_forgotten() -> None:
    epochs, read = _following()
    undo = read.extend(("p",), 2)
    epochs.insert(("e3",))
    assert [read.holds(("p", epoch)) for epoch in ("e1", "e2", "e3", "e4")] == [True, True, False, False]
    assert not read.holds(("q", "e1"))
    assert read.extend(("p",), 1) is None, "a shorter prefix adds nothing"
    assert undo is not None
    undo()
    assert not read.holds(("p", "e1"))
    _, read = _following()
    read.extend(("p",), 1)
    read.insert(("p", "e2"))
    undo = read.forget(("p",))
    assert [read.holds(("p", epoch)) for epoch in ("e1", "e2")] == [False, True]
    assert undo is not None
    undo()
    assert read.holds(("p", "e1"))
    assert read.forget(("q",)) is None


@pytest.mark.parametrize(
    ("before", "value", "changes"), [({}, "d", False), ({}, "v", True), ({("a",): "v"}, "d", True)]
)
def test_a_function_is_its_default_where_nothing_is(
    before: dict[tuple[str, ...], str], value: str, changes: bool
) -> None:
    table = tables.Function("f", before, "d")
    undo = table.assign(("a",), value)
    assert (undo is not None) is changes
    assert table.values.get(("a",), table.default) == value
    if undo is not None:
        undo()
    assert table.values == before


def test_a_column_has_the_elements_at_one_position_as_often_as_they_come() -> None:
    column = Column([("a", "b"), ("c", "b")], 1)
    assert (list(column), len(column), "b" in column, "a" in column) == (["b", "b"], 2, True, False)
