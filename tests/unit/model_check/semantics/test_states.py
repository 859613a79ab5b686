"""First states, and states as values; every answer is worked out by hand."""

from __future__ import annotations

from typing import Any, cast

import pytest

from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Draft, Formula, Instance, Kind, Row, SpecificationError, Step, function, rigid_function
from tests.unit.model_check.small import (
    HOLDER,
    Key,
    Party,
    Phase,
    ahead,
    alice,
    before,
    corrupt,
    current,
    drafted,
    first,
    last,
    phase,
    second,
    seen,
)

ELEMENTS = {"Party": ("p1", "p2"), "Key": ("k1", "k2")}
friend = function("friend", Party, to=Party, kind=Kind.STATE, of=HOLDER)
leader = rigid_function("leader", Party, to=Party)


def touch(step: Step, a: Party, b: Party, k: Key) -> None:
    """Mention what the tests ask about."""
    step.given("mentioned", before(a, b) | corrupt(a) | (leader(a) == alice) | (current == k))
    step.insert(seen(a), when=(friend(a) == b) & (last == b) & (phase == Phase.LATE))
    step.insert(ahead(a, b))


LED: dict[str, dict[Row, str]] = {"alice": {(): "p1"}, "leader": {("p1",): "p2", ("p2",): "p2"}}


def _start(draft: Draft, **fields: Any) -> State:
    return Interpreter(draft.protocol(), Instance(ELEMENTS, functions=LED, **fields)).start()


def test_every_mutable_symbol_has_a_value_at_every_row_and_no_rigid_one_has() -> None:
    state = _start(drafted(touch))
    assert set(state.relations) == {"seen", "ahead"}
    assert set(state.functions) == {"friend", "last", "phase", "current"}
    assert set(state.functions["friend"]) == {("p1",), ("p2",)}
    assert set(state.functions["last"]) == {()}


def test_relations_start_empty() -> None:
    assert _start(drafted(touch)).relations == {"seen": frozenset(), "ahead": frozenset()}


def test_functions_start_at_the_first_element_of_their_sort() -> None:
    functions = _start(drafted(touch)).functions
    assert functions["friend"] == {("p1",): "p1", ("p2",): "p1"}
    assert (functions["phase"][()], functions["current"][()]) == ("EARLY", "k1")


def test_functions_start_with_the_values_that_the_instance_names_row_by_row() -> None:
    functions = _start(drafted(touch), first={"friend": {("p1",): "p2"}, "phase": {(): "OVER"}}).functions
    assert functions["friend"] == {("p1",): "p2", ("p2",): "p1"}
    assert functions["phase"] == {(): "OVER"}


def test_the_instance_cannot_name_a_first_value_that_the_protocol_gives() -> None:
    draft = drafted(touch)
    draft.initially(phase, Phase.LATE)
    assert _start(draft).functions["phase"] == {(): "LATE"}
    with pytest.raises(
        SpecificationError, match="first value to 'phase', which has one in the protocol or never changes"
    ):
        _start(draft, first={"phase": {(): "OVER"}})


def _ahead_at_first(a: Party, b: Party) -> Formula:
    return before(b, a) & ~corrupt(a)


def _led(a: Party) -> Party:
    return leader(a)


def test_an_initial_value_is_read_at_its_own_arguments_in_their_order() -> None:
    draft = drafted(touch)
    draft.initially(ahead, _ahead_at_first)
    draft.initially(friend, _led)
    both_ways = frozenset({("p1", "p2"), ("p2", "p1")})
    state = _start(draft, relations={"before": both_ways, "corrupt": frozenset({("p1",)})})
    assert state.relations["ahead"] == {("p2", "p1")}
    assert state.functions["friend"] == {("p1",): "p2", ("p2",): "p2"}


def test_an_initial_value_that_reads_state_is_refused() -> None:
    draft = drafted(touch)
    draft.initially(first, second)
    with pytest.raises(SpecificationError, match="the initial value of first reads second, which changes"):
        _start(draft)


def deduce(step: Step, a: Party) -> None:
    step.given("corrupt", corrupt(a))
    step.insert(seen(a))


def test_the_first_state_is_before_any_deduction_and_the_initial_one_after_all() -> None:
    instance = Instance(ELEMENTS, {"corrupt": frozenset({("p2",)})})
    judge = Interpreter(drafted(rules=(deduce,)).protocol(), instance)
    assert judge.start().relations["seen"] == frozenset()
    assert judge.initial().relations["seen"] == {("p2",)}


def test_nothing_is_spent_at_first() -> None:
    assert _start(drafted(touch), budget=3).spent == 0


def test_equal_states_are_one_and_each_of_their_parts_tells_states_apart() -> None:
    rows = frozenset({("p1",)})
    state = State({"seen": rows}, {"last": {(): "p1"}}, 1)
    same = State({"seen": frozenset({("p1",)})}, {"last": {(): "p1"}}, 1)
    assert (state, hash(state)) == (same, hash(same))
    others = [
        State({"seen": frozenset()}, {"last": {(): "p1"}}, 1),
        State({"known": rows}, {"last": {(): "p1"}}, 1),
        State({"seen": rows}, {"last": {(): "p2"}}, 1),
        State({"seen": rows}, {"last": {(): "p1"}}, 2),
    ]
    assert len({state, same, *others}) == 5
    assert state != "a state"


def test_no_part_of_a_state_can_be_written() -> None:
    table: dict[Row, str] = {(): "p1"}
    state = State({"seen": frozenset()}, {"last": table})
    table[()] = "p2"
    assert state.functions["last"][()] == "p1"
    for place, key in ((state.relations, "seen"), (state.functions, "last"), (state.functions["last"], ())):
        with pytest.raises(TypeError):
            cast(dict[Any, Any], place)[key] = "p2"
    with pytest.raises(AttributeError):
        state.spent = 1  # type: ignore[misc] # that is the point


def test_a_state_with_some_symbols_replaced_keeps_the_others() -> None:
    state = State({"seen": frozenset(), "known": frozenset({("p1",)})}, {"last": {(): "p1"}}, 1)
    after = state.changed({"seen": frozenset({("p2",)})}, {}, cost=2)
    assert after == State({"seen": frozenset({("p2",)}), "known": frozenset({("p1",)})}, {"last": {(): "p1"}}, 3)
    assert state.relations["seen"] == frozenset()
