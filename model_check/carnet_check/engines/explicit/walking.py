"""Random walks over packed states, one after the other; states are not stored.

The seed and the number of a walk determine all its steps, independent of the engine and of earlier walks. So the trace
of a walk is computed by taking it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from carnet_check.engines.explicit.bounds import Watch, peak_bytes
from carnet_check.engines.explicit.layout import Condition, conditions_in, reads_mutable_symbol
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import CompiledStep, Model, add_cost, can_afford, spent_by
from carnet_check.engines.explicit.queries import Domain, Draw, Queries
from carnet_check.engines.explicit.saturation import Writes, apply_change
from carnet_check.engines.explicit.search import (
    SAMPLE,
    MemoisedChange,
    Moves,
    Sighting,
    read_by_step,
    sightings_of,
    split,
)
from carnet_check.engines.exploration import ActionCoverage, Exploration, GuardCoverage, WalkCoverage, Walks
from carnet_check.minimise import Slicer
from carnet_spec.language import GuardKind, Protocol, Row
from carnet_spec.trace import Trace, TraceStep

#: The most memoised answers before all are dropped, so that memory does not grow with the walks.
MOST_ANSWERS = 400_000
CHUNK = 2_000  #: The number of steps between two checks of the bounds.


class PackedWalks:
    """Walks from the first state on."""

    def __init__(self, model: Model, watch: Watch, walks: Walks) -> None:
        self.model = model
        self.watch = watch
        self.walks = walks
        self.number = 0  #: the number of the present walk, from 0 on.
        self.taken = 0  #: the number of its steps so far.
        self.steps = 0  #: the number of steps of all walks.
        self.longest = 0  #: the number of steps of the longest walk.
        self.stuck = 0  #: the number of walks that ended because no step would have changed the state.
        self.offers, self.sample = enabled_steps_of(model)  # the sample: the states of one walk, the same for any seed
        self.fired = [0] * len(self.offers.steps)
        self.lookouts = {number: _lookouts(model, number, self.sample) for number in range(len(model.monitors))}
        self.looking = [memo for memos in self.lookouts.values() for memo in memos]
        #: for each monitor that held in some state, the walk and the number of its steps to that state.
        self.sightings: dict[int, tuple[int, int]] = {}
        self.start = model.saturation.start()
        self.state = self.start
        self.chance = chance_of(walks.seed, 0)

    def run(self) -> str | None:
        """Take the walks; return the bound that stopped them, or None."""
        try:
            while self.number < self.walks.number:
                reason = self.watch.exceeded_bound(0)
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

    def action_coverage(self) -> dict[str, ActionCoverage]:
        """Return the coverage of each action, all its parts together, in the protocol's order."""
        seen = {step.action.name: ActionCoverage() for step in self.model.steps}
        for step, guards, taken in zip(self.offers.steps, self.offers.guards, self.fired, strict=True):
            seen[step.action.name] = guards.coverage(taken).union(seen[step.action.name])
        return seen

    def path(self, monitor: int) -> list[TraceStep]:
        """Return steps to a state in which a monitor holds: those of the walk that are needed for it."""
        steps = self._walked(*self.sightings[monitor])
        slicer = Slicer(self.start, self.offers.successor, self.model.monitors[monitor].holds)
        assert slicer.serves(steps), "a walk that is taken again ends elsewhere"
        taken = ((self.offers.steps[number], chosen) for number, chosen in slicer.without_superfluous(steps, 1))
        return [
            TraceStep(step.action.name, step.action.by.name, tuple(zip(step.choices, chosen, strict=True)))
            for step, chosen in taken
        ]

    def _walked(self, number: int, taken: int) -> list[Chosen]:
        s, chance = self.start, chance_of(self.walks.seed, number)
        steps: list[Chosen] = []
        for _ in range(taken):
            found = self.offers.draw_move(s, chance)
            assert found is not None, "a walk that is taken again ends earlier"
            offered, way, after = found
            steps.append(self.offers.trace_step(s, offered, way))
            s = after
        return steps

    # -- walking -----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        for _ in range(CHUNK):
            self._take_step()
            if self.number == self.walks.number:
                return

    def _take_step(self) -> None:
        """Check the monitors in the state, and take a step; end the walk if no step changes the state."""
        self._look()
        found = self.offers.draw_move(self.state, self.chance) if self.taken < self.walks.depth else None
        if found is None:
            self.stuck += self.taken < self.walks.depth
            self._end_walk()
            return
        self.fired[found[0]] += 1
        self.state = found[2]
        self.taken += 1
        self.steps += 1

    def _end_walk(self) -> None:
        self.longest = max(self.longest, self.taken)
        self.number += 1
        self.taken = 0
        self.state, self.chance = self.start, chance_of(self.walks.seed, self.number)

    def _look(self) -> None:
        seen = [number for memo in self.looking for number in memo.answer(self.state)]
        if seen:
            for number in dict.fromkeys(seen):
                self.sightings[number] = (self.number, self.taken)
                self.lookouts.pop(number)
            self.looking = [memo for memos in self.lookouts.values() for memo in memos]

    def _remembered(self) -> tuple[Memo[Any], ...]:
        return (*self.offers.memos, *self.looking, *self.model.saturation.memos)

    def _forget(self) -> None:
        for memo in self._remembered():
            memo.forget()


