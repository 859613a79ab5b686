"""Random walks over packed states, one after the other; no state is kept.

A seed and the number of a walk decide every step of it. The engine makes no difference, and neither do the walks before
it. So a walk is told by taking it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from carnet_check.engines.explicit.bounds import Watch, peak_bytes
from carnet_check.engines.explicit.chance import chance_of
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import CompiledStep, Model
from carnet_check.engines.explicit.offers import Chosen, in_parts, offers_of
from carnet_check.engines.explicit.search import Sighting, sightings_of
from carnet_check.engines.exploration import ActionSeen, Exploration, Walked, Walks
from carnet_check.slicing import Slicer
from carnet_spec.language import Protocol, Row
from carnet_spec.trace import Trace, TraceStep

MOST_ANSWERS = 400_000
"""How many answers are remembered before all of them are forgotten, so that memory does not grow with the walks."""
CHUNK = 2_000
"""How many steps are taken before bounds are looked at."""


class PackedWalks:
    """Walks from the first state on.

    Attributes:
        number: which walk is being taken, from 0 on.
        taken: how many steps of it were taken.
        steps: how many steps all walks took.
        longest: how many the longest one took.
        stuck: how many walks ended because no step would have changed the state.
        sightings: for each monitor that was seen to hold, the walk and how many steps of it led there.
    """

    def __init__(self, model: Model, watch: Watch, walks: Walks) -> None:
        self.model = model
        self.watch = watch
        self.walks = walks
        self.number = self.taken = self.steps = self.longest = self.stuck = 0
        self.offers, sample = offers_of(model)
        self.fired = [0] * len(self.offers.steps)
        self._lookouts = {number: _lookouts(model, number, sample) for number in range(len(model.monitors))}
        self.looking = [memo for memos in self._lookouts.values() for memo in memos]
        self.sightings: dict[int, tuple[int, int]] = {}
        self.start = model.saturation.start()
        self.state = self.start
        self.chance = chance_of(walks.seed, 0)

    def run(self) -> str | None:
        """Take the walks; return what stopped them before the last one ended."""
        try:
            while self.number < self.walks.number:
                reason = self.watch.exceeded(0)
                if reason is not None:
                    return reason
                self.watch.report(self.steps + self.number, self.longest)
                if sum(map(len, self._remembered())) > MOST_ANSWERS:
                    self._forget()
                self._go_on()
        except KeyboardInterrupt:
            return "interrupt"
        except MemoryError:
            return "memory"
        return None

    def seen(self) -> dict[str, ActionSeen]:
        """Return how each action was seen, in the protocol's order, its parts together."""
        seen = {step.action.name: ActionSeen() for step in self.model.steps}
        for step, guards, taken in zip(self.offers.steps, self.offers.guards, self.fired, strict=True):
            seen[step.action.name] = guards.seen(taken).joined(seen[step.action.name])
        return seen

    def path(self, monitor: int) -> list[TraceStep]:
        """Return steps that lead to where a monitor holds: those of the walk on which it was seen that are needed."""
        steps = self._walked(*self.sightings[monitor])
        slicer = Slicer(self.start, self.offers.taken, self.model.monitors[monitor].holds)
        assert slicer.serves(steps), "a walk that is taken again ends elsewhere"
        return [_told(self.offers.steps[number], chosen) for number, chosen in slicer.without_superfluous(steps, 1)]

    def _walked(self, number: int, taken: int) -> list[Chosen]:
        """Take a walk again, so many steps of it."""
        s, chance = self.start, chance_of(self.walks.seed, number)
        steps: list[Chosen] = []
        for _ in range(taken):
            found = self.offers.drawn(s, chance)
            assert found is not None, "a walk that is taken again ends earlier"
            offered, way, after = found
            steps.append(self.offers.chosen(s, offered, way))
            s = after
        return steps

    # -- walking -----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Take some steps."""
        for _ in range(CHUNK):
            self._look()
            found = self.offers.drawn(self.state, self.chance) if self.taken < self.walks.depth else None
            if found is not None:
                self.fired[found[0]] += 1
                self.state = found[2]
                self.taken += 1
                self.steps += 1
                continue
            self.stuck += self.taken < self.walks.depth
            self._end_walk()
            if self.number == self.walks.number:
                return

    def _end_walk(self) -> None:
        """Go back to the first state."""
        self.longest = max(self.longest, self.taken)
        self.number += 1
        self.taken = 0
        self.state, self.chance = self.start, chance_of(self.walks.seed, self.number)

    def _look(self) -> None:
        """Look at the state, and look no more for what is seen."""
        seen = [number for memo in self.looking for number in memo.answer(self.state)]
        if seen:
            for number in dict.fromkeys(seen):
                self.sightings[number] = (self.number, self.taken)
                self._lookouts.pop(number)
            self.looking = [memo for memos in self._lookouts.values() for memo in memos]

    def _remembered(self) -> tuple[Memo[Any], ...]:
        """Return all memos that walks ask."""
        return (*self.offers.memos, *self.looking, *self.model.saturation.memos)

    def _forget(self) -> None:
        """Forget all answers."""
        for memo in self._remembered():
            memo.forget()


def _lookouts(model: Model, number: int, sample: Sequence[int]) -> list[Memo[Sighting]]:
    """Return memos that together see a monitor hold, each for some elements where it depends on many bits."""
    whole = [(model.monitors[number], sightings_of(model, number))]
    return [memo for _, memo in in_parts(whole, sample, lambda part: sightings_of(model, number, part))]


def _told(step: CompiledStep, chosen: Row) -> TraceStep:
    """Return a step as traces have it."""
    names = (var.name for var in step.action.params)
    return TraceStep(step.action.name, step.action.by.name, tuple(zip(names, chosen, strict=True)))


def walk(protocol: Protocol, run: PackedWalks) -> Exploration:
    """Take all walks, or as many as the bounds allow; traces leave deductions out."""
    stopped_by = run.run()
    model, seconds = run.model, run.watch.seconds
    actions = run.seen()
    fired = {name: seen.taken for name, seen in actions.items()}
    fired |= {rule.name: int(rule.fired) for rule in model.saturation.rules}
    found: dict[bool, dict[str, Trace]] = {True: {}, False: {}}
    for number in run.sightings:  # from here on, memos are asked about states that are on no walk
        monitor = model.monitors[number]
        path = Trace(protocol.id, protocol.variant, protocol.without, "", tuple(run.path(number)))
        found[monitor.is_goal][monitor.name] = path
    return Exploration(
        states=run.steps + run.number + (stopped_by is not None),
        transitions=run.steps,
        depth=max(run.longest, run.taken),
        stopped_by=stopped_by,
        seconds=seconds,
        peak_memory_bytes=peak_bytes(),
        violations=found[False],
        goals=found[True],
        fired={action.name: fired.get(action.name, 0) for action in protocol.actions},
        walked=Walked(run.number, run.steps, run.stuck, actions),
    )
