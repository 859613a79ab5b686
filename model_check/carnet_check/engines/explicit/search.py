"""Breadth-first search over packed states.

The effect of an action in a state depends on the few bits that it reads. So the search calls the generated functions
once for each value of these bits, and memoises the result: the moves are then masks and, if a move enables deductions,
one more look-up. States are expanded in chunks, level by level, so the first path found to a state is a shortest one.
Every state has the number of the state from which it was found, and paths are computed backwards from that.
"""

import itertools
from array import array
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from carnet_check.engines.checkpoints import SearchCheckpoint
from carnet_check.engines.explicit.bounds import Watch, peak_bytes
from carnet_check.engines.explicit.memory import Memo, join_in_pairs, kinds
from carnet_check.engines.explicit.model import CompiledStep, Model, Monitor, add_cost, can_afford, spent_by
from carnet_check.engines.explicit.saturation import Change, apply_change
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.engines.exploration import Exploration
from carnet_check.errors import UsageError
from carnet_spec import trace
from carnet_spec.language import Protocol

# --------------------------------------------------------------------------------------------------
# The results of a search so far, storing them when a level is complete, and resuming another search from them.

#: The attributes that a checkpoint stores unchanged, besides the states.
NOTED = (
    *("counted", "counted_for", "depth", "dominated", "expanded", "fired", "level_ends", "levels"),
    *("passed_over", "passed_over_for"),
)
_AT_ONCE = 1 << 12


class SearchState:
    """The states in the order in which they were found, with the other results of a search."""

    def __init__(self, model: Model, watch: Watch) -> None:
        self.model = model
        self.watch = watch
        self.states: list[int] = []  #: the states, as long as they are stored as integers.
        self.found: Sequence[int] = self.states  #: the states, in whatever form they are stored.
        self.parents = array("Q")  #: for each state the number of the state from which it was found, if that is stored.
        self.seen: set[int] = set()  #: the set of the states.
        #: for each monitor that held somewhere, the number of the first such state.
        self.sightings: dict[int, int] = {}
        self.levels: list[int] = []  #: the number of the first state of each level.
        self.level_ends = 1  #: the end of the last level.
        self.depth = 0  #: the number of the last level.
        self.expanded = 0  #: the number of expanded states.
        self.fired = {step.action.name: 0 for step in model.steps}  #: how often each action was taken.
        #: the number of successors, and of states of complete levels, that were also found at less cost; within a level
        #: it depends on the order in which they are found.
        self.dominated = 0
        #: the number of states that are not expanded, as they are dominated at the end of their level.
        self.passed_over = 0
        self.passed_over_for = 0  #: the number of states that these represent.
        self.counted = 0  #: the number of states for which the represented ones are counted so far.
        self.counted_for = 0  #: the number of states that those represent.
        self._earlier = 0.0

    @property
    def seconds(self) -> float:
        """The time of the search, including earlier runs from which it continues."""
        return self._earlier + self.watch.seconds

    # -- keeping it --------------------------------------------------------------------------------

    def keep(self, saved: SearchCheckpoint) -> None:
        """Store the results since the last call; raise OSError if there is not enough room."""
        origins = self.parents[saved.items("origins") :].tobytes()
        more = {"states": self._packed(saved.items("states")), "origins": (self.parents.itemsize, [origins])}
        saved.keep(self._notes(), more)

    def _packed(self, begin: int) -> tuple[int, Iterator[bytes]]:
        each = 1 + self.model.layout.bits // 8
        return each, (state.to_bytes(each, "little") for state in itertools.islice(self.states, begin, None))

    def _notes(self) -> dict[str, Any]:
        return {
            "fields": self.model.layout.fields,
            "bits": self.model.layout.bits,
            "rules": [rule.name for rule in self.model.saturation.rules if rule.fired],
            "sightings": [*self.sightings.items()],
            "seconds": self.seconds,
            **{name: getattr(self, name) for name in NOTED},
        }

    # -- taking it over ----------------------------------------------------------------------------

    def take(self, saved: SearchCheckpoint, notes: Mapping[str, Any]) -> None:
        """Load the results of another search; raise UsageError if the checkpoint is not valid."""
        layout, saturation = self.model.layout, self.model.saturation
        try:
            layout.give_fields((name, tuple(row)) for name, row in notes["fields"])
            laid_out_alike = layout.bits == notes["bits"]
            self._take_states(saved, notes)
            for name in NOTED:
                setattr(self, name, notes[name])
            for rule in saturation.rules:
                rule.fired = rule.name in notes["rules"]
            self.sightings = dict(notes["sightings"])
            self._earlier = notes["seconds"]
            begins_as_it_should = self.found[0] == saturation.start()
        except (LookupError, TypeError, ValueError) as error:
            raise UsageError(f"the checkpoint is broken: {type(error).__name__} {error}") from error
        if not laid_out_alike or not begins_as_it_should or self.level_ends != len(self.found):
            raise UsageError("the checkpoint is broken: its states are not those of a search")

    def _take_states(self, saved: SearchCheckpoint, notes: Mapping[str, Any]) -> None:
        for each, block in saved.blocks("states", _AT_ONCE):
            self.states += [int.from_bytes(block[at : at + each], "little") for at in range(0, len(block), each)]
        self._take_origins(saved)
        self.seen.update(self.states)

    def _take_origins(self, saved: SearchCheckpoint) -> None:
        for _, block in saved.blocks("origins", _AT_ONCE):
            self.parents.frombytes(block)


