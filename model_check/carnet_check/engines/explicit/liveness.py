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
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

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
from carnet_spec.language.analysis.fair_parts import divided
from carnet_spec.trace import Trace, TraceStep

RESPONSE = "$response "
ALLOWED = "$allowed "
"""Prefixes of the names of monitors other than triggers; no goal of a specification has them."""


def lassos(
    protocol: Protocol,
    instance: Instance,
    liveness: Sequence[Eventually],
    *,
    caps: Caps = NO_CAPS,
    reduction: bool = True,
    watch: Report | None = None,
    threat: str = "",
) -> Exploration:
    """Visit every state, and look for a fair run that violates each liveness property.

    The arguments are those of :meth:`~carnet_check.engines.interface.DecidesLiveness.lassos`. The result has a lasso,
    with its deductions, for each violated property, a trace to each trigger that is reached, and the properties that
    are undecided because limits of the instance end a run.
    """
    stepwise = with_rules_as_steps(protocol, liveness)
    found: list[Exploration] = []
    for group in _together(stepwise, instance, liveness):
        if found and found[-1].stopped_by is not None:
            break
        parts = divided(stepwise, [each for _, each in group])
        judge = Interpreter(parts, divided_instance(instance, parts))
        visited = _Visited(judge, [each for _, each in group], Watch(_left(caps, found), watch), reduction)
        found.append(_decided(visited, group, threat))
    rules = frozenset(action.name for action in stepwise.actions if action.deduction)
    return _joined(found, rules)


Stated = tuple[str, Eventually]
"""The name of a property, and the property for given elements, with a unique name."""


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


def _left(caps: Caps, found: Sequence[Exploration]) -> Caps:
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
    visited.look()
    violations: dict[str, Trace] = {}
    undecided: dict[str, str] = {}
    goals: dict[str, Trace] = {}
    for name, live in group:
        if name not in violations:
            found, why = visited.judged(live)
            if found is not None:
                violations[name] = whole(visited.lasso(found, threat))
            elif why:
                undecided.setdefault(name, why)
        if (trace := explored.goals.get(trigger_of(live).name)) is not None:
            steps = tuple(visited.judge.expand(trace.steps))
            reached = trigger_of(replace(live, name=name)).name
            goals.setdefault(reached, whole(replace(trace, steps=steps, threat=threat)))
    fired = counted_whole(explored.fired)
    return replace(explored, violations=violations, undecided=undecided, goals=goals, fired=fired)


class _Visited:
    """All states of an instance, and the states in which monitored formulas hold."""

    def __init__(self, judge: Interpreter, liveness: Sequence[Eventually], watch: Watch, reduction: bool) -> None:
        self.judge = judge
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
        self._graph = self.run.graph()
        self._marks = {monitor.name: self._seen(number) for number, monitor in enumerate(self._model.monitors)}
        begins = np.array([*self.run.levels, self._graph.states])
        self._levels = np.repeat(np.arange(len(begins) - 1), np.diff(begins))

    def _seen(self, number: int) -> Marks:
        memo, states = sightings_of(self._model, number), self.run.states
        answers = map(memo.__getitem__, map(memo.reads.__and__, states))
        return np.fromiter(map(bool, answers), np.bool_, len(states))

    def waiting(self, live: Eventually) -> Waiting:
        """Return the states that wait for the response of ``live``; an unexpanded state may have unknown steps."""
        waits = ~self._marks[_response_of(live).name]
        waits[self._graph.expanded :] = False
        return Waiting(self._graph, waits & self._marks[trigger_of(live).name], waits, self._levels)

    def judged(self, live: Eventually) -> tuple[Round | None, str]:
        """Return a fair lasso that violates ``live``, or None and the reason why that is undecided, if it is."""
        waiting = self.waiting(live)
        strong = frozenset(map(self.label, live.strong))
        found = waiting.round({self.label(name): self.closed(name) for name in live.fair}, strong)
        if found or waiting.round({self.label(name): self.idle(name) for name in live.fair}, strong) is None:
            return found, ""
        names = [name for name in live.fair if (self.allowed(name) & waiting.reached).any()]
        return None, f"a run ends where {' or '.join(names)} lacks elements or budget, which a larger instance has"

    def idle(self, action: str) -> Marks:
        return ~self._graph.open_to(self.label(action))

    def allowed(self, action: str) -> Marks:
        """Return marks at states in which guards allow an action that is not open, perhaps due to instance limits."""
        name = f"{ALLOWED}{action}"
        return self.idle(action) & self._marks[name] if name in self._marks else self._graph.marks([])

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
        states = self.run.states
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

