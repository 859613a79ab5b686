"""All states of an instance with the steps between them, by compiled code once there are many states.

The search is that of the engine. When it is over, each state is followed once more, and each step is written down with
the number of the state that it leads to. Where fair runs can stay is decided as for the explicit engine, with
components by compiled code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from carnet_check.engines.explicit.liveness import NOWHERE, UNNAMED, Graph, GraphSearch, Marks, Numbers
from carnet_check.engines.explicit.search import sightings_of
from carnet_check.engines.native.machine import DONE, STRAY, Machine, Places
from carnet_check.engines.native.search import NativeSearch, states_after
from carnet_command.interrupts import require_uninterrupted


@dataclass(frozen=True)
class NativeGraph(Graph):
    """A graph that compiled code divides into components."""

    machine: Machine  #: what found the states.
    places: Places  #: where they are.
    strays: Sequence[int]  #: the numbers of those that compiled code left to Python.

    def _divided(self) -> Numbers:
        begins, targets = self.offsets.astype(np.uint64), self.targets.astype(np.uint32, copy=False)
        return self.machine.components(begins, targets).astype(np.int64)


class NativeGraphSearch(GraphSearch, NativeSearch):
    """A search that stores steps as long as Python finds them; those of compiled code are found in the end."""

    least_width: ClassVar = 2  # in a table of rows of one word states have no numbers

    @cached_property
    def graph(self) -> Graph:
        """The graph of all states; a state is known if each of its steps leads to a state that was found."""
        return super().graph if self._machine is None else self._graph_of(self._machine)

    def _graph_of(self, machine: Machine) -> NativeGraph:
        places, found = machine.places(), []
        labels = np.array([self._label(name) for name, _ in machine.steps], np.uint16)
        for some in machine.steps_of_all(places, labels):
            require_uninterrupted()
            found.append(some)
        counts, targets, taken, why = map(np.concatenate, zip(*found, strict=True))
        sources = np.repeat(np.arange(len(counts), dtype=np.uint32), counts.astype(np.int64))
        known, strays = why == DONE, np.flatnonzero(why == STRAY).tolist()
        where: dict[str, Any] = {"machine": machine, "places": places, "strays": strays}
        if not strays:
            return NativeGraph(known, sources, targets, taken, **where)
        more = np.array([step for number in strays for step in self._steps_here(number, machine, places)], np.int64)
        more = more.reshape(-1, 3)
        known[strays] = True
        known[more[more[:, 1] == NOWHERE, 0]] = False
        columns = (np.append(each, more[:, n]) for n, each in enumerate((sources, targets, taken)))
        return NativeGraph.of(known, *columns, **where)

    def holds(self, number: int) -> Marks:
        """Return marks at the states in which a monitor holds."""
        graph = self.graph
        if not isinstance(graph, NativeGraph):
            return super().holds(number)
        marks, memo = graph.machine.states_with(graph.places, number), sightings_of(self.model, number)
        marks[graph.strays] = [bool(memo.answer(self.found[place])) for place in graph.strays]
        return marks

    def _label(self, action: str) -> int:
        return 1 + self.named.index(action) if action in self.named else UNNAMED

    def _steps_here(self, number: int, machine: Machine, places: Places) -> Iterator[tuple[int, int, int]]:
        """Yield the steps of a state that compiled code leaves to Python; the target is -1 if it was not found."""
        state = self.found[number]
        for step, memo in zip(self.model.steps, self.expanders, strict=True):
            moves = memo.answer(state)
            for after in states_after(state, moves) if moves else ():
                if after != state:
                    place = machine.find(after)
                    target = NOWHERE if place is None else int(places.numbers[place[0]][place[1]])
                    yield number, target, self._label(step.action.name)

    # -- the search --------------------------------------------------------------------------------

    def _expand(self, begin: int, end: int) -> int:
        return (GraphSearch if self._machine is None else NativeSearch)._expand(self, begin, end)

    def _begin_by_code(self) -> None:
        super()._begin_by_code()
        self.forget()
