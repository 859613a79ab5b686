"""The model: places with bits and readers, answers that are remembered, moves, and no place that cannot matter."""

from typing import Any

import pytest

from carnet_check.engines.explicit.layout import Layout, Place, matches
from carnet_check.engines.explicit.memory import Memo, join_in_pairs, join_memos
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.saturation import apply_change
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Formula, Instance, Protocol, Row, Step
from carnet_spec.language import Step as Said
from tests.unit.model_check.small import *


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
    touched, cleared = layout.masks_for(writes, lambda: None)
    return (s | touched) ^ cleared


def _state(**changes: Any) -> State:
    start = Interpreter(DRAFT.protocol(), INSTANCE).start()
    functions: dict[str, dict[Row, str]] = {n: {(): value} for n, value in changes.items() if isinstance(value, str)}
    return start.with_values({name: value for name, value in changes.items() if name not in functions}, functions)


def test_the_first_state_is_0_and_a_place_gets_bits_when_it_first_changes() -> None:
    layout = _layout()
    assert (layout.encode(_state()), layout.bits) == (0, 0)
    layout = _layout()
    places = layout.tables["ahead"].places
    assert _written(layout, 0, (places["p1", "p2"], True), (places["p2", "p1"], False)) == 0
    assert layout.bits == 0
    layout = _layout()
    assert _written(layout, 0, (layout.tables["seen"].places["p2",], True)) == 0b1
    assert layout.bits == 1
    assert _written(layout, 0, (layout.tables["last"].places[()], "p3")) == 0b100
    assert layout.bits == 1 + 2
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
    assert _written(layout, 0, (layout.tables["seen"].places["p1",], True)) == 0b100
    assert layout.encode(_state(seen=frozenset({("p1",)})).with_values({}, {}, cost=2)) == 0b110


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
    layout.masks_for([(place, False)], lambda: forgotten.append("stale"))
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


def _counting(answers: list[int]) -> Memo[int]:
    """Return a memo that answers the bits it is asked about, and lists what it was asked."""

    def work_out(bits: int) -> int:
        answers.append(bits)
        return bits

    return Memo(work_out)


def test_answers_are_shared_by_states_that_agree_on_the_bits_read() -> None:
    asked: list[int] = []
    memo = _counting(asked)
    memo.grow(0b011)
    assert [memo.answer(s) for s in (0b001, 0b101, 0b010, 0b110)] == [0b01, 0b01, 0b10, 0b10]
    assert asked == [0b01, 0b10]
    asked = []
    memo = _counting(asked)
    memo.grow(0b01)
    memo.answer(0b01)
    memo.grow(0b10)
    assert (memo.answer(0b01), memo.answer(0b11)) == (0b01, 0b11)
    assert asked == [0b01, 0b11]


def test_forgetting_reaches_those_who_rest_on_it_and_is_announced_first() -> None:
    announced: list[dict[int, int]] = []
    part: Memo[int] = Memo(lambda bits: bits, lambda memo: announced.append(dict(memo)))
    part.grow(0b1)
    both = join_memos([part, _counting([])], sum)
    both.answer(0b1)
    part.forget()
    assert (dict(part), dict(both)) == ({}, {})
    assert announced[0] == {1: 1}


def test_an_answer_that_is_forgotten_while_it_is_worked_out_is_worked_out_again() -> None:
    answers = [1, 2]

    def work_out(bits: int) -> int:
        if len(answers) == 2:
            memo.forget()
        return answers.pop(0)

    memo: Memo[int] = Memo(work_out)
    assert memo.answer(0) == 2
    assert memo == {0: 2}


def test_a_joint_memo_reads_what_its_parts_read_now_and_later() -> None:
    one, other = _counting([]), _counting([])
    one.grow(0b001)
    both = join_memos([one, other], sum)
    other.grow(0b100)
    assert both.reads == 0b101
    assert both.answer(0b111) == 0b001 + 0b100


