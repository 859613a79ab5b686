"""Runs by hand: states as values, which traces are runs, and which are refused and why."""

from typing import Any, cast

import pytest

from carnet_check.semantics import Interpreter, NotEnabled, Replays, State
from carnet_spec.language import Draft, Formula, Instance, Row, SpecificationError, Step
from carnet_spec.trace import Trace
from carnet_spec.trace import TraceStep as Taken
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import learn


def see(step: Step, a: Party) -> None:
    step.require("new", ~seen(a))
    step.insert(seen(a))


def use(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(third)


def begin(step: Step, a: Party) -> None:
    step.given("corrupt", corrupt(a))
    step.insert(known(a))


def _judge() -> Interpreter:
    """One corrupt party knows something from the start; each party that is seen is known."""
    instance = Instance({"Party": ("p1", "p2")}, {"corrupt": frozenset({("p2",)})})
    return Interpreter(drafted(see, use, rules=(begin, learn)).protocol(), instance)


def _steps(*written: str) -> tuple[Taken, ...]:
    pairs = [text.split() for text in written]
    return tuple(Taken(name, "spy" if name in ("begin", "learn") else "holder", (("a", at),)) for name, at in pairs)


def _trace(*written: str) -> Trace:
    return Trace("small", "main", (), "", _steps(*written))


def test_a_replay_has_the_first_state_and_one_for_each_step() -> None:
    states = _judge().replay(_trace("see p1", "use p1"))
    assert [set(state.relations["seen"]) for state in states] == [set(), {("p1",)}, {("p1",)}]
    assert [set(state.relations["third"]) for state in states] == [set(), set(), {()}]
    judge = _judge()
    first, after = judge.replay(_trace("see p1"))
    assert first == judge.initial()
    assert first.relations["known"] == {("p2",)}
    assert after.relations["known"] == {("p1",), ("p2",)}
    judge = _judge()
    assert judge.replay(_trace()) == [judge.initial()]


def test_a_trace_with_deductions_is_taken_literally() -> None:
    judge = _judge()
    states = judge.replay(_trace("see p1", "learn p1", "use p1"))
    assert states[0] == judge.start()
    assert [set(state.relations["known"]) for state in states] == [set(), set(), {("p1",)}, {("p1",)}]
    with pytest.raises(NotEnabled, match=r"use\(a=p2\) is not enabled: 'known' does not hold"):
        _judge().replay(_trace("see p1", "learn p1", "use p2"))
    assert len(_judge().replay(_trace("see p1", "use p2"))) == 3
    with pytest.raises(NotEnabled, match=r"learn\(a=p2\) is not enabled: 'seen' does not hold"):
        _judge().replay(_trace("see p1", "learn p2"))


def test_a_trace_of_another_design_is_replayed_and_a_step_that_cannot_be_taken_named() -> None:
    with pytest.raises(NotEnabled) as refused:
        _judge().replay(_trace("see p1", "see p1"))
    assert (refused.value.action, refused.value.guard, refused.value.env) == ("see", "new", {"a": "p1"})
    steps = tuple(Taken(step.action, "somebody", step.args) for step in _steps("see p1"))
    other = Trace("other", "variant", ("defence",), "threat", steps)
    assert _judge().replay(other) == _judge().replay(_trace("see p1"))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Taken("sea", "holder", (("a", "p1"),)),), "no action 'sea'"),
        ((Taken("see", "holder"),), "see takes a; it was given nothing"),
        ((Taken("see", "holder", (("b", "p1"),)),), "see takes a; it was given b"),
        ((Taken("see", "holder", (("a", "p9"),)),), "'p9' is no element of sort Party"),
    ],
)
def test_a_trace_that_is_not_of_this_protocol_and_instance_is_refused(steps: tuple[Taken, ...], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        _judge().replay(Trace("small", "main", (), "", steps))


def test_deductions_are_written_out_where_they_add_something() -> None:
    written = _judge().expand(_steps("see p1", "use p1"))
    assert written == list(_steps("begin p2", "see p1", "learn p1", "use p1"))
    assert _judge().expand(_steps("see p2")) == list(_steps("begin p2", "see p2"))
    judge = _judge()
    short = _trace("see p1", "use p1")
    whole = Trace("small", "main", (), "", tuple(judge.expand(short.steps)))
    assert judge.replay(whole)[-1] == judge.replay(short)[-1]
    with pytest.raises(NotEnabled, match="'known' does not hold"):
        _judge().expand(_steps("use p1"))


def test_replays_begin_in_states_of_their_own_and_forget_what_is_refused() -> None:
    replays = Replays(_judge())
    assert replays.end(_trace("see p1").steps) != replays.end(_trace("begin p2", "see p1").steps)
    assert replays.end(()) == replays.interpreter.initial()
    replays = Replays(_judge())
    for _ in range(2):
        with pytest.raises(NotEnabled):
            replays.end(_trace("use p1").steps)
    replays.end(_trace("see p1", "use p1").steps)


ELEMENTS = {"Party": ("p1", "p2"), "Key": ("k1", "k2")}


def touch(step: Step, a: Party, b: Party, k: Key) -> None:
    step.given("mentioned", before(a, b) | corrupt(a) | (leader(a) == alice) | (current == k))
    step.insert(seen(a), when=(friend(a) == b) & (last == b) & (phase == Phase.LATE))
    step.insert(ahead(a, b))


LED: dict[str, dict[Row, str]] = {"alice": {(): "p1"}, "leader": {("p1",): "p2", ("p2",): "p2"}}


def _start(draft: Draft, **fields: Any) -> State:
    return Interpreter(draft.protocol(), Instance(ELEMENTS, functions=LED, **fields)).start()


def test_a_first_state_has_values_of_mutable_symbols_empty_or_first() -> None:
    state = _start(drafted(touch))
    assert set(state.relations) == {"seen", "ahead"}
    assert set(state.functions) == {"friend", "last", "phase", "current"}
    assert set(state.functions["friend"]) == {("p1",), ("p2",)}
    assert set(state.functions["last"]) == {()}
    assert _start(drafted(touch)).relations == {"seen": frozenset(), "ahead": frozenset()}
    functions = _start(drafted(touch)).functions
    assert functions["friend"] == {("p1",): "p1", ("p2",): "p1"}
    assert (functions["phase"][()], functions["current"][()]) == ("EARLY", "k1")
    assert _start(drafted(touch), budget=3).spent == 0


def test_first_values_are_those_of_the_instance_where_the_protocol_gives_none() -> None:
    functions = _start(drafted(touch), first={"friend": {("p1",): "p2"}, "phase": {(): "OVER"}}).functions
    assert functions["friend"] == {("p1",): "p2", ("p2",): "p1"}
    assert functions["phase"] == {(): "OVER"}
    draft = drafted(touch)
    draft.initially(phase, Phase.LATE)
    assert _start(draft).functions["phase"] == {(): "LATE"}
    with pytest.raises(
        SpecificationError, match="first value to 'phase', which has one in the protocol or never changes"
    ):
        _start(draft, first={"phase": {(): "OVER"}})


def _led(a: Party) -> Party:
    return leader(a)


def test_an_initial_value_is_read_at_its_own_arguments_and_reads_no_state() -> None:
    def _ahead_at_first(a: Party, b: Party) -> Formula:
        return before(b, a) & ~corrupt(a)

    draft = drafted(touch)
    draft.initially(ahead, _ahead_at_first)
    draft.initially(friend, _led)
    both_ways = frozenset({("p1", "p2"), ("p2", "p1")})
    state = _start(draft, relations={"before": both_ways, "corrupt": frozenset({("p1",)})})
    assert state.relations["ahead"] == {("p2", "p1")}
    assert state.functions["friend"] == {("p1",): "p2", ("p2",): "p2"}
    draft = drafted(touch)
    draft.initially(first, second)
    with pytest.raises(SpecificationError, match="the initial value of first reads second, which is mutable"):
        _start(draft)


def test_the_first_state_is_before_any_deduction_and_the_initial_one_after_all() -> None:
    def deduce(step: Step, a: Party) -> None:
        step.given("corrupt", corrupt(a))
        step.insert(seen(a))

    instance = Instance(ELEMENTS, {"corrupt": frozenset({("p2",)})})
    judge = Interpreter(drafted(rules=(deduce,)).protocol(), instance)
    assert judge.start().relations["seen"] == frozenset()
    assert judge.initial().relations["seen"] == {("p2",)}


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
    after = state.with_values({"seen": frozenset({("p2",)})}, {}, cost=2)
    assert after == State({"seen": frozenset({("p2",)}), "known": frozenset({("p1",)})}, {"last": {(): "p1"}}, 3)
    assert state.relations["seen"] == frozenset()
