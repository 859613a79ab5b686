"""Liveness is proved by a step that is always possible, ends the waiting, and that nothing else forestalls."""

from __future__ import annotations

from carnet_check.engines.induction.liveness import by_fairness
from carnet_spec.language import Draft, Step
from tests.unit.model_check.small import drafted, first, second, third


def serve(step: Step) -> None:
    step.require("waited for", first)
    step.insert(second)


def serve_if_open(step: Step) -> None:
    step.require("open", third)
    step.insert(second)


def leave(step: Step) -> None:
    step.require("waits", first)
    step.remove(first)


def look_away(step: Step) -> None:
    step.require("waits", first)
    step.remove(third)


def _open(draft: Draft, fair: str) -> tuple[str, ...]:
    draft.eventually("served", first, second, sentence="Who waits is served.", fair=(fair,))
    protocol = draft.protocol()
    return by_fairness(protocol, protocol.liveness[0]).open


def test_a_step_that_is_always_possible_brings_it_about() -> None:
    assert _open(drafted(serve, look_away), "serve") == ()


def test_a_step_that_is_not_always_possible_does_not() -> None:
    assert _open(drafted(serve_if_open, look_away), "serve_if_open") == (
        "serve_if_open is not always possible meanwhile",
    )


def test_a_step_that_does_something_else_does_not() -> None:
    assert _open(drafted(serve, look_away), "look_away") == ("look_away does not always bring it about",)


def test_nothing_is_brought_about_for_those_who_left() -> None:
    assert _open(drafted(serve, leave), "serve") == ("leave may end the waiting without what is waited for",)
