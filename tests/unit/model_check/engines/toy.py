"""An engine in one file: the interpreter, breadth first, in plain sets and dictionaries.

It is registered in tests alone, by one entry in the registry, and shows all that an engine has to bring.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from carnet_check.cache import AnswerCache
from carnet_check.engines.exploration import Caps, Coverage, Exploration, Search
from carnet_check.engines.exploring.explorer import Explorer
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.interface import Tool
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Goal, Instance, Invariant, Protocol
from carnet_spec.trace import Trace, TraceStep

REGISTRATION = ("toy", "tests.unit.model_check.engines.toy:TOY_ENGINE")
ORIGIN = TraceStep("", "")  #: Stands for the step to the first state, which nobody takes.


@dataclass(frozen=True)
class Toy(Explorer):
    """Visits every state with the interpreter alone."""

    name: ClassVar = "toy"
    purpose: ClassVar = "every state of tiny instances, slowly"
    by_default: ClassVar = False
    needs: ClassVar = (Tool("abacus", "counting states", "the package 'abacus'", programs=("abacus",)),)

    def search_all(
        self,
        searches: Sequence[Search],
        jobs: int,
        progress: Callable[[Sequence[tuple[Search, int, int]]], None],
        before: AnswerCache | None = None,
    ) -> Iterator[tuple[Search, Coverage]]:
        """Run the searches one after the other, in this process."""
        for asked in searches:
            progress([(asked, 1, 0)])
            yield asked, search(self, asked)

    def explore(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        caps: Caps = Caps(),  # noqa: B008 # it is immutable
        stop_at_first: bool = False,
        stop_when_fallen: bool = False,
        reduction: bool = True,
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Visit every state within the caps."""
        began = time.monotonic()
        walk = Walk(Interpreter(protocol, instance))
        stopped_by = None
        for state, _ in iter(walk.next, None):
            walk.look(state, invariants, goals)
            if walk.violated and (stop_at_first or (stop_when_fallen and len(walk.violated) == len(invariants))):
                stopped_by = "violation"
            elif caps.states is not None and len(walk.origins) >= caps.states:
                stopped_by = "states"
            if stopped_by:
                break
            walk.expand(state)
        return Exploration(
            states=len(walk.origins),
            transitions=sum(walk.fired.values()),
            depth=max(walk.depths.values()),
            stopped_by=stopped_by,
            seconds=time.monotonic() - began,
            violations={name: walk.trace(state, threat) for name, state in walk.violated.items()},
            goals={name: walk.trace(state, threat) for name, state in walk.reached.items()},
            fired=walk.fired,
        )


class Walk:
    """The states found so far, and how each was reached first."""

    def __init__(self, judge: Interpreter) -> None:
        self.judge = judge
        first = judge.initial()
        self.origins: dict[State, tuple[State, TraceStep]] = {first: (first, ORIGIN)}
        self.depths = {first: 0}
        self.queue = [first]
        self.fired = dict.fromkeys((action.name for action in judge.protocol.actions), 0)
        self.violated: dict[str, State] = {}
        self.reached: dict[str, State] = {}

    def next(self) -> tuple[State, int] | None:
        """Return the next state to expand and its depth; nothing when all are expanded."""
        if not self.queue:
            return None
        state = self.queue.pop(0)
        return state, self.depths[state]

    def look(self, state: State, invariants: Sequence[Invariant], goals: Sequence[Goal]) -> None:
        """Take note of what fails and what is reached here."""
        for each in invariants:
            if each.name not in self.violated and not self.judge.holds(each.formula, state):
                self.violated[each.name] = state
        for goal in goals:
            if goal.name not in self.reached and self.judge.witness(goal.params, goal.body, state) is not None:
                self.reached[goal.name] = state
        for rule in self.judge.protocol.actions:
            if rule.deduction and self.judge.premises_hold(rule, state):
                self.fired[rule.name] = 1

    def expand(self, state: State) -> None:
        """Take every step that is possible."""
        for action, env in self.judge.enabled_steps(state):
            self.fired[action.name] += 1
            after = self.judge.step(state, action, env)
            if after not in self.origins:
                args = tuple((var.name, env[var.name]) for var in action.params)
                self.origins[after] = (state, TraceStep(action.name, action.by.name, args))
                self.depths[after] = self.depths[state] + 1
                self.queue.append(after)

    def trace(self, state: State, threat: str) -> Trace:
        """Return the steps to a state, deductions included."""
        steps: list[TraceStep] = []
        while self.origins[state][1] is not ORIGIN:
            state, step = self.origins[state]
            steps.append(step)
        protocol = self.judge.protocol
        written = self.judge.expand(reversed(steps))
        return Trace(protocol.id, protocol.variant, protocol.without, threat, tuple(written))


TOY_ENGINE = Toy()
