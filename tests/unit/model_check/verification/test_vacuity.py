"""What is said never to happen never does, in no instance and from no first state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_check.verification.checks import possibilities, possible_actions
from carnet_spec.language import Draft, Formula, Goal, Step, exists, true
from tests.unit.model_check.small import Party, Phase, drafted, first, phase, second, seen, third


def see(step: Step, a: Party) -> None:
    step.require("late", phase == Phase.LATE)
    step.insert(seen(a))


def come(step: Step) -> None:
    step.require("early", phase == Phase.EARLY)
    step.set(phase, Phase.LATE)


def carry(step: Step) -> None:
    step.require("seen", exists(seen, Party))
    step.insert(second)


def never(step: Step) -> None:
    step.require("first", first)
    step.insert(third)


def _draft(*, begins: bool) -> Draft:
    draft = drafted(see, come, carry, never)
    if begins:
        draft.initially(phase, Phase.EARLY)
    return draft


def _may(formula: Formula, *, begins: bool = True) -> bool:
    protocol = _draft(begins=begins).protocol()
    asked = possibilities(protocol, None)
    return asked.may(Goal("it", (), formula.term, ""), possible_actions(protocol, asked, ()))


HAPPENS: dict[str, Callable[[], Formula]] = {
    "a value that is assigned": lambda: phase == Phase.LATE,
    "what is inserted": lambda: exists(seen, Party),
    "what follows from what is inserted": lambda: second,
}
NEVER: dict[str, Callable[[], Formula]] = {
    "a value that nobody assigns": lambda: phase == Phase.OVER,
    "what nobody inserts": lambda: first,
    "what waits for what nobody inserts": lambda: third,
}


@pytest.mark.parametrize("name", HAPPENS)
def test_it_may_happen(name: str) -> None:
    assert _may(HAPPENS[name]())


@pytest.mark.parametrize("name", NEVER)
def test_it_never_happens(name: str) -> None:
    assert not _may(NEVER[name]())


def test_a_variable_without_a_first_value_may_hold_anything() -> None:
    assert _may(phase == Phase.OVER, begins=False)


def test_a_relation_that_holds_at_first_may_hold() -> None:
    draft = _draft(begins=True)
    draft.initially(first, true)
    protocol = draft.protocol()
    taken = possible_actions(protocol, possibilities(protocol, None), ())
    assert {action.name for action in taken} == {"see", "come", "carry", "never"}
    protocol = _draft(begins=True).protocol()
    before = possible_actions(protocol, possibilities(protocol, None), ())
    assert {action.name for action in before} == {"see", "come", "carry"}


def test_what_was_refuted_is_asked_again_once_what_refuted_it_has_changed() -> None:
    """The more is taken, the more may happen: an answer is kept only while the facts that it rests on hold."""
    protocol = _draft(begins=True).protocol()
    asked = possibilities(protocol, None)
    late = Goal("late", (), (phase == Phase.LATE).term, "")
    assert not asked.may(late, ())
    assert not asked.may(late, ())
    assert not asked.may(late, (protocol.action("see"), protocol.action("never")))
    assert asked.may(late, (protocol.action("see"), protocol.action("come")))
    assert not asked.may(late, ())
