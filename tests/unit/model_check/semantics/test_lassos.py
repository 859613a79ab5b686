"""A lasso is a counterexample if it returns, waits in vain all the way round, and is fair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import going_round, objection
from carnet_spec.language import Instance, Step
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.small import ask, back, drafted, first, last, learn, second, see, serve_one, swing, third


def serve(step: Step) -> None:
    step.require("there", third)
    step.insert(second)


def stop(step: Step) -> None:
    step.require("served", second)
    step.remove(second)


def _judge(*fair: str) -> Interpreter:
    draft = drafted(swing, back, ask, serve, stop, see, rules=(learn,))
    draft.eventually("served", first, second, sentence="Who asks is served.", fair=fair)
    return Interpreter(draft.protocol(), Instance({"Party": ("p", "q")}))


def _trace(loop: int | None, *names: str) -> Trace:
    words = (name.split() for name in names)
    steps = (TraceStep(name, "holder", tuple(("a", party) for party in about)) for name, *about in words)
    return Trace("small", "main", (), "", tuple(steps), loop)


ROUNDS: dict[str, tuple[tuple[str, ...], tuple[Any, ...], str]] = {
    "nobody has to act": ((), (1, "ask"), ""),
    "it goes round": (("swing", "back"), (1, "ask", "swing", "back"), ""),
    "what is closed now and then is treated fairly": (("serve",), (1, "ask", "swing", "back"), ""),
    "what is closed for ever is treated fairly": (("serve",), (1, "ask"), ""),
    "deductions are part of the way": ((), (3, "see p", "learn p", "ask"), ""),
    "the way may be served": ((), (5, "ask", "swing", "serve", "stop", "back"), ""),
    "no lasso": ((), (None, "ask"), "it goes round nowhere"),
    "it does not return": ((), (1, "ask", "swing"), "it does not return to the state in which it begins to go round"),
    "nobody asks": ((), (0, "swing", "back"), "it does not wait in vain"),
    "served": ((), (3, "ask", "swing", "serve"), "it does not wait in vain"),
    "served on the way round": ((), (2, "ask", "swing", "serve", "stop"), "it does not wait in vain"),
    "a deduction is left out": (
        (),
        (4, "see p", "learn p", "see q", "ask"),
        "a deduction is left out where it goes round",
    ),
    "always open": (("swing",), (1, "ask"), "it is not fair to swing"),
    "one of two is open": (("serve", "back"), (2, "ask", "swing"), "it is not fair to serve, back"),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_the_judge_objects_to_what_is_no_counterexample(name: str) -> None:
    fair, (loop, *steps), why = ROUNDS[name]
    judge = _judge(*fair)
    assert objection(judge, judge.protocol.liveness[0], _trace(loop, *steps)) == why


MEANT: dict[str, tuple[tuple[Any, ...], str]] = {
    "the step that is meant is not taken": ((1, "ask", "serve_one q", "serve_one q"), "it is not fair to serve_one"),
    "nothing that is meant": ((1, "ask"), "it is not fair to serve_one"),
    "it is taken, and all is well": ((1, "ask", "serve_one p"), "it does not return"),
}


@pytest.mark.parametrize("name", MEANT)
def test_the_judge_asks_for_the_steps_that_are_meant(name: str) -> None:
    (loop, *steps), why = MEANT[name]
    draft = drafted(ask, serve_one)
    draft.eventually(
        "served", first, second, sentence="It comes.", fair=("serve_one",), given={"serve_one": {"a": last}}
    )
    judge = Interpreter(draft.protocol(), Instance({"Party": ("p", "q")}))
    live = judge.protocol.liveness[0]
    assert objection(judge, live, _trace(loop, *steps)).startswith(why)
    everybody = replace(live, given=())
    taken = [step for step in steps if step == "serve_one q"]
    assert (objection(judge, everybody, _trace(loop, *steps)) == "") == bool(taken)


def test_a_round_is_taken_until_the_whole_state_returns() -> None:
    judge = _judge()
    see_and_swing = [_trace(None, "see p").steps[0], *_trace(None, "swing", "back").steps]
    written = going_round(judge, _trace(None, "ask").steps, see_and_swing, _trace(None))
    assert [step.action for step in written.steps] == ["ask", "see", "learn", "swing", "back", "see", "swing", "back"]
    assert written.loop == 5
    assert objection(judge, judge.protocol.liveness[0], written) == ""
