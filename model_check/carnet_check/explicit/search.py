"""Breadth-first search over packed states.

What an action does in a state depends on the few bits it reads. So the search asks the generated functions once for
each value of these bits and remembers the answer: the moves are then two masks and, where a move makes deductions
possible, one more look-up. States are expanded in chunks, one group of actions after another, level by level: the
first way found to a state is a shortest one. Every state keeps the number of the one it was found from, four or eight
bytes, and paths are worked out backwards from that.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from carnet_check.explicit.exploration import Covered, Watch
from carnet_check.explicit.model import CompiledAction, Model, Monitor
from carnet_spec.trace import Step

CHUNK = 4096
REMEMBERED = 200_000
"""How many answers a group keeps before it forgets them all."""

Lookup = Callable[[int], int]
Effect = tuple[int, int, int, Lookup | None]
"""Bits to keep, bits to set, bits that deductions then read (0: none), and their conclusions."""


@dataclass(slots=True)
class Answer:
    """What a group of actions does in all states that agree on the bits it reads."""

    effects: tuple[Effect, ...]
    """Only those that may change something."""
    actions: tuple[str, ...]
    """The action of every transition."""
    visits: int = 0


class Group(dict[int, "Answer | None"]):
    """Some actions, and what they do for each value of the bits they read."""

    def __init__(self, model: Model, actions: Sequence[CompiledAction]) -> None:
        super().__init__()
        self._model = model
        self._actions = actions
        self._everything = model.layout.spent_unit - 1
        self.reads = 0
        for action in actions:
            self.reads |= action.reads
        if model.budget is not None and any(action.action.cost for action in actions):
            self.reads |= _spent_mask(model)

    def __missing__(self, bits: int) -> Answer | None:
        if len(self) >= REMEMBERED:
            self.clear()  # XXX counts
        effects = []
        actions = []
        for action in self._actions:
            for keep, put, _ in moves_of(self._model, action, bits):
                actions.append(action.action.name)
                if (~keep | put) & ~self.reads == 0 and bits & keep | put == bits:
                    continue
                effects.append(self._effect(keep, put))
        self[bits] = Answer(tuple(effects), tuple(actions)) if actions else None
        return self[bits]

    def _effect(self, keep: int, put: int) -> Effect:
        after = self._model.saturation.after(put & self._everything, self._everything & ~(keep | put))
        if after is None:
            return (keep | put, put, 0, None)
        return (keep | put, put, after.reads, after.__getitem__)


def moves_of(model: Model, action: CompiledAction, s: int) -> Iterator[tuple[int, int, int]]:
    """Yield the moves of an action, what they cost included."""
    spent = _spent_mask(model)
    cost = 0 if model.budget is None else action.action.cost
    if not cost:
        for keep, put, number in action.moves(s):
            yield keep | spent, put, number
        return
    total = s // model.layout.spent_unit + cost
    if model.budget is not None and total <= model.budget:
        for keep, put, number in action.moves(s):
            yield keep, put | total * model.layout.spent_unit, number


def _spent_mask(model: Model) -> int:
    return 0 if model.budget is None else ((1 << model.budget.bit_length()) - 1) * model.layout.spent_unit


class Lookout(dict[int, tuple[Monitor, ...]]):
    """Some monitors, and which of them hold for each value of the bits they read."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        super().__init__()
        self.monitors = list(monitors)
        self.reads = 0
        for monitor in monitors:
            self.reads |= monitor.reads

    def __missing__(self, bits: int) -> tuple[Monitor, ...]:
        if len(self) >= REMEMBERED:
            self.clear()
        self[bits] = tuple(monitor for monitor in self.monitors if monitor.holds(bits))
        return self[bits]


