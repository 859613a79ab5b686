"""Effects: the changes that an update makes, decided in the state before, each of which can be taken back."""

from __future__ import annotations

from collections.abc import Mapping

from carnet_check.conformance.effects import Change, FollowedRelation, compile_update
from carnet_check.conformance.tables import Function, Relation, Table
from carnet_spec.language import Step, Symbol, Update
from carnet_spec.language.terms import Var
from tests.unit.model_check.conformance.vocabulary import PARTIES, compiler, frame, tables
from tests.unit.model_check.small import Body, Party, ahead, drafted, first, known, last, second, seen

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


def _rows(state: dict[str, Table], name: str) -> set[tuple[str, ...]]:
    table = state[name]
    assert isinstance(table, Relation)
    return set(table.rows)


def test_an_insertion_is_made_and_taken_back() -> None:
    def learn(step: Step, a: Party) -> None:
        step.insert(known(a), when=seen(a))

    state = tables()
    (change,) = _changes(learn, state, "p2")
    undo = change.apply()
    assert _rows(state, "known") == {("p2",)}
    assert change.apply() is None, "nothing changes the second time"
    assert undo is not None
    undo()
    assert _rows(state, "known") == set()


def test_a_condition_that_does_not_hold_makes_no_change() -> None:
    def learn(step: Step, a: Party) -> None:
        step.insert(known(a), when=seen(a) & second)

    assert _changes(learn, tables()) == []


def test_a_function_is_given_its_value() -> None:
    def move(step: Step, a: Party) -> None:
        step.set(last, a, when=first)

    state = tables()
    (change,) = _changes(move, state, "p3")
    change.apply()
    table = state["last"]
    assert isinstance(table, Function)
    assert table.values == {(): "p3"}


def test_each_reaches_the_elements_for_which_its_condition_holds() -> None:
    def announce(step: Step, a: Party) -> None:
        everyone = step.each(Party)
        step.insert(ahead(everyone, a), when=seen(everyone))

    state = tables()
    for change in _changes(announce, state, "p1"):
        change.apply()
    assert _rows(state, "ahead") == {*_rows(tables(), "ahead"), ("p1", "p1"), ("p2", "p1")}


def test_removal_of_each_looks_at_the_rows_that_there_are() -> None:
    def clear(step: Step, a: Party) -> None:
        step.remove(ahead(a, step.each(Party)))

    state = tables()
    changes = _changes(clear, state, "p1")
    assert {change.row for change in changes} == {("p1", "p2"), ("p1", "p3")}
    for change in changes:
        change.apply()
    assert _rows(state, "ahead") == {("p3", "p3")}


def test_removal_after_an_insertion_of_the_same_step_reaches_rows_that_are_not_there_yet() -> None:
    def clear(step: Step, a: Party) -> None:
        step.remove(ahead(a, step.each(Party)))

    changes = _changes(clear, tables(), "p2", inserted=True)
    assert {change.row for change in changes} == {("p2", party) for party in PARTIES}


def test_a_removal_with_a_condition_asks_it_of_each_row() -> None:
    def clear(step: Step, a: Party) -> None:
        other = step.each(Party)
        step.remove(ahead(a, other), when=seen(other))

    assert [change.row for change in _changes(clear, tables(), "p1")] == [("p1", "p2")]


def test_an_insertion_that_follows_another_relation_keeps_how_many_rows_that_has() -> None:
    def note(step: Step, a: Party) -> None:
        other = step.each(Party)
        step.insert(ahead(a, other), when=seen(other))

    state = tables()
    follower, base = state["ahead"], state["seen"]
    assert isinstance(follower, Relation)
    assert isinstance(base, Relation)
    follower.following, follower.at = base, 1
    (change,) = _changes(note, state, "p3", {ahead.symbol: FollowedRelation(seen.symbol, 1)})
    assert (change.row, change.extent) == (("p3",), 2)
    change.apply()
    base.insert(("p3",))
    assert [follower.holds(("p3", party)) for party in PARTIES] == [True, True, True]
    assert not follower.holds(("p2", "p1")), "only p3 noted them; and that p3 was ahead of itself was a row"
