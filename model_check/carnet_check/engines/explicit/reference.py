"""Breadth-first search over the interpreter: slow, plain, and what the compiled search must agree with."""

from __future__ import annotations

from collections.abc import Sequence

from carnet_check.engines.explicit.exploration import Covered, Watch
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Goal, Invariant
from carnet_spec.trace import Step


def search(
    interpreter: Interpreter,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal],
    watch: Watch,
    *,
    stop_at_first: bool,
) -> Covered:
    """Reach every state within the bounds, one after another in the order found."""
    run = _Run(interpreter, invariants, goals)
    covered = run.covered
    try:
        run.visit(interpreter.initial(), None)
        while run.waiting and covered.stopped_by is None:
            watch.report(covered.states, run.waiting, covered.depth)
            if stop_at_first and covered.violations:
                covered.stopped_by = "violation"
            else:
                covered.stopped_by = watch.exceeded(covered.states)
            if covered.stopped_by is None:
                run.expand()
    except KeyboardInterrupt:
        covered.stopped_by = "interrupt"
    return covered


class _Run:
    def __init__(self, interpreter: Interpreter, invariants: Sequence[Invariant], goals: Sequence[Goal]) -> None:
        self.interpreter = interpreter
        self.invariants = invariants
        self.goals = goals
        self.rules = [action for action in interpreter.protocol.actions if action.deduction]
        self.covered = Covered(fired={action.name: 0 for action in interpreter.protocol.actions})
        self.found: list[State] = []
        self.origins: dict[State, tuple[State, Step] | None] = {}
        self.levels: dict[State, int] = {}
        self.expanded = 0

    @property
    def waiting(self) -> int:
        return len(self.found) - self.expanded

    def expand(self) -> None:
        state = self.found[self.expanded]
        for action, env in self.interpreter.enabled(state):
            self.covered.transitions += 1
            self.covered.fired[action.name] += 1
            args = tuple((var.name, env[var.name]) for var in action.params)
            self.visit(self.interpreter.step(state, action, env), (state, Step(action.name, action.by.name, args)))
        self.expanded += 1

    def visit(self, state: State, origin: tuple[State, Step] | None) -> None:
        if state in self.origins:
            return
        self.origins[state] = origin
        self.levels[state] = 0 if origin is None else self.levels[origin[0]] + 1
        self.found.append(state)
        self.covered.states += 1
        self.covered.depth = self.levels[state]
        self._look_at(state)

    def _look_at(self, state: State) -> None:
        covered = self.covered
        judge = self.interpreter
        for invariant in self.invariants:
            known = invariant.name in covered.violations
            if not known and judge.counterexample(invariant, state) is not None:
                covered.violations[invariant.name] = self._path(state)
        for goal in self.goals:
            known = goal.name in covered.goals
            if not known and judge.witness(goal.params, goal.body, state) is not None:
                covered.goals[goal.name] = self._path(state)
        for rule in self.rules:
            if not covered.fired[rule.name] and judge.premises_hold(rule, state):
                covered.fired[rule.name] = 1

    def _path(self, state: State) -> list[Step]:
        steps: list[Step] = []
        origin = self.origins[state]
        while origin is not None:
            steps.append(origin[1])
            origin = self.origins[origin[0]]
        return steps[::-1]