class Search:
    """One search, from the first state on."""

    def __init__(self, model: Model, watch: Watch, *, stop_at_first: bool, dominance: bool) -> None:
        self.model = model
        self.watch = watch
        self.stop_at_first = stop_at_first
        self.found: list[int] = []
        self.parents = array("L")
        self.seen: set[int] = set()
        self.groups = [Group(model, [action]) for action in model.actions]
        self.lookouts = [Lookout([monitor]) for monitor in model.monitors]
        self.sightings: dict[Monitor, int] = {}
        self.depth = 0
        self.transitions = 0
        self.fired = {action.action.name: 0 for action in model.actions}
        self.expanded = 0
        self.looked = 0
        self.unit = model.layout.spent_unit if dominance else _spent_mask(model) + model.layout.spent_unit * 2

    def run(self) -> str | None:
        """Search; return what stopped the search before everything was found."""
        try:
            return self._run()
        except KeyboardInterrupt:
            return "interrupt"

    def _run(self) -> str | None:
        self.found.append(self.model.start)
        self.parents.append(0)
        self.seen.add(self.model.start)
        self._look()
        level_ends = 1
        while self.expanded < len(self.found):
            if self.stop_at_first and any(not monitor.is_goal for monitor in self.sightings):
                return "violation"
            reason = self.watch.exceeded(len(self.found), about_to_need=0)
            if reason is not None:
                return reason
            self.watch.report(len(self.found), len(self.found) - self.expanded, self.depth)
            end = min(level_ends, self.expanded + CHUNK)
            self._expand(self.expanded, end)
            self.expanded = end
            self._look()
            if end == level_ends and len(self.found) > level_ends:
                self.depth += 1
                level_ends = len(self.found)
        return None

    def _expand(self, begin: int, end: int) -> None:
        chunk = self.found[begin:end]
        seen = self.seen
        add = seen.add
        append = self.found.append
        come_from = self.parents.append
        unit = self.unit
        for group in self.groups:
            answers = map(group.__getitem__, map(group.reads.__and__, chunk))
            for origin, s, answer in zip(itertools.count(begin), chunk, answers):
                if answer is None:
                    continue
                answer.visits += 1
                for keep, put, reads, conclude in answer.effects:
                    t = s & keep | put
                    if conclude is not None:
                        t |= conclude(t & reads)
                    if t not in seen:
                        if t >= unit and self._dominated(t):
                            continue
                        add(t)
                        append(t)
                        come_from(origin)

    def _dominated(self, t: int) -> bool:
        """Whether the same state was reached at less cost, and no later: whatever follows from here does from there."""
        while t >= self.unit:
            t -= self.unit
            if t in self.seen:
                return True
        return False

    def _look(self) -> None:
        """Look at the states found since the last look."""
        fresh = self.found[self.looked :]
        for lookout in self.lookouts:
            if any(map(lookout.__getitem__, map(lookout.reads.__and__, fresh))):
                self._note(lookout, fresh)
        self.lookouts = [lookout for lookout in self.lookouts if lookout.monitors]
        self.looked = len(self.found)

    def _note(self, lookout: Lookout, fresh: Sequence[int]) -> None:
        for position, s in enumerate(fresh, self.looked):
            for monitor in lookout[s & lookout.reads]:
                self.sightings.setdefault(monitor, position)
        lookout.monitors = [monitor for monitor in lookout.monitors if monitor not in self.sightings]
        lookout.clear()

    def count(self) -> None:
        """Add up how often each action fired."""
        for group in self.groups:
            for answer in group.values():
                if answer is not None:
                    for name in answer.actions:
                        self.fired[name] += answer.visits

    def path(self, position: int) -> list[Step]:
        """Return the steps to a state found."""
        places = [position]
        while places[-1]:
            places.append(self.parents[places[-1]])
        states = [self.found[place] for place in reversed(places)]
        return [self._step(before, after) for before, after in itertools.pairwise(states)]

    def _step(self, before: int, after: int) -> Step:
        everything = self.model.layout.spent_unit - 1
        for action in self.model.actions:
            for keep, put, number in moves_of(self.model, action, before):
                t = before & keep | put
                closure = self.model.saturation.after(put & everything, everything & ~(keep | put))
                if closure is not None:
                    t |= closure[t & closure.reads]
                if t == after:
                    return Step(action.action.name, action.action.by.name, action.steps[number].args)
        raise AssertionError("a state was reached by no step")


def search(model: Model, watch: Watch, *, stop_at_first: bool, dominance: bool, want_trace: bool) -> Covered:
    """Reach every state within the bounds."""
    run = Search(model, watch, stop_at_first=stop_at_first, dominance=dominance)
    stopped_by = run.run()
    run.count()
    covered = Covered(len(run.found), sum(run.fired.values()), run.depth, stopped_by, reduction=model.reduction)
    covered.fired = {**run.fired, **dict.fromkeys(model.saturation.fired, 1)}
    for monitor, position in run.sightings.items():
        paths = covered.goals if monitor.is_goal else covered.violations
        paths[monitor.name] = run.path(position) if want_trace else []
    return covered
