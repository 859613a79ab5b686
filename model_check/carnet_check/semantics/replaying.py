"""Replays: traces taken step by step, and what several of them begin with taken once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from carnet_check.semantics.interpreter import Interpreter
from carnet_check.semantics.state import State
from carnet_spec.trace import TraceStep


@dataclass(slots=True)
class _Place:
    """Where some steps lead, and where more steps lead from there."""

    state: State
    further: dict[TraceStep, _Place] = field(default_factory=dict)


class Replays:
    """Replays the traces of one protocol on one instance; many shortest traces begin alike.

    Attributes:
        interpreter: which takes the steps.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._begins: dict[bool, _Place] = {}

    def end(self, steps: Iterable[TraceStep]) -> State:
        """Return the state in which steps end; they are taken as :meth:`Interpreter.replay` takes those of a trace.

        Raises:
            NotEnabled: a step cannot be taken.
            SpecificationError: an action is unknown, or its arguments are not the action's.
        """
        listed = [(step, self.interpreter.protocol.action(step.action)) for step in steps]
        literal = any(action.deduction for _, action in listed)
        take = self.interpreter.fire if literal else self.interpreter.step
        place = self._begin(literal)
        for step, action in listed:
            if step not in place.further:
                place.further[step] = _Place(take(place.state, action, step.env))
            place = place.further[step]
        return place.state

    def _begin(self, literal: bool) -> _Place:
        if literal not in self._begins:
            self._begins[literal] = _Place(self.interpreter.start() if literal else self.interpreter.initial())
        return self._begins[literal]
