"""Breadth-first search over the interpreter: slow and simple; the compiled search must agree with it."""

from __future__ import annotations

from collections.abc import Sequence

from carnet_check.engines.explicit.bounds import Watch, peak_bytes
from carnet_check.engines.exploration import Exploration
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Goal, Invariant
from carnet_spec.trace import Trace, TraceStep


def search(
    interpreter: Interpreter, invariants: Sequence[Invariant], goals: Sequence[Goal], watch: Watch, *, enough: int
) -> Exploration:
    """Visit every state within the bounds, in the order in which they are found.

    If ``enough`` is not 0, that many violations end the search.
    """
    run = _Run(interpreter, invariants, goals)
    stopped_by = run.until(watch, enough=enough)
    return Exploration(
        states=len(run.found),
        transitions=run.transitions,
        depth=run.levels[run.found[-1]] if run.found else 0,
        stopped_by=stopped_by,
        seconds=watch.seconds,
        peak_memory_bytes=peak_bytes(),
        violations=run.violations,
        goals=run.reached,
        fired=run.fired,
    )


class _Run:
    def __init__(self, interpreter: Interpreter, invariants: Sequence[Invariant], goals: Sequence[Goal]) -> None:
        self.interpreter = interpreter
        self.invariants = invariants
        self.goals = goals
        self.found: list[State] = []
        self.origins: dict[State, tuple[State, TraceStep] | None] = {}
        self.levels: dict[State, int] = {}
        self.transitions = 0
        self.fired = {action.name: 0 for action in interpreter.protocol.actions}
        self.violations: dict[str, Trace] = {}
        self.reached: dict[str, Trace] = {}

    def until(self, watch: Watch, *, enough: int) -> str | None:
        judge = self.interpreter
        try:
            self.visit(judge.initial(), None)
            for state in self.found:  # the list grows during the loop
                watch.report(len(self.found), self.levels[self.found[-1]])
                fallen = 0 < enough <= len(self.violations)
                stopped_by = "violation" if fallen else watch.exceeded(len(self.found))
                if stopped_by is not None:
                    return stopped_by
                for action, env in judge.enabled(state):
                    self.transitions += 1
                    self.fired[action.name] += 1
                    args = tuple((var.name, env[var.name]) for var in action.params)
                    step = TraceStep(action.name, action.by.name, args)
                    self.visit(judge.step(state, action, env), (state, step))
        except KeyboardInterrupt:
            return "interrupt"
        return None

    def visit(self, state: State, origin: tuple[State, TraceStep] | None) -> None:
        if state in self.origins:
            return
        self.origins[state] = origin
        self.levels[state] = 0 if origin is None else self.levels[origin[0]] + 1
        self.found.append(state)
        judge = self.interpreter
        for invariant in self.invariants:
            if invariant.name not in self.violations and judge.counterexample(invariant, state) is not None:
                self.violations[invariant.name] = self._path(state)
        for goal in self.goals:
            if goal.name not in self.reached and judge.witness(goal.params, goal.body, state) is not None:
                self.reached[goal.name] = self._path(state)
        for rule in judge.protocol.actions:
            if rule.deduction and not self.fired[rule.name] and judge.premises_hold(rule, state):
                self.fired[rule.name] = 1

    def _path(self, state: State) -> Trace:
        steps: list[TraceStep] = []
        origin = self.origins[state]
        while origin is not None:
            steps.append(origin[1])
            origin = self.origins[origin[0]]
        protocol = self.interpreter.protocol
        return Trace(protocol.id, protocol.variant, protocol.without, "", tuple(reversed(steps)))
