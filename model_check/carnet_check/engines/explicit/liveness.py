"""Liveness in a finite instance: a fair run that waits for ever, or that there is none among all its states.

A run waits in vain for a response if it reaches the trigger and then no state with the response. So it stays, from some
state on, in one strongly connected part of the graph without the response, and goes round there for ever; or it stays
in one state. It is fair if each action that is to be taken fairly can change nothing in some state of that part, or is
taken inside it. A larger part leaves more room for either, so only largest ones (components) are looked at.

What an action that is taken fairly writes belongs to the packed state, so that a step changes the one if, and only if,
it changes the other. Decided in docs/adr/0029-liveness-of-an-instance-is-decided-by-fair-components.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from carnet_check.engines.explicit.bounds import Report, Watch
from carnet_check.engines.explicit.components import Marks
from carnet_check.engines.explicit.graph import GraphSearch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.rounds import Round, Step, Waiting
from carnet_check.engines.explicit.search import search, sightings_of
from carnet_check.engines.exploration import Exploration, trigger_of
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import (
    counted_whole,
    divided,
    divided_instance,
    guards_alone,
    is_limited,
    whole,
    with_rules_as_steps,
)
from carnet_check.semantics.lassos import going_round
from carnet_spec.language import Eventually, Goal, Instance, Protocol
from carnet_spec.trace import Trace, TraceStep

RESPONSE = "$response "
ALLOWED = "$allowed "
"""Begin the names of what is looked for beside triggers; no goal of a specification is called so."""


def lassos(
    protocol: Protocol,
    instance: Instance,
    liveness: Sequence[Eventually],
    *,
    max_states: int | None = None,
    max_memory: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    reduction: bool = True,
    progress: Report | None = None,
    threat: str = "",
) -> Exploration:
    """Visit every state, and look for a fair run that waits for ever, for each liveness property.

    Args:
        protocol: what is explored.
        instance: satisfies the axioms.
        liveness: the properties; the same rules have to be steps for all of them, and the same steps taken fairly of
            what more than one of them names.
        max_states: end the search soon after this many states.
        max_memory: end it before the process holds more bytes than this.
        max_seconds: end it soon after so many seconds.
        workers: how many sibling processes share them.
        reduction: leave out what provably cannot matter.
        progress: called about once a second with the states found and the depth reached.
        threat: the threat model to name in traces.

    Returns:
        What was covered; a lasso, with its deductions, for each property that fails; a way to the trigger of each that
        is reached; and which properties are undecided, because the instance cuts a run short.
    """
    parts = divided(with_rules_as_steps(protocol, liveness), liveness)
    judge = Interpreter(parts, divided_instance(instance, parts))
    watch = Watch(
        max_states=max_states, max_memory=max_memory, max_seconds=max_seconds, progress=progress, workers=workers
    )
    visited = _Visited(judge, liveness, watch, reduction)
    explored = search(parts, visited.run)
    visited.look()
    violations: dict[str, Trace] = {}
    undecided: dict[str, str] = {}
    for live in liveness:
        waiting = visited.waiting(live)
        found = waiting.round({visited.label(name): visited.closed(name) for name in live.fair})
        if found is not None:
            violations[live.name] = whole(visited.lasso(found, threat))
        elif waiting.round({visited.label(name): visited.idle(name) for name in live.fair}) is not None:
            undecided[live.name] = _cut_short(visited, live, waiting)
    triggers = {trigger_of(live).name for live in liveness}
    goals = {
        name: whole(replace(trace, steps=tuple(judge.expand(trace.steps)), threat=threat))
        for name, trace in explored.goals.items()
        if name in triggers
    }
    fired = counted_whole(explored.fired)
    return replace(explored, violations=violations, undecided=undecided, goals=goals, fired=fired)


def _cut_short(visited: _Visited, live: Eventually, waiting: Waiting) -> str:
    names = [name for name in live.fair if (visited.allowed(name) & waiting.reached).any()]
    return f"a run ends where {' or '.join(names)} lacks elements or budget, which a larger instance has"


class _Visited:
    """All states of an instance, and what holds in which of them."""

    def __init__(self, judge: Interpreter, liveness: Sequence[Eventually], watch: Watch, reduction: bool) -> None:
        self._judge = judge
        fair = tuple(dict.fromkeys(name for live in liveness for name in live.fair))
        goals = [goal for live in liveness for goal in (trigger_of(live), _response_of(live))]
        limited = (judge.protocol.action(name) for name in fair)
        goals += [
            Goal(f"{ALLOWED}{each.name}", (), guards_alone(each), "")
            for each in limited
            if is_limited(each, judge.instance)
        ]
        self._model = build(judge, (), goals, reduce=reduction, noticed=fair)
        self.run = GraphSearch(self._model, watch, fair)

    def look(self) -> None:
        """Take stock of what was visited."""
        self._graph = self.run.graph()
        self._marks = {monitor.name: self._seen(number) for number, monitor in enumerate(self._model.monitors)}
        begins = np.array([*self.run.levels, self._graph.states])
        self._levels = np.repeat(np.arange(len(begins) - 1), np.diff(begins))

    def _seen(self, number: int) -> Marks:
        memo, states = sightings_of(self._model, number), self.run.states
        answers = map(memo.__getitem__, map(memo.reads.__and__, states))
        return np.fromiter(map(bool, answers), np.bool_, len(states))

    def waiting(self, live: Eventually) -> Waiting:
        """Return where ``live`` waits; a state of which not every step is known may be left by an unknown one."""
        waits = ~self._marks[_response_of(live).name]
        waits[self._graph.expanded :] = False
        return Waiting(self._graph, waits & self._marks[trigger_of(live).name], waits, self._levels)

    def idle(self, action: str) -> Marks:
        """Return marks where an action can change nothing in the instance."""
        return ~self._graph.open_to(self.label(action))

    def allowed(self, action: str) -> Marks:
        """Return marks where its guards allow an action that can change nothing in the instance, which may be why."""
        name = f"{ALLOWED}{action}"
        return self.idle(action) & self._marks[name] if name in self._marks else self._graph.marks([])

    def closed(self, action: str) -> Marks:
        """Return marks where an action can change nothing, in no larger instance either."""
        return self.idle(action) & ~self.allowed(action)

    def label(self, action: str) -> int:
        """Return by which label the steps of an action are known."""
        return 1 + self.run.named.index(action)

    def lasso(self, found: Round, threat: str) -> Trace:
        """Write a round out, with its deductions."""
        stem = [*self.run.path(found.begin), *(self._step(step) for step in found.way)]
        protocol = self._judge.protocol
        empty = Trace(protocol.id, protocol.variant, protocol.without, threat, ())
        return going_round(self._judge, stem, [self._step(step) for step in found.repeated], empty)

    def _step(self, step: Step) -> TraceStep:
        source, target, label = step
        states = self.run.states
        action = self.run.named[label - 1] if label else ""
        return self.run.step_between(states[source], states[target], action)[0]


def _response_of(live: Eventually) -> Goal:
    return Goal(f"{RESPONSE}{live.name}", (), live.response, "")