UNNAMED = 0
"""The label of the steps of all actions that are not named."""


class GraphSearch(PackedSearch):
    """A search that stores all steps, with a label for those of ``named`` actions."""

    def __init__(self, model: Model, watch: Watch, named: Sequence[str]) -> None:
        super().__init__(model, watch, enough=0, dominance=False)
        self.named = tuple(named)
        by_name = {step.action.name: memo for step, memo in zip(model.steps, self.expanders, strict=True)}
        self._labelled = [by_name.pop(name) for name in self.named]
        self.expanders = list(by_name.values())
        self.moving = list(self.expanders)
        self._places: dict[int, int] = {}
        self._sources, self._targets, self._labels = array("I"), array("I"), array("H")

    def graph(self) -> Graph:
        """Return the graph of all states, with the steps of the expanded ones."""
        sources, targets = (np.array(each, np.int64) for each in (self._sources, self._targets))
        whole = sources < self.expanded
        labels = np.array(self._labels, np.int64)[whole]
        return Graph(len(self.states), self.expanded, sources[whole], targets[whole], labels)

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


@dataclass(frozen=True)
class Graph:
    """The numbered states, and the steps between them; the first ``expanded`` states have all their steps.

    ``labels`` are 0, or the number of a named action, counted from 1.
    """

    states: int
    expanded: int
    sources: Numbers
    targets: Numbers
    labels: Numbers

    def marks(self, places: Numbers | Sequence[int]) -> Marks:
        """Return a Boolean array that is true at some states."""
        found = np.zeros(self.states, np.bool_)
        found[places] = True
        return found

    def open_to(self, label: int) -> Marks:
        """Return marks at the states in which a named action is open."""
        return self.marks(self.sources[self.labels == label])

    def within(self, allowed: Marks) -> Graph:
        """Return the graph with only the steps inside a set of states."""
        inside = allowed[self.sources] & allowed[self.targets]
        return Graph(self.states, self.expanded, self.sources[inside], self.targets[inside], self.labels[inside])

    def ordered(self) -> tuple[Numbers, Numbers]:
        """Return the steps in compressed-row form: the offset of each state's steps, and their targets."""
        return by_source(self.sources, self.targets, self.states)


# -- Components: the strongly connected components of a graph, on arrays of numbers ----------------
#
# A graph is given by the ends of its edges; nodes are numbers below ``size``. Nodes that are neither on a cycle nor
# between two cycles are removed first, by whole levels; Tarjan's algorithm, without recursion, divides the rest.
#
# Source: R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.

Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
NOWHERE = -1


def components(sources: Numbers, targets: Numbers, size: int) -> Numbers:
    """Return for each node the number of its component; -1 if the component has no other node.

    For the millions of states of an instance networkx takes several times as long, and a dictionary for each state; it
    is used for small graphs (``exports/promela.py``).
    """
    kept = _untied(sources, targets, size) & _untied(targets, sources, size)
    found = np.full(size, NOWHERE, np.int64)
    nodes = np.nonzero(kept)[0]
    numbers = np.full(size, NOWHERE, np.int64)
    numbers[nodes] = np.arange(len(nodes))
    inside = kept[sources] & kept[targets]
    begins, ends = by_source(numbers[sources[inside]], numbers[targets[inside]], len(nodes))
    found[nodes] = _tarjan(begins.tolist(), ends.tolist(), len(nodes))
    sizes = np.bincount(found[nodes], minlength=1)
    found[nodes[sizes[found[nodes]] < 2]] = NOWHERE
    return found


