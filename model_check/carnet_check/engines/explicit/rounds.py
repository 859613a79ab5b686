"""Rounds: where a run that waits can stay for ever, fairly, and the way there and round."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from carnet_check.engines.explicit.components import Marks, Numbers, components, gathered
from carnet_check.engines.explicit.graph import UNNAMED, Graph
from carnet_check.graphs import NOWHERE

Step = tuple[int, int, int]
"""A step of a graph: from which state to which, and its label."""
Idle = Mapping[int, Marks]
"""For each action that is taken fairly, by its label, the states in which it need not be taken."""


@dataclass(frozen=True, slots=True)
class Round:
    """A run that goes on for ever: it waits from state ``begin`` on, takes steps, and then some again and again.

    Where ``repeated`` is empty, it stays where ``way`` leads.
    """

    begin: int
    way: tuple[Step, ...]
    repeated: tuple[Step, ...]


class Waiting:
    """The states in which something is waited for, and how they are reached from where the waiting begins.

    Args:
        graph: every state that was visited.
        begins: the states in which waiting may begin.
        waits: the states in which it may go on; the first ones are among them.
        levels: how many steps away each state is from the first one.
    """

    def __init__(self, graph: Graph, begins: Marks, waits: Marks, levels: Numbers) -> None:
        self._graph = graph.within(waits)
        self._away = np.full(graph.states, NOWHERE, np.int64)
        """The number of steps from the first state, on the shortest way through the beginning of the waiting."""
        self._from = np.full(graph.states, NOWHERE, np.int64)
        self._reach(np.nonzero(begins)[0], levels)

    @property
    def reached(self) -> Marks:
        """Marks at the states in which something is waited for."""
        found: Marks = self._away != NOWHERE
        return found

    def round(self, idle: Idle) -> Round | None:
        """Return the nearest place to stay for ever that is fair to every action of ``idle``, if there is one."""
        stuck = np.logical_and.reduce([self.reached, *idle.values()])
        if stuck.any():
            return self._round(self._nearest(stuck), ())
        fair = self._fair(idle)
        if not fair.any():
            return None
        entry = self._nearest(fair)
        inside = self._graph.within(self._components == self._components[entry])
        return self._round(entry, tuple(_trip(_following(inside), entry, idle)))

    @cached_property
    def _components(self) -> Numbers:
        inside = self._graph.within(self.reached)
        return components(inside.sources, inside.targets, inside.states)

    def _fair(self, idle: Idle) -> Marks:
        """Return marks at the states of components that are fair to every action."""
        graph, number = self._graph, self._components
        fair = np.ones(number.max() + 1, np.bool_)
        inside = (number[graph.sources] == number[graph.targets]) & (number[graph.sources] != NOWHERE)
        for label, closed in idle.items():
            served = np.zeros(len(fair), np.bool_)
            served[number[closed & (number != NOWHERE)]] = True
            served[number[graph.sources[inside & (graph.labels == label)]]] = True
            fair &= served
        found: Marks = np.append(fair, False)[number]  # the last one is that of no component
        return found

    # -- ways --------------------------------------------------------------------------------------

    def _reach(self, begins: Numbers, levels: Numbers) -> None:
        """Go from where the waiting begins, nearest states first, for as long as it goes on."""
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


def _following(graph: Graph) -> Mapping[int, list[tuple[int, int]]]:
    """Return for each state of a component where it leads, and by which label."""
    found: dict[int, list[tuple[int, int]]] = {}
    for source, target, label in zip(
        graph.sources.tolist(), graph.targets.tolist(), graph.labels.tolist(), strict=True
    ):
        found.setdefault(source, []).append((target, label))
    return found


def _trip(following: Mapping[int, list[tuple[int, int]]], entry: int, idle: Idle) -> list[Step]:
    """Return a way round a component that is fair to every action, from ``entry`` and back."""
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
    """Whether a step is fair to an action: it is one of its steps, or leads to where it need not be taken."""
    return step[2] == label or bool(closed[step[1]])


def _way(following: Mapping[int, list[tuple[int, int]]], here: int, ends: Callable[[Step], bool]) -> list[Step]:
    """Return a shortest way inside a component whose last step is one at which it may end."""
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