# -- Breadth-first search over packed states -------------------------------------------------------

CHUNK = 4096
COUNTED_AT_ONCE = 1 << 16  #: The most states per chunk for which represented states are counted; few chunks find more.
SAMPLE = 250  #: The number of states in the sample that decides which memos are joined.
WORTHWHILE = 0.5  #: A joint memo is worthwhile if it distinguishes at most this share of the sample.
ARRANGED_FROM = 2000  #: The number of states from which on memos are joined.

#: The masks of a change, and the memo of the deductions that it enables, or None.
MemoisedChange = tuple[int, int, Memo[Change] | None]


@dataclass(slots=True)
class Moves:
    """The moves of some actions in all states that agree on the bits that these actions read."""

    effects: tuple[MemoisedChange, ...]  # only moves that may change the state
    actions: tuple[str, ...]  # the action of every transition
    visits: int = 0


def expander(model: Model, step: CompiledStep, tally: Callable[[Memo[Moves | None]], None]) -> Memo[Moves | None]:
    """Return the memo of one action's moves."""
    spent = spent_by(model, step)

    def work_out(bits: int) -> Moves | None:
        if not can_afford(model, step, bits):
            return None
        made = step.moves(bits)
        effects = []
        for writes, _ in made:
            touched, cleared = model.layout.masks_for(writes.items(), memo.forget)
            if touched & ~memo.reads == 0 and (bits | touched) ^ cleared == bits and not spent:
                continue
            effects.append((*add_cost(touched, cleared, bits, step, spent), model.saturation.after(writes)))
        return Moves(tuple(effects), (step.action.name,) * len(made)) if made else None

    memo = Memo(work_out, tally)
    read_by_step(model, step, memo)
    return memo


def read_by_step(model: Model, step: CompiledStep, memo: Memo[Moves | None]) -> None:
    """Register all places that a step's moves depend on with its memo."""
    memo.grow(spent_by(model, step))
    for symbol, pattern in step.reads:
        model.layout.on_growth(symbol, pattern, memo.grow)


def all_moves(parts: list[Moves | None]) -> Moves | None:
    """Join the moves of several groups of actions."""
    some = [part for part in parts if part is not None]
    if len(some) < 2:
        return some[0] if some else None
    chain = itertools.chain.from_iterable
    return Moves(tuple(chain(part.effects for part in some)), tuple(chain(part.actions for part in some)))


Sighting = tuple[int, ...]  #: The numbers of the monitors that hold.


def sightings_of(model: Model, number: int, monitor: Monitor | None = None) -> Memo[Sighting]:
    """Return the memo that says for which monitors, or parts of one, a state is a sighting."""
    monitor = monitor or model.monitors[number]
    memo: Memo[Sighting] = Memo(lambda bits: (number,) if monitor.holds(bits) else ())
    for symbol, pattern in monitor.reads:
        model.layout.on_growth(symbol, pattern, memo.grow)
    return memo


