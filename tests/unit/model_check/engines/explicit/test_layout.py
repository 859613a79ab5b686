"""Layout: the first state is 0, a place gets bits when it first changes, and its readers are told."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_check.engines.explicit.layout import Layout, Place, matches
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Formula, Instance, Row, Step
from tests.unit.model_check.small import Party, Phase, ahead, before, drafted, last, phase, seen


def touch(step: Step, a: Party, b: Party) -> None:
    step.given("mentioned", before(a, b) | (last == a) | (phase == Phase.EARLY))
    step.insert(seen(a))
    step.insert(ahead(a, b))


def _ahead_at_first(a: Party, b: Party) -> Formula:
    return before(a, b)


DRAFT = drafted(touch)
DRAFT.initially(ahead, _ahead_at_first)
INSTANCE = Instance({"Party": ("p1", "p2", "p3")}, {"before": frozenset({("p1", "p2")})})


def _layout(budget: int | None = None) -> Layout:
    instance = Instance(INSTANCE.elements, INSTANCE.relations, budget=budget)
    return Layout(DRAFT.protocol(), instance, Interpreter(DRAFT.protocol(), instance).start())


def _written(layout: Layout, s: int, *writes: tuple[Place, str | bool]) -> int:
    touched, cleared = layout.written(writes, lambda: None)
    return (s | touched) ^ cleared


def _state(**changes: Any) -> State:
    start = Interpreter(DRAFT.protocol(), INSTANCE).start()
    functions: dict[str, dict[Row, str]] = {n: {(): value} for n, value in changes.items() if isinstance(value, str)}
    return start.changed({name: value for name, value in changes.items() if name not in functions}, functions)


def test_the_first_state_is_0_and_has_no_fields() -> None:
    layout = _layout()
    assert (layout.encode(_state()), layout.bits) == (0, 0)


def test_writing_what_is_there_at_first_gives_no_field() -> None:
    layout = _layout()
    places = layout.tables["ahead"].places
    assert _written(layout, 0, (places["p1", "p2"], True), (places["p2", "p1"], False)) == 0
    assert layout.bits == 0


def test_a_place_gets_as_many_bits_as_its_values_need_when_it_first_changes() -> None:
    layout = _layout()
    assert _written(layout, 0, (layout.tables["seen"].places["p2",], True)) == 0b1
    assert layout.bits == 1
    assert _written(layout, 0, (layout.tables["last"].places[()], "p3")) == 0b100
    assert layout.bits == 1 + 2


def test_a_field_holds_the_number_of_a_value_and_the_first_value_is_0() -> None:
    layout = _layout()
    gone = layout.tables["ahead"].places["p1", "p2"]
    s = _written(layout, 0, (gone, False))
    assert s == 1, "that it held at first makes its loss the change"
    assert _written(layout, s, (gone, True)) == 0


def test_the_last_write_of_one_place_is_what_a_state_gets_and_others_stay() -> None:
    layout = _layout()
    seen_places, at = layout.tables["seen"].places, layout.tables["last"].places[()]
    s = _written(layout, 0, (seen_places["p1",], True), (at, "p3"))
    after = _written(layout, s, (at, "p2"))
    assert layout.encode(_state(seen=frozenset({("p1",)}), last="p2")) == after
    assert _written(layout, after, (seen_places["p1",], False), (at, "p1")) == 0


def test_a_packed_state_tells_what_has_a_field_and_what_was_spent() -> None:
    layout = _layout(budget=2)
    assert layout.spent == 0b11
    s = _written(layout, 0, (layout.tables["seen"].places["p1",], True))
    assert s == 0b100
    spent = _state(seen=frozenset({("p1",)})).changed({}, {}, cost=2)
    assert layout.encode(spent) == 0b110


def test_readers_are_told_of_fields_that_are_there_and_of_those_to_come() -> None:
    layout = _layout()
    places = layout.tables["ahead"].places
    told: list[int] = []
    _written(layout, 0, (places["p2", "p3"], True))
    _written(layout, 0, (layout.tables["seen"].places["p3",], True))
    layout.on_growth("ahead", (None, frozenset({"p3"})), told.append)
    assert told == [0b1]
    _written(layout, 0, (places["p2", "p1"], True), (places["p3", "p3"], True))
    assert told == [0b1, 0b1000], "the row in between does not end in p3"


def test_who_took_a_first_value_for_nothing_is_told_once_it_is_something() -> None:
    layout = _layout()
    place = layout.tables["seen"].places["p1",]
    forgotten: list[str] = []
    layout.written([(place, False)], lambda: forgotten.append("stale"))
    assert forgotten == []
    _written(layout, 0, (place, True))
    assert forgotten == ["stale"]


def test_an_index_lists_the_rows_that_hold_or_may_and_grows() -> None:
    layout = _layout()
    by_first = layout.tables["ahead"].index((0,))
    assert by_first == {("p1",): [("p2",)]}
    _written(layout, 0, (layout.tables["ahead"].places["p1", "p3"], True))
    assert by_first == {("p1",): [("p2",), ("p3",)]}


@pytest.mark.parametrize(("row", "fits"), [(("p1", "p3"), True), (("p2", "p3"), False), (("p1", "p1"), True)])
def test_a_pattern_allows_some_elements_at_each_place_or_any(row: tuple[str, ...], fits: bool) -> None:
    assert matches((frozenset({"p1"}), None), row) is fits
