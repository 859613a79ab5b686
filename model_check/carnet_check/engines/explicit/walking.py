"""Random walks over packed states, one after the other; no state is kept.

What an action may do in a state is remembered by the bits that it reads, as the search remembers it, but in an order
that only the protocol decides: by the place of the action and then by its arguments. So a seed and the number of a walk
decide every step of it, whoever takes it and whatever was walked before. That is how a walk is told: it is taken again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from carnet_check.engines.explicit.bounds import Watch, peak_bytes
from carnet_check.engines.explicit.chance import Chance, chance_of
from carnet_check.engines.explicit.guards import GuardWatch
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import CompiledStep, Model
from carnet_check.engines.explicit.saturation import Writes, changed
from carnet_check.engines.explicit.search import (
    MemoisedChange,
    Moves,
    can_afford,
    paid,
    read_by_step,
    sightings_of,
    spent_by,
)
from carnet_check.engines.exploration import Exploration
from carnet_check.engines.walks import Walked, Walks
from carnet_check.slicing import Slicer
from carnet_spec.language import Protocol, Row
from carnet_spec.trace import Trace, TraceStep

MOST_ANSWERS = 400_000
"""How many answers are remembered before all of them are forgotten, so that memory does not grow with the walks."""
CHUNK = 2_000
"""How many steps are taken before bounds are looked at."""

Chosen = tuple[int, Row]
"""A step: the number of its action, and with which elements it is taken."""


def ways(step: CompiledStep, s: int) -> list[tuple[Writes, Row]]:
    """Return what a step writes in a state, and with which elements, in the order of these."""
    return sorted(step.moves(s), key=lambda way: way[1])


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
        self.guards = [GuardWatch(model.queries, step) for step in model.steps]
        self.fired = [0] * len(model.steps)
        self.options = [self._options(*each) for each in zip(model.steps, self.guards, strict=True)]
        self.looking = [sightings_of(model, number) for number in range(len(model.monitors))]
        self.sightings: dict[int, tuple[int, int]] = {}
        self.start = model.saturation.start()
        self.state = self.start
        self.chance = chance_of(walks.seed, 0)
        self._ways: dict[tuple[int, int], dict[Row, int]] = {}

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

    def path(self, monitor: int) -> list[TraceStep]:
        """Return steps that lead to where a monitor holds: those of the walk on which it was seen that are needed."""
        steps = self._walked(*self.sightings[monitor])
        slicer = Slicer(self.start, self._take, self.model.monitors[monitor].holds)
        assert slicer.serves(steps), "a walk that is taken again ends elsewhere"
        return [_told(self.model.steps[action], chosen) for action, chosen in slicer.without_superfluous(steps, 1)]

    def _walked(self, number: int, taken: int) -> list[Chosen]:
        """Take a walk again, so many steps of it."""
        s, chance = self.start, chance_of(self.walks.seed, number)
        steps: list[Chosen] = []
        for _ in range(taken):
            found = self._step_from(s, chance)
            assert found is not None, "a walk that is taken again ends earlier"
            action, way, after = found
            steps.append((action, ways(self.model.steps[action], s)[way][1]))
            s = after
        return steps

    def _take(self, s: int, step: Chosen) -> int | None:
        """Return where a step leads, or nothing if it cannot be taken."""
        action, chosen = step
        memo = self.options[action]
        known = (action, s & memo.reads)
        if known not in self._ways:
            made = ways(self.model.steps[action], s)
            self._ways[known] = {elements: way for way, (_, elements) in enumerate(made)}
        moves, found = memo.answer(s), self._ways[known].get(chosen)
        return None if moves is None or found is None else self._after(s, moves, found)

    # -- walking -----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Take some steps."""
        for _ in range(CHUNK):
            self._look()
            found = self._step_from(self.state, self.chance) if self.taken < self.walks.depth else None
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
            self.sightings |= dict.fromkeys(seen, (self.number, self.taken))
            self.looking = [memo for memo in self.looking if not memo.answer(self.state)]

    def _step_from(self, s: int, chance: Chance) -> tuple[int, int, int] | None:
        """Draw a step that changes a state: its action, which of its ways, and where it leads.

        What is drawn and changes nothing is drawn no more, so each that changes something is as likely as any other.
        """
        offered = [memo.answer(s) for memo in self.options]
        left = sum(len(moves.effects) for moves in offered if moves)
        order = list(range(left))
        while left:
            place = chance.below(left)
            action, way = _located(offered, order[place])
            after = self._after(s, offered[action], way)
            if after != s:
                return action, way, after
            left -= 1
            order[place] = order[left]
        return None

    def _after(self, s: int, moves: Moves | None, way: int) -> int:
        """Return where a step leads, with the deductions that follow it."""
        assert moves is not None
        touched, cleared, deductions = moves.effects[way]
        after = (s | touched) ^ cleared
        return after if deductions is None else changed(after, deductions.answer(after))

    # -- what is remembered ------------------------------------------------------------------------

    def _options(self, step: CompiledStep, guards: GuardWatch) -> Memo[Moves | None]:
        """Return the memo of what an action may do, in the order of its arguments; what changes nothing is kept."""
        model, spent = self.model, spent_by(self.model, step)

        def work_out(bits: int) -> Moves | None:
            if not can_afford(model, step, bits):
                return None
            made = ways(step, bits)
            guards.see(bits, bool(made))
            effects: list[MemoisedChange] = []
            for writes, _ in made:
                masks = model.layout.written(writes.items(), memo.forget)
                effects.append((*paid(*masks, bits, step, spent), model.saturation.after(writes)))
            return Moves(tuple(effects), (step.action.name,) * len(made)) if made else None

        memo = Memo(work_out)
        read_by_step(model, step, memo)
        return memo

    def _remembered(self) -> tuple[Memo[Any], ...]:
        """Return all memos that walks ask."""
        return (*self.options, *self.looking, *self.model.saturation.memos)

    def _forget(self) -> None:
        """Forget all answers."""
        for memo in self._remembered():
            memo.forget()


def _located(offered: Sequence[Moves | None], place: int) -> tuple[int, int]:
    """Return the action and the way of it that stand at a place among all that is offered."""
    for action, moves in enumerate(offered):
        count = len(moves.effects) if moves else 0
        if place < count:
            return action, place
        place -= count
    raise AssertionError("a step was drawn that is not offered")


def _told(step: CompiledStep, chosen: Row) -> TraceStep:
    """Return a step as traces have it."""
    names = (var.name for var in step.action.params)
    return TraceStep(step.action.name, step.action.by.name, tuple(zip(names, chosen, strict=True)))


def walk(protocol: Protocol, run: PackedWalks) -> Exploration:
    """Take all walks, or as many as the bounds allow; traces leave deductions out."""
    stopped_by = run.run()
    model, seconds = run.model, run.watch.seconds
    actions = {
        step.action.name: guards.seen(int(taken))
        for step, guards, taken in zip(model.steps, run.guards, run.fired, strict=True)
    }
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