def by_source(sources: Numbers, targets: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Return the edges in compressed-row form: the offset of each node's edges, and their targets."""
    order = np.argsort(sources, kind="stable")
    begins = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=size), out=begins[1:])
    return begins, targets[order]


def gathered(begins: Numbers, nodes: Numbers) -> Numbers:
    """Return the indices of all edges of some nodes."""
    counts = begins[nodes + 1] - begins[nodes]
    starts = np.repeat(begins[nodes] - np.cumsum(counts) + counts, counts)
    return starts + np.arange(len(starts))


def _untied(sources: Numbers, targets: Numbers, size: int) -> Marks:
    """Return the nodes that are left after nodes without incoming edges were removed repeatedly."""
    begins, ends = by_source(sources, targets, size)
    waiting = np.bincount(targets, minlength=size)
    left = np.ones(size, np.bool_)
    free = np.nonzero(waiting == 0)[0]
    while len(free):
        left[free] = False
        reached = ends[gathered(begins, free)]
        np.subtract.at(waiting, reached, 1)
        free = np.unique(reached[waiting[reached] == 0])
    return left


def _tarjan(begins: list[int], ends: list[int], size: int) -> Numbers:
    found = [NOWHERE] * size
    index, low, following = [NOWHERE] * size, [0] * size, begins[:size]
    open_: list[int] = []
    count = made = 0
    for root in range(size):
        if index[root] != NOWHERE:
            continue
        path = [root]
        while path:
            node = path[-1]
            if index[node] == NOWHERE:
                index[node] = low[node] = count
                count += 1
                open_.append(node)
            place, last = following[node], begins[node + 1]
            while place < last:
                child = ends[place]
                if index[child] == NOWHERE:
                    break
                if found[child] == NOWHERE and low[child] < low[node]:
                    low[node] = low[child]
                place += 1
            following[node] = place
            if place < last:
                path.append(ends[place])
                continue
            path.pop()
            if low[node] == index[node]:
                while True:
                    member = open_.pop()
                    found[member] = made
                    if member == node:
                        break
                made += 1
    return np.array(found, np.int64)


# -- Rounds: where a waiting run can stay for ever fairly, and the paths there and around ----------

