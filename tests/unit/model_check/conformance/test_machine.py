"""The machine by hand: which steps fit, what they change, and that each change can be taken back."""

from collections import deque
from collections.abc import Mapping

import pytest

from carnet_check.conformance import Machine, tables
from carnet_check.conformance.effects import Change, FollowedRelation, compile_update
from carnet_check.conformance.tables import Table
from carnet_spec.language import Draft, Instance, Step, Symbol, Update
from carnet_spec.language.terms import Var
from carnet_spec.trace import TraceStep as Taken
from tests.unit.model_check.conformance.vocabulary import PARTIES, compiler, frame, initial_tables
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import learn

INSTANCE = Instance({"Party": ("p1", "p2"), "Key": ("k1", "k2")}, {"corrupt": frozenset({("p2",)})})


def see(step: Step, a: Party) -> None:
    step.require("new", ~seen(a))
    step.given("honest", ~corrupt(a) & (phase == Phase.EARLY))
    step.insert(seen(a))
    step.set(last, a)


def use(step: Step, a: Party) -> None:
    step.require("known and last", known(a) & (last == a))
    step.remove(seen(a))


def draw(step: Step, k: Key) -> None:
    step.fresh(k)
    step.set(current, k, when=current != k)


def _machine(draft: Draft | None = None) -> Machine:
    return Machine((draft or drafted(see, use, draw, rules=(learn,))).protocol(), INSTANCE)


def _step(name: str, **args: str) -> Taken:
    return Taken(name, "holder", tuple(args.items()))


def _take(machine: Machine, name: str, **args: str) -> None:
    (move,) = machine.moves(_step(name, **args))
    machine.take(move)


def _rows(machine: Machine, name: str) -> set[tuple[str, ...]]:
    table = machine.tables[name]
    assert isinstance(table, tables.Relation)
    return set(table.rows)


@pytest.mark.parametrize(
    ("step", "misfit"),
    [
        (_step("see", a="p1"), ""),
        (_step("see"), ""),
        (_step("sea", a="p1"), "no action 'sea'"),
        (Taken("see", "spy", (("a", "p1"),)), "see is a step of the holder, not of 'spy'"),
        (_step("see", b="p1"), "no parameter 'b'"),
        (_step("see", a="k1"), "see: 'k1' is not a Party of this trace"),
    ],
)
def test_a_step_that_cannot_be_one_of_this_protocol_is_named(step: Taken, misfit: str) -> None:
    found = _machine().misfit(step)
    assert found.startswith(misfit)
    assert bool(found) is bool(misfit)


def test_a_step_that_is_taken_changes_the_state_and_all_that_follows() -> None:
    machine = _machine()
    _take(machine, "see", a="p1")
    assert (_rows(machine, "seen"), _rows(machine, "known")) == ({("p1",)}, {("p1",)})
    table = machine.tables["last"]
    assert isinstance(table, tables.Function)
    assert table.values.get((), table.default) == "p1"


def test_a_step_that_is_refused_has_no_moves_and_it_is_said_why() -> None:
    machine = _machine()
    assert machine.moves(_step("see", a="p2")) == []
    assert "'honest'" in machine.why_not(_step("see", a="p2"))
    assert "phase = EARLY" in machine.why_not(_step("see", a="p2"))
    assert "'known and last'" in machine.why_not(_step("use", a="p1"))
    _take(machine, "see", a="p1")
    why = machine.why_not(_step("see", a="p1"))
    assert why.startswith("see: ")
    assert "'new'" in why
    assert "seen(p1)" in why
    assert "last = p1" in machine.why_not(_step("use", a="p2"))


def test_what_is_missing_is_chosen_and_no_used_element_drawn() -> None:
    machine = _machine()
    _take(machine, "draw", k="k1")
    assert machine.moves(_step("draw", k="k1")) == []
    assert "used" in machine.why_not(_step("draw", k="k1"))
    assert len(machine.moves(_step("draw", k="k2"))) == 1
    machine = _machine()
    assert len(machine.moves(_step("see"))) == 1, "p2 is corrupt"
    assert len(machine.moves(_step("draw"))) == 2
    assert machine.moves(_step("use")) == []
    assert machine.why_not(_step("use")).endswith("for every choice of a")


def test_a_journal_takes_everything_back_in_reverse() -> None:
    machine = _machine()
    machine.journal = deque()
    _take(machine, "see", a="p1")
    _take(machine, "use", a="p1")
    assert _rows(machine, "seen") == set()
    while machine.journal:
        machine.journal.pop()()
    machine.journal = None
    assert (_rows(machine, "seen"), _rows(machine, "known")) == (set(), set())
    assert len(machine.moves(_step("see", a="p1"))) == 1