def test_memos_are_joined_where_the_sample_is_told_apart_less_than_half() -> None:
    sample = [*range(4)] * 4
    low, same, high = (_counting([]) for _ in range(3))
    low.grow(0b01)
    same.grow(0b01)
    high.grow(0b1111 << 4)
    spread = [s | n << 4 for n, s in enumerate(sample)]
    found = join_in_pairs([low, same, high], spread, sum, len(spread) / 2)
    assert len(found) == 2, "the third tells every state of the sample apart, whomever it is joined with"
    assert {memo.reads for memo in found} == {0b01, 0b1111 << 4}


Written = dict[tuple[str, Row], object]  #: What is written, by symbol and row.

TWO = Instance({"Party": ("p1", "p2"), "Key": ("k1", "k2")}, {"corrupt": frozenset({("p2",)})})


def see(step: Said, a: Party) -> None:
    step.require("honest", ~corrupt(a))
    step.require("new", ~seen(a))
    step.insert(seen(a))
    step.insert(known(a))


def _model(protocol: Protocol, *, reduce: bool = False) -> Model:
    claims = [claim.checked for claim in protocol.claims]
    return build(Interpreter(protocol, TWO), claims, protocol.goals, reduce=reduce)


def _moves(model: Model, name: str, s: int = 0) -> list[tuple[Written, Row]]:
    return [
        ({(place.symbol.name, place.row): value for place, value in writes.items()}, chosen)
        for writes, chosen in next(step for step in model.steps if step.action.name == name).moves(s)
    ]


def test_moves_are_those_whose_guards_hold_and_write_what_they_take() -> None:
    def swap(step: Said, a: Party) -> None:
        step.insert(second)
        step.remove(second, name="put out")
        step.set(last, a, when=second)

    def draw(step: Said, k: Key) -> None:
        step.fresh(k)
        step.set(current, k)

    model = _model(drafted(see).protocol())
    assert _moves(model, "see") == [({("seen", ("p1",)): True, ("known", ("p1",)): True}, ("p1",))]
    place = model.layout.tables["seen"].places["p1",]
    assert _moves(model, "see", apply_change(0, model.layout.masks_for([(place, True)], lambda: None))) == []
    (move,) = _moves(_model(drafted(draw).protocol()), "draw")
    assert move == ({("used_key", ("k1",)): True, ("current", ()): "k1"}, ("k1",))
    found = _moves(_model(drafted(swap).protocol()), "swap")
    assert found == [({("second", ()): False}, ("p1",)), ({("second", ()): False}, ("p2",))]


def test_monitors_hold_where_an_invariant_fails_or_a_goal_is_reached() -> None:
    def known_by_somebody(a: Party) -> Formula:
        return known(a)

    draft = drafted(see)
    draft.goal(sentence="Somebody is known.")(known_by_somebody)
    model = _model(claimed(draft, unseen=_unseen))
    place = model.layout.tables["seen"].places["p1",]
    other = model.layout.tables["known"].places["p2",]
    one = apply_change(0, model.layout.masks_for([(place, True)], lambda: None))
    both = apply_change(one, model.layout.masks_for([(other, True)], lambda: None))
    assert [(each.name, each.is_goal) for each in model.monitors] == [("unseen", False), ("known-by-somebody", True)]
    holds = [[bool(monitor.holds(s)) for monitor in model.monitors] for s in (0, one, both)]
    assert holds == [[False, False], [True, False], [True, True]]


def _unseen(a: Party) -> Formula:
    return ~seen(a)


def test_what_nothing_reads_is_not_written_and_deductions_are_no_steps() -> None:
    protocol = claimed(drafted(see), unseen=_unseen)
    assert _moves(_model(protocol, reduce=True), "see") == [({("seen", ("p1",)): True}, ("p1",))]
    assert len(_moves(_model(protocol, reduce=False), "see")[0][0]) == 2
    model = _model(drafted(see, rules=(learn,)).protocol())
    assert [step.action.name for step in model.steps] == ["see"]
    assert [rule.name for rule in model.saturation.rules] == ["learn"]


def learn(step: Said, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))