def _lookouts(model: Model, number: int, sample: Sequence[int]) -> list[Memo[Sighting]]:
    whole = [(model.monitors[number], sightings_of(model, number))]
    parts = split(whole, sample, MOST, lambda part: sightings_of(model, number, part), share=SHARE, many=MANY)
    return [memo for _, memo in parts]


def walk(protocol: Protocol, run: PackedWalks) -> Exploration:
    """Take all walks, or as many as the bounds allow; traces leave deductions out."""
    stopped_by = run.run()
    model, seconds = run.model, run.watch.seconds
    actions = run.action_coverage()
    fired = {name: seen.taken for name, seen in actions.items()}
    fired |= {rule.name: int(rule.fired) for rule in model.saturation.rules}
    found: dict[bool, dict[str, Trace]] = {True: {}, False: {}}
    for number in run.sightings:  # from here on, memos are used for states that are on no walk
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
        walked=WalkCoverage(run.number, run.steps, run.stuck, actions),
    )


# --------------------------------------------------------------------------------------------------
# Random numbers of walks, determined by a seed and the number of a walk; they are the same in every engine.
#
# Source: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).

STRIDE = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_WORD = (1 << 64) - 1


class RandomStream:
    """A stream of random numbers; ``state`` determines all following ones."""

    def __init__(self, state: int) -> None:
        self.state = state & _WORD

    def next_word(self) -> int:
        """Return the next 64 bits."""
        self.state = (self.state + STRIDE) & _WORD
        return mix(self.state)

    def below(self, bound: int) -> int:
        """Return a number below ``bound``, uniform up to one part in ``2**32 / bound``."""
        return (self.next_word() >> 32) * bound >> 32


def chance_of(seed: int, walk: int) -> RandomStream:
    """Return the random stream of one walk, independent of other walks."""
    return RandomStream(mix(seed) ^ mix(mix(walk) + STRIDE & _WORD))


def mix(state: int) -> int:
    """Return 64 mixed bits: the finaliser of SplitMix64."""
    spread = (state ^ state >> 30) * _FIRST & _WORD
    spread = (spread ^ spread >> 27) * _SECOND & _WORD
    return spread ^ spread >> 31


# -- The coverage of guards: updated whenever an action is evaluated for new bits ------------------
#
# Guards depend only on the bits that an action reads, so evaluating each value of these bits once covers all states of
# the walks. A guard is evaluated for the arguments that pools and the instance allow; one that draws an unused element
# is not evaluated.

Test = Callable[[int], bool]


