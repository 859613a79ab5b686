"""The states of an instance as a graph: every step that changes something, told apart where its action is named.

The search is the explicit one, without dominance. A state that was reached at less cost has every step that one reached
at more cost has, so it stands for it where reachability is asked; but the steps of a run that goes on for ever are
those of its own states.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.components import Marks, Numbers, by_source
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.search import Moves, PackedSearch

UNNAMED = 0
"""Labels the steps of all actions that are not named."""


class GraphSearch(PackedSearch):
    """A search that keeps the steps that it finds, with a label for those of ``named`` actions."""

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
        """Return the states and the steps from those that were expanded."""
        sources, targets = (np.array(each, np.int64) for each in (self._sources, self._targets))
        whole = sources < self.expanded
        labels = np.array(self._labels, np.int64)[whole]
        return Graph(len(self.states), self.expanded, sources[whole], targets[whole], labels)

    def _expand(self, begin: int, end: int) -> None:
        if not self._places:
            self._places[self.states[0]] = 0
        for memo in self.moving:
            self._follow(memo, UNNAMED, begin, end)
        for label, memo in enumerate(self._labelled, UNNAMED + 1):
            self._follow(memo, label, begin, end)

    def _follow(self, memo: Memo[Moves | None], label: int, begin: int, end: int) -> None:
        """Take the steps that a memo knows from some states."""
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
    """States by their numbers, and the steps between them; the first ``expanded`` states have all of theirs.

    ``labels`` are 0, or the number of a named action, counted from 1.
    """

    states: int
    expanded: int
    sources: Numbers
    targets: Numbers
    labels: Numbers

    def marks(self, places: Numbers | Sequence[int]) -> Marks:
        """Return marks at some states."""
        found = np.zeros(self.states, np.bool_)
        found[places] = True
        return found

    def open_to(self, label: int) -> Marks:
        """Return marks at the states in which a named action has a step that changes something."""
        return self.marks(self.sources[self.labels == label])

    def within(self, allowed: Marks) -> Graph:
        """Return the graph with the steps alone that stay within some states."""
        inside = allowed[self.sources] & allowed[self.targets]
        return Graph(self.states, self.expanded, self.sources[inside], self.targets[inside], self.labels[inside])

    def ordered(self) -> tuple[Numbers, Numbers]:
        """Return where the steps of each state begin, and where they lead."""
        return by_source(self.sources, self.targets, self.states)