Step = tuple[int, int, int]
"""A step of a graph: its source, its target, and its label."""
Idle = Mapping[int, Marks]
"""For each fair action, by its label, the states in which it is not open."""


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
        self._graph = graph.within(waits)
        self._away = np.full(graph.states, NOWHERE, np.int64)
        """The number of steps from the first state, on the shortest way through the beginning of the waiting."""
        self._from = np.full(graph.states, NOWHERE, np.int64)
        self._reach(np.nonzero(begins)[0], levels)

    @property
    def reached(self) -> Marks:
        """Marks at the waiting states."""
        found: Marks = self._away != NOWHERE
        return found

    def round(self, idle: Idle, strong: frozenset[int] = frozenset()) -> Round | None:
        """Return the nearest lasso that is fair to every action of ``idle``, or None.

        It is strongly fair to the actions whose labels are in ``strong``.
        """
        stuck = np.logical_and.reduce([self.reached, *idle.values()])
        if stuck.any():
            return self._round(self._nearest(stuck), ())
        number = self._fair(idle, strong)
        if not (number != NOWHERE).any():
            return None
        entry = self._nearest(number != NOWHERE)
        inside = self._graph.within(number == number[entry])
        taken = strong.intersection(inside.labels.tolist())
        served = {label: self._graph.marks([]) if label in taken else closed for label, closed in idle.items()}
        return self._round(entry, tuple(_trip(_following(inside), entry, served)))

    @cached_property
    def _components(self) -> Numbers:
        inside = self._graph.within(self.reached)
        return components(inside.sources, inside.targets, inside.states)

    def _fair(self, idle: Idle, strong: frozenset[int]) -> Numbers:
        """Return for each state the number of its component if a run can stay there fairly, else -1."""
        number = self._components
        while True:
            stays, shunned = self._served(idle, strong, number)
            if not (stays & shunned).any():
                return np.where(stays, number, NOWHERE)
            inside = self._graph.within(stays & ~shunned)
            number = components(inside.sources, inside.targets, inside.states)

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

    # -- paths -------------------------------------------------------------------------------------

    def _reach(self, begins: Numbers, levels: Numbers) -> None:
        """Compute the waiting states and paths to them, breadth first from the states in which waiting begins."""
        starts, ends = self._graph.ordered()
        reached = np.zeros(0, np.int64)
        away = 0
        while len(reached) or len(begins):
            away = away if len(reached) else int(levels[begins[0]])
            self._away[reached] = away
            here = levels[begins] <= away
            fresh = begins[here & (self._away[begins] == NOWHERE)]
            begins = begins[~here]
            self._away[fresh], self._from[fresh] = away, fresh
            reached = np.concatenate([reached, fresh])
            origins = np.repeat(reached, starts[reached + 1] - starts[reached])
            targets = ends[gathered(starts, reached)]
            new = self._away[targets] == NOWHERE
            reached, first = np.unique(targets[new], return_index=True)
            self._from[reached] = origins[new][first]
            away += 1

    def _nearest(self, marks: Marks) -> int:
        places = np.nonzero(marks)[0]
        return int(places[np.argmin(self._away[places])])

    def _round(self, entry: int, repeated: tuple[Step, ...]) -> Round:
        way = [entry]
        while self._from[way[-1]] != way[-1]:
            way.append(int(self._from[way[-1]]))
        way.reverse()
        return Round(way[0], tuple((one, other, UNNAMED) for one, other in itertools.pairwise(way)), repeated)


def _of_component(marks: Marks, number: Numbers) -> Marks:
    """Return marks at the states of marked components."""
    found: Marks = np.append(marks, False)[number]  # the last entry is for the number -1, no component
    return found


def _following(graph: Graph) -> Mapping[int, list[tuple[int, int]]]:
    """Return for each state of a component its successors in the component, with labels."""
    found: dict[int, list[tuple[int, int]]] = {}
    for source, target, label in zip(
        graph.sources.tolist(), graph.targets.tolist(), graph.labels.tolist(), strict=True
    ):
        found.setdefault(source, []).append((target, label))
    return found


def _trip(following: Mapping[int, list[tuple[int, int]]], entry: int, idle: Idle) -> list[Step]:
    """Return a cycle in a component, from ``entry`` and back, that is fair to every action."""
    steps: list[Step] = []
    for label, closed in idle.items():
        here = steps[-1][1] if steps else entry
        visited = [entry, *(target for _, target, _ in steps)]
        if any(closed[place] for place in visited) or any(taken == label for _, _, taken in steps):
            continue
        steps += _way(following, here, partial(_serves, label, closed))
    here = steps[-1][1] if steps else entry
    return steps if here == entry else [*steps, *_way(following, here, lambda step: step[1] == entry)]


def _serves(label: int, closed: Marks, step: Step) -> bool:
    return step[2] == label or bool(closed[step[1]])


def _way(following: Mapping[int, list[tuple[int, int]]], here: int, ends: Callable[[Step], bool]) -> list[Step]:
    """Return a shortest path inside a component to a step for which ``ends`` holds."""
    came: dict[int, Step | None] = {here: None}
    waiting = deque([here])
    while waiting:
        place = waiting.popleft()
        for target, label in following[place]:
            step = (place, target, label)
            if ends(step):
                return [*_back(came, place), step]
            if target not in came:
                came[target] = step
                waiting.append(target)
    raise AssertionError("everything in a component leads everywhere in it")


def _back(came: Mapping[int, Step | None], place: int) -> list[Step]:
    steps: list[Step] = []
    while (step := came[place]) is not None:
        steps.append(step)
        place = step[0]
    return steps[::-1]