class GuardObserver:
    """Observes the coverage of an action and its guards."""

    def __init__(self, queries: Queries, step: CompiledStep) -> None:
        self._queries = queries
        self._choices = step.choices
        self.enabled = False
        guards = [guard for guard in step.action.guards if guard.kind is not GuardKind.FRESH]
        self._conditions = {guard.name: (*conditions_in(guard.formula),) for guard in guards}
        self._failing = {guard.name: (*conditions_in(guard.formula, False),) for guard in guards}
        self._decided = {guard.name: not reads_mutable_symbol(guard.formula) for guard in guards}
        self._held: set[str] = set()
        self._failed: set[str] = set()
        self._alone: set[str] = set()
        self._tests: dict[tuple[str, str], Test] = {}

    def see(self, bits: int, enabled: bool) -> None:
        """Update the coverage for a state, given the bits that the action reads and whether it is enabled."""
        if enabled:
            self.enabled = True
            self._held.update(self._conditions)
        for name in self._conditions:
            if name not in self._held and self._test("held", name)(bits):
                self._held.add(name)
            if name not in self._alone and self._test("alone", name)(bits):
                self._alone.add(name)
                self._failed.add(name)
            if name not in self._failed and self._test("failed", name)(bits):
                self._failed.add(name)

    def coverage(self, taken: int) -> ActionCoverage:
        """Return the coverage of the action, which was taken ``taken`` times."""
        return ActionCoverage(
            taken,
            self.enabled,
            {
                name: GuardCoverage(name in self._held, name in self._failed, name in self._alone, decided)
                for name, decided in self._decided.items()
            },
        )

    def _test(self, what: str, name: str) -> Test:
        """Return the function that searches for arguments; it is generated at the first use."""
        if (what, name) not in self._tests:
            domains, tests = self._asked(what, name)
            self._tests[what, name] = self._queries.function((), partial(self._queries.witness, domains, tests))
        return self._tests[what, name]

    def _asked(self, what: str, name: str) -> tuple[Mapping[str, Domain], Sequence[Condition]]:
        tests = self._conditions[name] if what == "held" else self._failing[name]
        if what != "alone":
            return self._needed(tests), tests
        others = (test for other, known in self._conditions.items() if other != name for test in known)
        return self._choices, (*tests, *others)

    def _needed(self, tests: Sequence[Condition]) -> Mapping[str, Domain]:
        """Return the parameters in some tests, and those that are drawn before them."""
        needed = {name for test in tests for name in test.needs}
        domains = self._choices.items()
        needed.update(*(domain.after for name, domain in domains if name in needed and isinstance(domain, Draw)))
        return {name: domain for name, domain in domains if name in needed}


# --------------------------------------------------------------------------------------------------
# The enabled steps of a state, in an order that protocol and instance determine; one is drawn uniformly.
#
# The moves of an action are memoised by the bits that it reads, as in the search. The order is by the position of the
# action, then by the element of its part, then by the arguments. It does not depend on earlier computations, so the
# seed and the number of a walk determine every step.

#: An action is memoised as a whole if its bits distinguish at most this number of states of a sample.
MOST = SAMPLE // 4
#: Otherwise it is split by the elements of parameters, if each part distinguishes at most this share of them.
SHARE = 0.9
MANY = 256  #: The most parts; each costs a look-up in every state, unless no bit changed that it reads.

Chosen = tuple[int, Row]  #: A step: the number of its action or part, and its elements.