def test_the_first_state_has_its_deductions() -> None:
    def begin(step: Step, a: Party) -> None:
        step.given("corrupt", corrupt(a))
        step.insert(known(a))

    assert _rows(_machine(drafted(see, use, rules=(learn, begin))), "known") == {("p2",)}


A = Var("a", Party.sort)


def _update(body: Body) -> Update:
    (update,) = drafted(body).protocol().actions[0].updates
    return update


def _changes(
    body: Body,
    state: dict[str, Table],
    at: str = "p1",
    followed: Mapping[Symbol, FollowedRelation] | None = None,
    *,
    inserted: bool = False,
) -> list[Change]:
    made = compiler(state)
    effects = compile_update(_update(body), made, made.scope((A,)), followed or {}, inserted=inserted)
    return list(effects(frame(made, at)))


def _rows_of(state: dict[str, Table], name: str) -> set[tuple[str, ...]]:
    table = state[name]
    assert isinstance(table, tables.Relation)
    return set(table.rows)


def test_an_insertion_is_made_and_taken_back() -> None:
    def learn(step: Step, a: Party) -> None:
        step.insert(known(a), when=seen(a))

    state = initial_tables()
    (change,) = _changes(learn, state, "p2")
    undo = change.apply()
    assert _rows_of(state, "known") == {("p2",)}
    assert change.apply() is None, "nothing changes the second time"
    assert undo is not None
    undo()
    assert _rows_of(state, "known") == set()


def test_a_condition_decides_and_a_removal_asks_it_of_each_row() -> None:
    def learn(step: Step, a: Party) -> None:
        step.insert(known(a), when=seen(a) & second)

    assert _changes(learn, initial_tables()) == []

    def clear(step: Step, a: Party) -> None:
        other = step.each(Party)
        step.remove(ahead(a, other), when=seen(other))

    assert [change.row for change in _changes(clear, initial_tables(), "p1")] == [("p1", "p2")]


def test_a_function_is_given_its_value() -> None:
    def move(step: Step, a: Party) -> None:
        step.set(last, a, when=first)

    state = initial_tables()
    (change,) = _changes(move, state, "p3")
    change.apply()
    table = state["last"]
    assert isinstance(table, tables.Function)
    assert table.values == {(): "p3"}


def test_each_reaches_the_elements_for_which_its_condition_holds() -> None:
    def announce(step: Step, a: Party) -> None:
        everyone = step.each(Party)
        step.insert(ahead(everyone, a), when=seen(everyone))

    state = initial_tables()
    for change in _changes(announce, state, "p1"):
        change.apply()
    assert _rows_of(state, "ahead") == {*_rows_of(initial_tables(), "ahead"), ("p1", "p1"), ("p2", "p1")}


def test_removal_of_each_looks_at_the_rows_that_there_are() -> None:
    def clear(step: Step, a: Party) -> None:
        step.remove(ahead(a, step.each(Party)))

    state = initial_tables()
    changes = _changes(clear, state, "p1")
    assert {change.row for change in changes} == {("p1", "p2"), ("p1", "p3")}
    for change in changes:
        change.apply()
    assert _rows_of(state, "ahead") == {("p3", "p3")}


def test_removal_after_an_insertion_of_the_same_step_reaches_rows_that_are_not_there_yet() -> None:
    def clear(step: Step, a: Party) -> None:
        step.remove(ahead(a, step.each(Party)))

    changes = _changes(clear, initial_tables(), "p2", inserted=True)
    assert {change.row for change in changes} == {("p2", party) for party in PARTIES}


def test_an_insertion_that_follows_another_relation_keeps_how_many_rows_that_has() -> None:
    def note(step: Step, a: Party) -> None:
        other = step.each(Party)
        step.insert(ahead(a, other), when=seen(other))

    state = initial_tables()
    follower, base = state["ahead"], state["seen"]
    assert isinstance(follower, tables.Relation)
    assert isinstance(base, tables.Relation)
    follower.following, follower.at = base, 1
    (change,) = _changes(note, state, "p3", {ahead.symbol: FollowedRelation(seen.symbol, 1)})
    assert (change.row, change.extent) == (("p3",), 2)
    change.apply()
    base.insert(("p3",))
    assert [follower.holds(("p3", party)) for party in PARTIES] == [True, True, True]
    assert not follower.holds(("p2", "p1")), "only p3 noted them; and that p3 was ahead of itself was a row"