class PackedSearch(SearchState):
    """A search from the first state, or from the checkpoint of an earlier search."""

    def __init__(
        self, model: Model, watch: Watch, *, enough: int, dominance: bool, saved: SearchCheckpoint | None = None
    ) -> None:
        super().__init__(model, watch)
        self.saved = saved  # the checkpoint, or None
        self.enough = enough
        self.steps: dict[int, tuple[trace.TraceStep, int]] = {}
        self.expanders = [expander(model, step, self._tally) for step in model.steps]
        self.lookouts = {number: sightings_of(model, number) for number in range(len(model.monitors))}
        self.joinable = self.expanders  # those that may be joined under one memo
        self.moving = list(self.expanders)
        self.looking = list(self.lookouts.values())
        self.looked = 0
        self.rearrange_at = ARRANGED_FROM
        self._idle: set[int] = set()  # states that are not expanded
        self.chunk = CHUNK
        self.spent = model.layout.spent if dominance else 0

    def run(self) -> str | None:
        """Search; return what stopped the search before it was complete, or None."""
        try:
            return self._run()
        except KeyboardInterrupt:
            return "interrupt"
        finally:
            self._tally_all()

    def path(self, position: int) -> list[trace.TraceStep]:
        """Return the steps to a state, or to one that the state represents."""
        places = [position]
        while places[-1]:
            places.append(self._origin(places[-1]))
        state, steps = self.found[0], []
        for place in places[-2::-1]:
            if place not in self.steps:  # paths share prefixes
                self.steps[place] = self.step_between(state, self.found[place], self._actions_to(place))
            step, state = self.steps[place]
            steps.append(step)
        return steps

    def represented(self, canonical: Canonicalizer) -> int:
        """Return the number of states that the found ones represent, by symmetry."""
        self._count(canonical, len(self.found))
        return self.counted_for - self.passed_over_for

    def _count(self, canonical: Canonicalizer, end: int) -> None:
        self.counted_for += self._stand_for(canonical, self.counted, end)
        self.counted = end

    def _stand_for(self, canonical: Canonicalizer, begin: int, end: int) -> int:
        return sum(map(canonical.orbit_size, self.found[begin:end]))

    def _origin(self, position: int) -> int:
        return self.parents[position]

    def _actions_to(self, _position: int) -> Container[str]:
        """Return actions among which are all that lead to a state from the one that it was found from."""
        return self.fired

    def _run(self) -> str | None:
        if self.saved is None or self.saved.notes is None:
            self._begin()
        else:
            self._resume(self.saved, self.saved.notes)
        while self.expanded < len(self.found):
            if 0 < self.enough <= sum(not self.model.monitors[number].is_goal for number in self.sightings):
                return "violation"
            reason = self.watch.exceeded_bound(len(self.found))
            if reason is not None:
                return reason
            self.watch.report(len(self.found), self.depth)
            self._tidy()
            end = min(self.level_ends, self.expanded + self.chunk)
            self.expanded = self._expand(self.expanded, end)
            self._look()
            self._go_on_counting()
            if self.expanded < self.level_ends:
                continue
            if len(self.found) > self.expanded:
                self.depth += 1
                self.levels.append(self.expanded)
                self.level_ends = len(self.found)
                self._pass_over()
            if self.saved is not None and not self._keep(self.saved):
                return "disk"
        return None

    def _keep(self, saved: SearchCheckpoint) -> bool:
        self._tally_all()
        try:
            self.keep(saved)
        except OSError:
            return False
        return True

    def _resume(self, saved: SearchCheckpoint, notes: Mapping[str, Any]) -> None:
        """Continue from a checkpoint; states that were passed over in its last level are passed over again."""
        self.take(saved, notes)
        counted = self.dominated, self.passed_over, self.passed_over_for
        self._pass_over()
        self.dominated, self.passed_over, self.passed_over_for = counted
        self.looked = len(self.found)
        self._drop_what_is_seen()

    def _begin(self) -> None:
        start = self.model.saturation.start()
        self.states.append(start)
        self.parents.append(0)
        self.seen.add(start)
        self._look()
        self.levels.append(0)

    def _expand(self, begin: int, end: int) -> int:
        """Expand states of a level, at least up to ``end``; return the end of the expanded ones."""
        places = [place for place in range(begin, end) if place not in self._idle]
        chunk = [self.states[place] for place in places]
        seen = self.seen
        spent = self.spent
        canonical = self.model.canonical
        add = seen.add
        append = self.states.append
        come_from = self.parents.append
        for memo in self.moving:
            answers = map(memo.__getitem__, map(memo.reads.__and__, chunk))
            for origin, s, moves in zip(places, chunk, answers, strict=True):
                if moves is None:
                    continue
                moves.visits += 1
                for touched, cleared, deductions in moves.effects:
                    t = (s | touched) ^ cleared
                    if deductions is not None:
                        more = deductions[t & deductions.reads]
                        if more is not None:
                            t = (t | more[0]) ^ more[1]
                    if t not in seen:
                        if canonical is not None:
                            t = canonical(t)
                            if t in seen:
                                continue
                        if t & spent and self._is_dominated(t):
                            continue
                        add(t)
                        append(t)
                        come_from(origin)
        return end

    def _is_dominated(self, t: int) -> bool:
        """Whether the same state was found at less cost and no later; that one has all successors of this one."""
        dominated = any(t - less in self.seen for less in range(1, 1 + (t & self.spent)))
        self.dominated += dominated
        return dominated

    def _pass_over(self) -> None:
        """Drop dominated states when their level is complete, so that the order within a level has no effect."""
        if self.spent:
            level = range(self.levels[-1], self.level_ends)
            idle = [place for place in level if self._is_dominated(self.states[place])]
            self._idle.update(idle)
            self._count_passed_over(idle)

    def _count_passed_over(self, places: Sequence[int]) -> None:
        self.passed_over += len(places)
        canonical = self.model.canonical
        if canonical is not None:
            self.passed_over_for += sum(canonical.orbit_size(self.found[place]) for place in places)

    def _look(self) -> None:
        fresh = self.found[self.looked :]
        for memo in self.looking:
            if any(map(memo.__getitem__, map(memo.reads.__and__, fresh))):
                self._note(memo, fresh)
        self._drop_what_is_seen()
        self.looked = len(self.found)

    def _go_on_counting(self) -> None:
        """Count represented states during the search: counting them all after an interrupt would take long."""
        if self.model.canonical is not None:
            self._count(self.model.canonical, min(len(self.found), self.counted + COUNTED_AT_ONCE))

    def _drop_what_is_seen(self) -> None:
        """Drop the monitors that have been seen to hold."""
        if not self.lookouts.keys().isdisjoint(self.sightings):
            for number in self.sightings:
                self.lookouts.pop(number, None)
            self.looking = list(self.lookouts.values())

    def _note(self, memo: Memo[Sighting], fresh: Sequence[int]) -> None:
        for position, s in enumerate(fresh, self.looked):
            for number in memo.answer(s):
                self.sightings.setdefault(number, position)

    def _tidy(self) -> None:
        """Drop answers if there are too many, and join memos again as the search grows."""
        if len(self.found) >= self.rearrange_at:
            self.rearrange_at = 8 * len(self.found)
            self._tally_all()
            self._arrange()

    def _arrange(self) -> None:
        sample = self.found[:: len(self.found) // SAMPLE]
        self._join(sample, WORTHWHILE * len(sample))

    def _join(self, sample: Sequence[int], most: float) -> None:
        self.moving = join_in_pairs(self.joinable, sample, all_moves, most)
        self.looking = join_in_pairs(
            list(self.lookouts.values()), sample, lambda parts: tuple(itertools.chain.from_iterable(parts)), most
        )

    def _tally_all(self) -> None:
        for memo in self.moving:
            self._tally(memo)

    def _tally(self, memo: Memo[Moves | None]) -> None:
        for moves in memo.values():
            if moves is not None and moves.visits:
                for name in moves.actions:
                    self.fired[name] += moves.visits
                moves.visits = 0

    def step_between(self, before: int, after: int, actions: Container[str]) -> tuple[trace.TraceStep, int]:
        """Return a step of one of ``actions`` from a state to one that ``after`` represents, and that state."""
        canonical, layout = self.model.canonical, self.model.layout
        for step in self.model.steps:
            if step.action.name not in actions or not can_afford(self.model, step, before):
                continue
            cost = step.action.cost if layout.spent else 0
            for writes, chosen in step.moves(before):
                t = apply_change(before, layout.masks_for(writes.items(), lambda: None)) + cost
                deductions = self.model.saturation.after(writes)
                if deductions is not None:
                    t = apply_change(t, deductions.answer(t))
                if after == (t if canonical is None else canonical(t)):
                    names = (var.name for var in step.action.params)
                    args = tuple(zip(names, chosen, strict=True))
                    return trace.TraceStep(step.action.name, step.action.by.name, args), t
        raise AssertionError("a state was reached by no step")


def search(protocol: Protocol, run: PackedSearch) -> Exploration:
    """Run a search to its end or its bounds; the traces are without deductions."""
    stopped_by = run.run()
    model, seconds = run.model, run.seconds
    reduction = {"bits": model.layout.bits, "states_dominated": run.dominated}
    violations: dict[str, trace.Trace] = {}
    goals: dict[str, trace.Trace] = {}
    for number, position in run.sightings.items():
        monitor = model.monitors[number]
        path = trace.Trace(protocol.id, protocol.variant, protocol.without, "", tuple(run.path(position)))
        (goals if monitor.is_goal else violations)[monitor.name] = path
    canonical = model.canonical
    if canonical is not None:
        reduction |= {"permutations": canonical.order, "states_stood_for": run.represented(canonical)}
    fired = run.fired | {rule.name: int(rule.fired) for rule in model.saturation.rules}
    return Exploration(
        states=len(run.found) - run.passed_over,
        transitions=sum(run.fired.values()),
        depth=run.depth,
        stopped_by=stopped_by,
        seconds=seconds,
        peak_memory_bytes=peak_bytes(),
        violations=violations,
        goals=goals,
        fired={action.name: fired.get(action.name, 0) for action in protocol.actions},
        reduction=reduction,
    )


# --------------------------------------------------------------------------------------------------
# Groups of actions, or of monitors, that share a memo: they are split until each has few different answers.
#
# Computing an answer takes as long as expanding some fifty states, and looking it up as long as two successors. So an
# action that depends on too many bits is split by the elements of a parameter.

Whole = TypeVar("Whole", CompiledStep, Monitor)
Answer = TypeVar("Answer")


def sample_of(found: Sequence[int]) -> list[int]:
    """Return a sample of the states, evenly spread."""
    return [found[place] for place in range(0, len(found), 1 + len(found) // SAMPLE)]


def split(
    groups: Sequence[tuple[Whole, Memo[Answer]]],
    sample: Sequence[int],
    most: int,
    memo_of: Callable[[Whole], Memo[Answer]],
    *,
    share: float,
    many: int,
) -> list[tuple[Whole, Memo[Answer]]]:
    """Split groups, and their parts again, as long as they distinguish more than ``most`` states of a sample.

    Each part distinguishes at most the ``share`` of these, and the result has at most ``many`` groups.
    """
    small: list[tuple[Whole, Memo[Answer]]] = []
    waiting = list(groups)
    while waiting:
        group = waiting.pop(0)
        room = many - len(small) - len(waiting)
        parts = _parts(group, sample, most, room, memo_of, share)
        waiting += parts
        small += [] if parts else [group]
    return small


def _parts(
    group: tuple[Whole, Memo[Answer]],
    sample: Sequence[int],
    most: int,
    room: int,
    memo_of: Callable[[Whole], Memo[Answer]],
    share: float,
) -> list[tuple[Whole, Memo[Answer]]]:
    """Return the parts of a group, if each distinguishes few enough states; otherwise an empty list."""
    each, memo = group
    whole = kinds(memo.reads, sample)
    for some in each.parts() if whole > most else ():
        parts = [(part, memo_of(part)) for part in some]
        if len(parts) <= room and all(kinds(memo.reads, sample) <= share * whole for _, memo in parts):
            return parts
    return []