class EnabledSteps:
    """The possible moves of compiled steps, each an action or a part of one."""

    def __init__(self, model: Model, steps: Sequence[CompiledStep]) -> None:
        self.steps = steps  #: the compiled steps, by number.
        self.guards = [GuardObserver(model.queries, step) for step in steps]  #: the observer of each step's guards.
        #: the memo of each step's moves, including moves that change nothing.
        self.memos = [_memo(model, step, guards) for step, guards in zip(steps, self.guards, strict=True)]
        self._ways: dict[tuple[int, int], dict[Row, int]] = {}

    def draw_move(self, s: int, chance: RandomStream) -> tuple[int, int, int] | None:
        """Draw a move that changes a state: its step's number, its index in the step, and the next state.

        A drawn move that changes nothing is excluded and another one is drawn, so the choice is uniform among the moves
        that change the state.
        """
        offered = [memo.answer(s) for memo in self.memos]
        left = sum(len(moves.effects) for moves in offered if moves)
        order = list(range(left))
        while left:
            place = chance.below(left)
            number, way = _located(offered, order[place])
            after = _after(s, offered[number], way)
            if after != s:
                return number, way, after
            left -= 1
            order[place] = order[left]
        return None

    def trace_step(self, s: int, number: int, way: int) -> Chosen:
        """Return the trace step for a drawn move: ``number`` is its step's number, ``way`` its index there."""
        return number, _ways(self.steps[number], s)[way][1]

    def successor(self, s: int, step: Chosen) -> int | None:
        """Return the state after a trace step, or None if the step is not enabled."""
        number, elements = step
        memo = self.memos[number]
        known = (number, s & memo.reads)
        if known not in self._ways:
            made = _ways(self.steps[number], s)
            self._ways[known] = {each: way for way, (_, each) in enumerate(made)}
        moves, way = memo.answer(s), self._ways[known].get(elements)
        return None if moves is None or way is None else _after(s, moves, way)


def enabled_steps_of(model: Model) -> tuple[EnabledSteps, list[int]]:
    """Return the enabled steps of a protocol, and the sample of states by which actions on many bits were split.

    The sample is one walk that is always the same; it has no effect on coverage.
    """
    sample = _sample(model)
    whole = [(step, _memo(model, step, None)) for step in model.steps]
    parts = split(whole, sample, MOST, lambda step: _memo(model, step, None), share=SHARE, many=MANY)
    return EnabledSteps(model, [step for step, _ in parts]), sample


def _sample(model: Model) -> list[int]:
    """Return the states of one walk, which starts again when it is stuck."""
    offers, start, chance = EnabledSteps(model, model.steps), model.saturation.start(), chance_of(0, 0)
    states = [start]
    while len(states) < SAMPLE:
        found = offers.draw_move(states[-1], chance)
        if found is None and states[-1] == start:
            break
        states.append(start if found is None else found[2])
    model.saturation.forget()
    return states


def _memo(model: Model, step: CompiledStep, guards: GuardObserver | None) -> Memo[Moves | None]:
    """Return the memo of a step's moves, in the order of its arguments."""
    spent = spent_by(model, step)

    def work_out(bits: int) -> Moves | None:
        if not can_afford(model, step, bits):
            return None
        made = _ways(step, bits)
        if guards is not None:
            guards.see(bits, bool(made))
        effects: list[MemoisedChange] = []
        for writes, _ in made:
            masks = model.layout.masks_for(writes.items(), memo.forget)
            effects.append((*add_cost(*masks, bits, step, spent), model.saturation.after(writes)))
        return Moves(tuple(effects), (step.action.name,) * len(made)) if made else None

    memo = Memo(work_out)
    read_by_step(model, step, memo)
    return memo


def _ways(step: CompiledStep, s: int) -> list[tuple[Writes, Row]]:
    return sorted(step.moves(s), key=lambda way: way[1])


def _located(offered: Sequence[Moves | None], place: int) -> tuple[int, int]:
    """Return the step's number and the move's index for a position among all offered moves."""
    for number, moves in enumerate(offered):
        count = len(moves.effects) if moves else 0
        if place < count:
            return number, place
        place -= count
    raise AssertionError("a step was drawn that is not offered")


def _after(s: int, moves: Moves | None, way: int) -> int:
    assert moves is not None
    touched, cleared, deductions = moves.effects[way]
    after = (s | touched) ^ cleared
    return after if deductions is None else apply_change(after, deductions.answer(after))
