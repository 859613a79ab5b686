"""Replay: which traces are runs, what states they go through, and which are refused and why."""

from __future__ import annotations

import pytest

from carnet_check.semantics import Interpreter, NotEnabled, Replays
from carnet_spec.language import Instance, SpecificationError, Step
from carnet_spec.trace import Trace
from carnet_spec.trace import TraceStep as Taken
from tests.unit.model_check.small import Party, corrupt, drafted, known, seen, third


def see(step: Step, a: Party) -> None:
    step.require("new", ~seen(a))
    step.insert(seen(a))


def use(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(third)


def begin(step: Step, a: Party) -> None:
    step.given("corrupt", corrupt(a))
    step.insert(known(a))


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
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


def test_a_replay_returns_the_first_state_and_one_for_each_step() -> None:
    states = _judge().replay(_trace("see p1", "use p1"))
    assert [set(state.relations["seen"]) for state in states] == [set(), {("p1",)}, {("p1",)}]
    assert [set(state.relations["third"]) for state in states] == [set(), set(), {()}]


def test_a_trace_without_deductions_is_completed_from_the_saturated_first_state() -> None:
    judge = _judge()
    first, after = judge.replay(_trace("see p1"))
    assert first == judge.initial()
    assert first.relations["known"] == {("p2",)}
    assert after.relations["known"] == {("p1",), ("p2",)}


def test_an_empty_trace_has_the_saturated_first_state() -> None:
    judge = _judge()
    assert judge.replay(_trace()) == [judge.initial()]


def test_a_trace_with_deductions_is_taken_literally_from_the_unsaturated_first_state() -> None:
    judge = _judge()
    states = judge.replay(_trace("see p1", "learn p1", "use p1"))
    assert states[0] == judge.start()
    assert [set(state.relations["known"]) for state in states] == [set(), set(), {("p1",)}, {("p1",)}]


def test_a_literal_trace_that_lacks_a_deduction_is_refused() -> None:
    with pytest.raises(NotEnabled, match=r"use\(a=p2\) is not enabled: 'known' does not hold"):
        _judge().replay(_trace("see p1", "learn p1", "use p2"))
    assert len(_judge().replay(_trace("see p1", "use p2"))) == 3


def test_a_deduction_whose_premise_does_not_hold_is_refused() -> None:
    with pytest.raises(NotEnabled, match=r"learn\(a=p2\) is not enabled: 'seen' does not hold"):
        _judge().replay(_trace("see p1", "learn p2"))


def test_a_step_whose_guard_does_not_hold_is_refused_and_named() -> None:
    with pytest.raises(NotEnabled) as refused:
        _judge().replay(_trace("see p1", "see p1"))
    assert (refused.value.action, refused.value.guard, refused.value.env) == ("see", "new", {"a": "p1"})


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


def test_the_design_and_the_roles_that_a_trace_names_are_the_callers_business() -> None:
    steps = tuple(Taken(step.action, "somebody", step.args) for step in _steps("see p1"))
    other = Trace("other", "variant", ("defence",), "threat", steps)
    assert _judge().replay(other) == _judge().replay(_trace("see p1"))


def test_deductions_are_written_out_where_they_are_taken() -> None:
    written = _judge().expand(_steps("see p1", "use p1"))
    assert written == list(_steps("begin p2", "see p1", "learn p1", "use p1"))


def test_a_deduction_that_adds_nothing_is_not_written_out() -> None:
    assert _judge().expand(_steps("see p2")) == list(_steps("begin p2", "see p2"))


def test_a_trace_written_out_ends_where_the_short_one_does() -> None:
    judge = _judge()
    short = _trace("see p1", "use p1")
    written = Trace("small", "main", (), "", tuple(judge.expand(short.steps)))
    assert judge.replay(written)[-1] == judge.replay(short)[-1]


def test_writing_out_a_step_that_cannot_be_taken_is_refused() -> None:
    with pytest.raises(NotEnabled, match="'known' does not hold"):
        _judge().expand(_steps("use p1"))


# -- replays that share their beginnings -----------------------------------------------------------


def test_a_trace_with_deductions_and_one_without_begin_in_states_of_their_own() -> None:
    replays = Replays(_judge())
    assert replays.end(_trace("see p1").steps) != replays.end(_trace("begin p2", "see p1").steps)
    assert replays.end(()) == replays.interpreter.initial()


def test_a_step_that_cannot_be_taken_is_refused_and_forgotten() -> None:
    replays = Replays(_judge())
    for _ in range(2):
        with pytest.raises(NotEnabled):
            replays.end(_trace("use p1").steps)
    replays.end(_trace("see p1", "use p1").steps)
