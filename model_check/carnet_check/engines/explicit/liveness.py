"""Deciding liveness in a finite instance: finding a fair run that violates it, or showing that there is none.

A run violates a property if it reaches the trigger and then no state with the response. From some state on, it stays in
one strongly connected subgraph without the response, and cycles there for ever, or it stutters in one state. It is
weakly fair if each fair action is not open in some state of that subgraph, or is taken inside it. A larger subgraph can
only be fairer, so only maximal ones (components) are considered.

A strongly fair action must not be open in any state of the subgraph, or be taken inside it. If it is open and never
taken in a component, the states in which it is open are removed, and the rest is divided into components again, until
no state is removed (E. A. Emerson and C.-L. Lei, "Modalities for model checking: branching time logic strikes back",
Science of Computer Programming 8(3), 1987).

All places that a fair action writes are part of the packed state, so a step changes the packed state exactly if it
changes the state. Decided in docs/adr/0029-liveness-of-an-instance-is-decided-by-fair-components.md.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from carnet_check.engines.explicit.bounds import Report, Watch
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.search import Moves, PackedSearch, search, sightings_of
from carnet_check.engines.exploration import NO_CAPS, Caps, Exploration, trigger_of
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import (
    agree,
    at_each,
    counted_whole,
    divided_instance,
    going_round,
    guards_alone,
    is_limited,
    whole,
    with_rules_as_steps,
)
from carnet_spec.language import Eventually, Goal, Instance, Protocol
from carnet_spec.language.analysis.fair_parts import divide_fair_steps
from carnet_spec.trace import Trace, TraceStep

RESPONSE = "$response "
ALLOWED = "$allowed "  #: Prefixes of the names of monitors other than triggers; no goal of a specification has them.


def lassos(
    protocol: Protocol,
    instance: Instance,
    liveness: Sequence[Eventually],
    *,
    caps: Caps = NO_CAPS,
    reduction: bool = True,
    watch: Report | None = None,
    threat: str = "",
    searches: Callable[..., GraphSearch] | None = None,
) -> Exploration:
    """Visit every state, and look for a fair run that violates each liveness property.

    The arguments are those of :meth:`~carnet_check.engines.interface.DecidesLiveness.lassos`, and
    ``searches`` makes a search that stores steps, by default one in Python. The result has a lasso,
    with its deductions, for each violated property, a trace to each trigger that is reached, and the properties that
    are undecided because limits of the instance end a run.
    """
    stepwise = with_rules_as_steps(protocol, liveness)
    found: list[Exploration] = []
    for group in _together(stepwise, instance, liveness):
        if found and found[-1].stopped_by is not None:
            break
        parts = divide_fair_steps(stepwise, [each for _, each in group])
        judge = Interpreter(parts, divided_instance(instance, parts))
        visited = _Visited(
            judge,
            [each for _, each in group],
            Watch(_remaining_caps(caps, found), watch),
            reduction,
            searches or GraphSearch,
        )
        found.append(_decided(visited, group, threat))
    rules = frozenset(action.name for action in stepwise.actions if action.deduction)
    return _joined(found, rules)


Stated = tuple[str, Eventually]  #: The name of a property, and the property for given elements, with a unique name.


def _together(protocol: Protocol, instance: Instance, liveness: Sequence[Eventually]) -> list[list[Stated]]:
    """Return the properties for given elements, in groups with the same fair steps, which can share a graph."""
    groups: list[list[Stated]] = []
    every = ((live.name, each) for live in liveness for _, each in at_each(live, instance))
    for number, (name, each) in enumerate(every):
        named = replace(each, name=f"{number} {name}")
        for group in groups:
            if all(agree(protocol, named, other) for _, other in group):
                group.append((name, named))
                break
        else:
            groups.append([(name, named)])
    return groups


def _remaining_caps(caps: Caps, found: Sequence[Exploration]) -> Caps:
    """Return the caps that earlier searches left."""
    states = None if caps.states is None else caps.states - sum(each.states for each in found)
    seconds = None if caps.seconds is None else caps.seconds - sum(each.seconds for each in found)
    return replace(caps, states=states, seconds=seconds)


def _joined(found: Sequence[Exploration], rules: Collection[str]) -> Exploration:
    """Return the union of results for one instance: all visited states, and the first lasso of each property."""
    last = found[-1]
    violations = {name: trace for each in reversed(found) for name, trace in each.violations.items()}
    undecided = {name: why for each in found for name, why in each.undecided.items() if name not in violations}
    return replace(
        found[0],
        states=sum(each.states for each in found),
        transitions=sum(each.transitions for each in found),
        depth=max(each.depth for each in found),
        stopped_by=last.stopped_by,
        seconds=sum(each.seconds for each in found),
        peak_memory_bytes=last.peak_memory_bytes,
        violations=violations,
        goals={name: trace for each in reversed(found) for name, trace in each.goals.items()},
        fired={name: (max if name in rules else sum)(each.fired[name] for each in found) for name in found[0].fired},
        undecided=undecided,
    )


def _decided(visited: _Visited, group: Sequence[Stated], threat: str) -> Exploration:
    """Visit every state of a divided protocol, and look for a lasso for each property of a group."""
    explored = search(visited.judge.protocol, visited.run)
    violations: dict[str, Trace] = {}
    undecided: dict[str, str] = {}
    try:
        for name, live in group if explored.stopped_by != "interrupt" else ():
            if name not in violations:
                found, why = visited.judged(live)
                if found is not None:
                    violations[name] = whole(visited.lasso(found, threat))
                elif why:
                    undecided.setdefault(name, why)
    except MemoryError:
        explored = replace(explored, stopped_by="memory")
    goals: dict[str, Trace] = {}
    for name, live in group:
        if (trace := explored.goals.get(trigger_of(live).name)) is not None:
            steps = tuple(visited.judge.expand(trace.steps))
            reached = trigger_of(replace(live, name=name)).name
            goals.setdefault(reached, whole(replace(trace, steps=steps, threat=threat)))
    fired = counted_whole(explored.fired)
    return replace(explored, violations=violations, undecided=undecided, goals=goals, fired=fired)


class _Visited:
    """All states of an instance, and the states in which monitored formulas hold."""

    def __init__(
        self,
        judge: Interpreter,
        liveness: Sequence[Eventually],
        watch: Watch,
        reduction: bool,
        searches: Callable[..., GraphSearch],
    ) -> None:
        self.judge = judge
        fair = tuple(dict.fromkeys(name for live in liveness for name in live.fair))
        goals = [goal for live in liveness for goal in (trigger_of(live), _response_of(live))]
        limited = (judge.protocol.action(name) for name in fair)
        goals += [
            Goal(f"{ALLOWED}{each.name}", (), guards_alone(each), "")
            for each in limited
            if is_limited(each, judge.instance)
        ]
        model = build(judge, (), goals, reduce=reduction, noticed=fair)
        self.run = searches(model, watch, fair)

    @cached_property
    def _marks(self) -> Mapping[str, Marks]:
        return {monitor.name: self.run.holds(number) for number, monitor in enumerate(self.run.model.monitors)}

    @cached_property
    def _levels(self) -> Numbers:
        begins = np.array([*self.run.levels, self.run.graph.states])
        return np.repeat(np.arange(len(begins) - 1), np.diff(begins))

    def waiting(self, live: Eventually) -> Waiting:
        """Return the states that wait for the response of ``live``; a state with unknown steps is none of them."""
        waits = ~self._marks[_response_of(live).name] & self.run.graph.known
        return Waiting(self.run.graph, waits & self._marks[trigger_of(live).name], waits, self._levels)

    def judged(self, live: Eventually) -> tuple[Round | None, str]:
        """Return a fair lasso that violates ``live``, or None and the reason why that is undecided, if it is."""
        waiting = self.waiting(live)
        strong = frozenset(map(self.label, live.strong))
        found = waiting.round({self.label(name): self.closed(name) for name in live.fair}, strong)
        if found or waiting.round({self.label(name): self.idle(name) for name in live.fair}, strong) is None:
            return found, ""
        names = [name for name in live.fair if (self.allowed(name) & waiting.waiting_states).any()]
        return None, f"a run ends where {' or '.join(names)} lacks elements or budget, which a larger instance has"

    def idle(self, action: str) -> Marks:
        return ~self.run.graph.open_to(self.label(action))

    def allowed(self, action: str) -> Marks:
        """Return marks at states in which guards allow an action that is not open, perhaps due to instance limits."""
        name = f"{ALLOWED}{action}"
        return self.idle(action) & self._marks[name] if name in self._marks else self.run.graph.marks([])

    def closed(self, action: str) -> Marks:
        """Return marks at states in which an action is not open, in larger instances, too."""
        return self.idle(action) & ~self.allowed(action)

    def label(self, action: str) -> int:
        return 1 + self.run.named.index(action)

    def lasso(self, found: Round, threat: str) -> Trace:
        stem = [*self.run.path(found.begin), *(self._step(step) for step in found.way)]
        protocol = self.judge.protocol
        empty = Trace(protocol.id, protocol.variant, protocol.without, threat, ())
        return going_round(self.judge, stem, [self._step(step) for step in found.repeated], empty)

    def _step(self, step: Step) -> TraceStep:
        source, target, label = step
        states = self.run.found
        action = self.run.named[label - 1] if label else ""
        return self.run.step_between(states[source], states[target], (action,) if action else self.run.fired)[0]


def _response_of(live: Eventually) -> Goal:
    return Goal(f"{RESPONSE}{live.name}", (), live.response, "")


# --------------------------------------------------------------------------------------------------
# The state graph of an instance: every step that changes the state, with a label if its action is named.
#
# The search is the explicit one, without dominance. A state that was reached at less cost has all steps of the same
# state reached at more cost, so it may represent that one for reachability. But a run that goes on for ever needs the
# steps of its own states.

UNNAMED = 0  #: The label of the steps of all actions that are not named.


class GraphSearch(PackedSearch):
    """A search that stores all steps, with a label for those of ``named`` actions."""

    def __init__(self, model: Model, watch: Watch, named: Sequence[str], **options: Any) -> None:
        super().__init__(model, watch, enough=0, dominance=False, **options)
        self.named = tuple(named)
        by_name = {step.action.name: memo for step, memo in zip(model.steps, self.expanders, strict=True)}
        self._labelled = [by_name.pop(name) for name in self.named]
        self.joinable = list(by_name.values())
        self.moving = list(self.joinable)
        self.forget()

    def forget(self) -> None:
        """Drop all steps."""
        self._places: dict[int, int] = {}
        self._sources, self._targets, self._labels = array("I"), array("I"), array("H")

    @cached_property
    def graph(self) -> Graph:
        """The graph of all states; the expanded ones have all their steps."""
        known = np.arange(len(self.states)) < self.expanded
        columns = (np.array(each) for each in (self._sources, self._targets, self._labels))
        return Graph.of(known, *columns)

    def holds(self, number: int) -> Marks:
        """Return marks at the states in which a monitor holds."""
        memo = sightings_of(self.model, number)
        answers = map(memo.__getitem__, map(memo.reads.__and__, self.states))
        return np.fromiter(map(bool, answers), np.bool_, len(self.states))

    def _expand(self, begin: int, end: int) -> int:
        if not self._places:
            self._places[self.states[0]] = 0
        for memo in self.moving:
            self._follow(memo, UNNAMED, begin, end)
        for label, memo in enumerate(self._labelled, UNNAMED + 1):
            self._follow(memo, label, begin, end)
        return end

    def _follow(self, memo: Memo[Moves | None], label: int, begin: int, end: int) -> None:
        states, places, parents = self.states, self._places, self.parents
        add_source, add_target, add_label = self._sources.append, self._targets.append, self._labels.append
        chunk = states[begin:end]
        answers = map(memo.__getitem__, map(memo.reads.__and__, chunk))
        for source, s, moves in zip(range(begin, end), chunk, answers, strict=True):
            if moves is None:
                continue
            moves.visits += 1
            for touched, cleared, deductions in moves.effects:
                t = (s | touched) ^ cleared
                if deductions is not None:
                    more = deductions[t & deductions.reads]
                    if more is not None:
                        t = (t | more[0]) ^ more[1]
                if t == s:
                    continue
                target = places.setdefault(t, len(states))
                if target == len(states):
                    states.append(t)
                    parents.append(source)
                add_source(source)
                add_target(target)
                add_label(label)

    def _tally_all(self) -> None:
        super()._tally_all()
        for memo in self._labelled:
            self._tally(memo)


Numbers = npt.NDArray[np.signedinteger[Any]] | npt.NDArray[np.unsignedinteger[Any]]
Marks = npt.NDArray[np.bool_]
NOWHERE = -1


@dataclass(frozen=True)
class Graph:
    """The numbered states, and the steps between them, in the order of their sources."""

    known: Marks  #: marks at the states of which all steps are there.
    sources: Numbers  #: for each step the number of the state before it.
    targets: Numbers  #: for each step the number of the state after it, which is another.
    labels: Numbers  #: for each step 0, or the number of a named action, counted from 1.

    @classmethod
    def of(cls, known: Marks, sources: Numbers, targets: Numbers, labels: Numbers, **more: Any) -> Self:
        """Return the graph of steps in any order, without those of states that are not known."""
        order = np.argsort(sources, kind="stable")
        order = order[known[sources[order]]]
        return cls(known, sources[order], targets[order], labels[order], **more)

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.known)

    @cached_property
    def offsets(self) -> Numbers:
        """The number of the first step of each state, and at the end the number of all steps."""
        return np.append(0, np.cumsum(np.bincount(self.sources, minlength=self.states)))

    def marks(self, places: Numbers | Sequence[int]) -> Marks:
        """Return a Boolean array that is true at some states."""
        found = np.zeros(self.states, np.bool_)
        found[places] = True
        return found

    def open_to(self, label: int) -> Marks:
        """Return marks at the states in which a named action is open."""
        return self.marks(self.sources[self.labels == label])

    def within(self, allowed: Marks) -> Self:
        """Return the graph with only the steps inside a set of states."""
        inside = allowed[self.sources] & allowed[self.targets]
        sources, targets, labels = (each[inside] for each in (self.sources, self.targets, self.labels))
        return replace(self, sources=sources, targets=targets, labels=labels)

    def steps_from(self, states: Numbers) -> Numbers:
        """Return the numbers of all steps from some states, in the order of these."""
        counts = self.offsets[states + 1] - self.offsets[states]
        firsts = np.repeat(self.offsets[states] - np.cumsum(counts) + counts, counts)
        return firsts + np.arange(len(firsts))

    def components(self) -> Numbers:
        """Return for each state the number of its strongly connected component; -1 if that has no other state."""
        numbers = self._divided()
        sizes = np.bincount(numbers + 1)
        return np.where(sizes[numbers + 1] < 2, NOWHERE, numbers)

    def _divided(self) -> Numbers:
        """Return for each state the number of its component, which is that of one of its states.

        Source: H. N. Gabow, "Path-based depth-first search for strong and biconnected components", Inf. Process. Lett.
        74(3-4), 2000. Networkx takes several times as long, and a dictionary for each state.
        """
        begins, ends, size = self.offsets.tolist(), self.targets.tolist(), self.states
        found, order = [NOWHERE] * size, [NOWHERE] * size
        counts = itertools.count()
        path: list[tuple[int, Iterator[int]]] = []
        undivided: list[int] = []
        bounds: list[int] = []  # of the parts of the path that are not known to be in one component

        def enter(state: int) -> None:
            order[state] = next(counts)
            path.append((state, iter(ends[begins[state] : begins[state + 1]])))
            undivided.append(state)
            bounds.append(state)

        for root in range(size):
            if order[root] == NOWHERE:
                enter(root)
            while path:
                state, targets = path[-1]
                for target in targets:
                    if order[target] == NOWHERE:
                        enter(target)
                        break
                    while found[target] == NOWHERE and order[bounds[-1]] > order[target]:
                        bounds.pop()
                else:
                    path.pop()
                    if bounds[-1] == state:
                        bounds.pop()
                        while found[state] == NOWHERE:
                            found[undivided.pop()] = state
        return np.array(found, np.int64)


# -- Rounds: where a waiting run can stay for ever fairly, and the paths there and around ----------

Step = tuple[int, int, int]  #: A step of a graph: its source, its target, and its label.
Idle = Mapping[int, Marks]  #: For each fair action, by its label, the states in which it is not open.


@dataclass(frozen=True, slots=True)
class Round:
    """A lasso that waits from state ``begin`` on: it takes the steps ``way``, and then ``repeated`` for ever.

    If ``repeated`` is empty, it stutters in the state after ``way``.
    """

    begin: int
    way: tuple[Step, ...]
    repeated: tuple[Step, ...]


class Waiting:
    """The states that wait for a response, and how they are reached from the states in which the waiting begins.

    Args:
        graph: all visited states.
        begins: the states in which waiting may begin.
        waits: the states in which waiting may continue, including ``begins``.
        levels: the distance of each state from the first one, in steps.
    """

    def __init__(self, graph: Graph, begins: Marks, waits: Marks, levels: Numbers) -> None:
        waiting = graph.within(waits)
        self._paths = Paths(waiting, np.nonzero(begins)[0], levels)
        self._graph = waiting.within(self.waiting_states)

    @property
    def waiting_states(self) -> Marks:
        """Marks at the waiting states."""
        return self._paths.reachable_states

    def round(self, idle: Idle, strong: frozenset[int] = frozenset()) -> Round | None:
        """Return the nearest lasso that is fair to every action of ``idle``, or None.

        It is strongly fair to the actions whose labels are in ``strong``.
        """
        stuck = np.logical_and.reduce([self.waiting_states, *idle.values()])
        if stuck.any():
            return self._round(self._paths.nearest(stuck), ())
        number = self._fair(idle, strong)
        if not (number != NOWHERE).any():
            return None
        entry = self._paths.nearest(number != NOWHERE)
        inside = self._graph.within(number == number[entry])
        taken = strong.intersection(inside.labels.tolist())
        served = {label: self._graph.marks([]) if label in taken else closed for label, closed in idle.items()}
        return self._round(entry, tuple(_trip(inside, entry, served)))

    @cached_property
    def _components(self) -> Numbers:
        return self._graph.components()

    def _fair(self, idle: Idle, strong: frozenset[int]) -> Numbers:
        """Return for each state the number of its component if a run can stay there fairly, else -1."""
        number = self._components
        while True:
            stays, shunned = self._served(idle, strong, number)
            if not (stays & shunned).any():
                return np.where(stays, number, NOWHERE)
            number = self._graph.within(stays & ~shunned).components()

    def _served(self, idle: Idle, strong: frozenset[int], number: Numbers) -> tuple[Marks, Marks]:
        """Return the states of weakly fair components, and those to remove as they prevent strong fairness."""
        graph = self._graph
        fair, shunned = np.ones(number.max() + 1, np.bool_), graph.marks([])
        inside = (number[graph.sources] == number[graph.targets]) & (number[graph.sources] != NOWHERE)
        for label, closed in idle.items():
            served = np.zeros(len(fair), np.bool_)
            served[number[graph.sources[inside & (graph.labels == label)]]] = True
            if label in strong:
                shunned |= ~closed & ~_of_component(served, number)
            else:
                served[number[closed & (number != NOWHERE)]] = True
                fair &= served
        return _of_component(fair, number), shunned

    def _round(self, entry: int, repeated: tuple[Step, ...]) -> Round:
        way = self._paths.steps_to(entry)
        unnamed = tuple((source, target, UNNAMED) for source, target, _ in way)
        return Round(way[0][0] if way else entry, unnamed, repeated)


def _of_component(marks: Marks, number: Numbers) -> Marks:
    """Return marks at the states of marked components."""
    found: Marks = np.append(marks, False)[number]  # the last entry is for the number -1, no component
    return found


def _trip(inside: Graph, entry: int, idle: Idle) -> list[Step]:
    """Return a cycle in a component, from ``entry`` and back, that is fair to every action."""
    steps: list[Step] = []
    for label, closed in idle.items():
        visited = [entry, *(target for _, target, _ in steps)]
        if not closed[visited].any() and all(taken != label for _, _, taken in steps):
            steps += _way(inside, visited[-1], closed, label)
    here = steps[-1][1] if steps else entry
    return steps if here == entry else [*steps, *Paths.between(inside, here).steps_to(entry)]


def _way(inside: Graph, here: int, closed: Marks, label: int) -> list[Step]:
    """Return a shortest path in a component to a state that is ``closed`` to an action, or by a step of the action."""
    paths = Paths.between(inside, here)
    taken = np.nonzero(inside.labels == label)[0]
    after = paths.away[inside.sources[taken]] + 1
    if len(taken) and not (closed & (paths.away < after.min()) & paths.reachable_states).any():
        return paths.by(int(taken[np.argmin(after)]))
    return paths.steps_to(paths.nearest(closed & paths.reachable_states))


class Paths:
    """Shortest paths, in the steps of a graph, from states that begin at some distance each."""

    def __init__(self, graph: Graph, begins: Numbers, levels: Numbers) -> None:
        self._graph = graph
        #: for each state its distance: that of the beginning, and the steps after it; -1 if no path leads there.
        self.away = np.full(graph.states, NOWHERE, np.int64)
        self._last = np.full(graph.states, NOWHERE, np.int64)  # the number of the step that leads there
        reached, away = np.zeros(0, np.int64), 0
        while len(reached) or len(begins):
            away = away if len(reached) else int(levels[begins[0]])
            self.away[reached] = away
            here = levels[begins] <= away
            fresh = begins[here & (self.away[begins] == NOWHERE)]
            begins = begins[~here]
            self.away[fresh] = away
            steps = graph.steps_from(np.concatenate([reached, fresh]))
            steps = steps[self.away[graph.targets[steps]] == NOWHERE]
            reached, first = np.unique(graph.targets[steps], return_index=True)
            self._last[reached] = steps[first]
            away += 1

    @staticmethod
    def between(component: Graph, begin: int) -> Paths:
        """Return the paths from one state of a component."""
        return Paths(component, np.array([begin]), np.zeros(component.states, np.int64))

    @property
    def reachable_states(self) -> Marks:
        """Marks at the states to which a path leads."""
        found: Marks = self.away != NOWHERE
        return found

    def nearest(self, marks: Marks) -> int:
        """Return the nearest of some states that are reached."""
        places = np.nonzero(marks)[0]
        return int(places[np.argmin(self.away[places])])

    def steps_to(self, place: int) -> list[Step]:
        """Return the steps of a shortest path to a state."""
        last = int(self._last[place])
        return [] if last == NOWHERE else self.by(last)

    def by(self, last: int) -> list[Step]:
        """Return the steps of a path that ends with a step, given by its number."""
        graph, steps = self._graph, list[Step]()
        while last != NOWHERE:
            source = int(graph.sources[last])
            steps.append((source, int(graph.targets[last]), int(graph.labels[last])))
            last = int(self._last[source])
        return steps[::-1]
