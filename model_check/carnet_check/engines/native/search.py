"""The same breadth-first search as the explicit engine's, by compiled code once there are many states.

It begins in Python, which is enough for a small search. By then most places that a large search writes have bits. The
model is written as C over these places, compiled, and given the states. Where a step writes a place without bits,
Python assigns bits to it and expands the state. Once there are many such states, the model is compiled anew.
"""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from carnet_check.cache import AnswerCache, open_folder, source_digest
from carnet_check.engines.checkpoints import SearchCheckpoint
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.saturation import apply_change
from carnet_check.engines.explicit.search import Moves, PackedSearch, sample_of
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.engines.exploring.explorer import plain
from carnet_check.engines.native.compiling import folder_for_code, seconds_compiling
from carnet_check.engines.native.lowering import Lowering
from carnet_check.engines.native.model_code import ModelCode, TooNarrowError, first_width
from carnet_check.errors import UsageError

if TYPE_CHECKING:
    from carnet_check.engines.native.machine import Log, Machine

HAND_OVER_AT = 120_000  #: The number of states found before the model is compiled, which takes some seconds.
#: A search counts as large, too, where this part of these states waits to be expanded: as many levels are usual.
WAITING = 12
COST_ALIKE = 2  #: The time in which Python expands a state whose representative it computes, over that of another.
#: Code is cached for the next search once Python expanded this many times as many states, in one search or several.
PAYS_NEXT = 8
CHUNK = 1 << 16  #: The number of states expanded between two checks of the bounds.
#: The number of states that Python expands in place of compiled code before the model is compiled anew.
MOST_HERE = 10_000
#: Python expands :data:`MOST_HERE` for each so many states found, since copying them to new code takes long.
TAKEN_OVER = 2_000_000
MANY = 4_000_000  #: The number of states from which full optimization pays, for this search or for the same one later.
#: The time in which Python expands a state in place of compiled code, over that in a search without any.
COST_HERE = 10
#: The fewest states that Python expands in a search that is counted for the next search of the same model.
NOTED = 5_000
#: The sources on which the code of a model depends.
WRITTEN_BY: Final = (
    *(f"carnet_check/{part}" for part in ("engines/native", "engines/explicit", "exports/ground", "semantics")),
    "carnet_spec/language",
)
ABOUT = 2  #: While looking ahead, states are compared whose numbers of set bits differ by less than this.
#: The most states that are followed to find places without bits, and the most of these that it begins with.
LOOKED_AHEAD, BEGINNINGS = 16_000, 256


class NativeSearch(PackedSearch):
    """One breadth-first search from the initial states."""

    least_width: ClassVar = 1  # the fewest words of a row

    def __init__(
        self,
        model: Model,
        watch: Watch,
        *,
        enough: int,
        dominance: bool,
        saved: SearchCheckpoint | None = None,
        hand_over_at: int = HAND_OVER_AT,
        threads: int = 1,
    ) -> None:
        super().__init__(model, watch, enough=enough, dominance=dominance, saved=saved)
        self._hand_over_at = hand_over_at
        self._threads = threads
        self._machine: Machine | None = None
        self._rounds: list[Log] = []
        """The logs of machines before this one."""
        self._known = KnownCode(model, self.spent)
        self._strays: list[int] = []
        """The states that compiled code leaves to Python to expand."""
        self._expanded_here = 0
        self._found_here: dict[tuple[int, int], int] = {}
        """For each state that Python found, by its part and place, the number of the one that it follows."""
        self._seen_here: dict[int, tuple[int, int]] = {}
        self._origins: dict[int, tuple[int, frozenset[str]]] = {}
        """For states on a way back, from which state each was found, and by which actions."""

    def run(self) -> str | None:
        """Search; return what stopped the search early, such as ``"memory"``, or None if every state was found."""
        try:
            stopped_by = super().run()
        except MemoryError:
            return "memory"
        if stopped_by != "interrupt":
            self._keep_for_the_next()
        return stopped_by

    # -- compiled code -----------------------------------------------------------------------------

    def _tidy(self) -> None:
        before = self._begun_before() if self.expanded == 0 and self._machine is None else None
        if before is not None or (self._machine is None and self._is_large()):
            if before is None:
                waiting = self.states[self.expanded :]
                some = waiting[:: 1 + len(waiting) // BEGINNINGS]
                look_ahead(self.model, self.expanders, [self.states[0], *some], LOOKED_AHEAD)
                before = self._begun(self._enter_states)
            else:
                self._enter_states(before)
            self._machine = before
            self._machine.begin_level(self.levels[-1], self.expanded, self.level_ends)
            self._idle = {number for number in self._idle if number >= self.levels[-1]}
            for number in self._idle:
                self._machine.leave_out(number)
            self._begin_by_code()
        elif self._machine is None:
            super()._tidy()

    def _is_large(self) -> bool:
        """Whether so many states were found, or wait to be expanded, that compiling the model pays."""
        many = self._hand_over_at // (1 if self.model.canonical is None else COST_ALIKE)
        return len(self.found) >= many or WAITING * (len(self.found) - self.expanded) >= many

    def _begun(self, enter: Callable[[Machine], None], least: int = 1) -> Machine:
        """Return a machine for the model with its present places, with rows as wide as the states need.

        Args:
            enter: adds the states that were found.
            least: the fewest words of a row.
        """
        while True:
            lowered = Lowering.of(self.model, sample_of(self.found))
            width = max(first_width(lowered.words), least, self.least_width)
            code = ModelCode.of(lowered, width, self.spent, quick=len(self.found) < MANY)
            machine = self._machine_of(code)
            try:
                enter(machine)
            except TooNarrowError as error:
                machine.close()
                least = width + error.more
            else:
                self._known.keep(code)
                return machine

    def _enter_states(self, machine: Machine) -> None:
        for begin in range(0, len(self.states), CHUNK):
            machine.add(self.states[begin : begin + CHUNK])

    def _keep_for_the_next(self) -> None:
        """Cache code for the next search of the same model, once that pays.

        It pays where Python expanded many states of the model, in this search and earlier ones: the code has bits for
        all places that these wrote. Optimized code pays where there are many states.
        """
        code, many = None if self._machine is None else self._machine.code, len(self.found) >= MANY
        here = self.expanded if code is None else COST_HERE * self._expanded_here
        worked = here + self._known.states_expanded_before() if here >= NOTED else here
        if here and (many or worked >= PAYS_NEXT * self._hand_over_at):
            lowered = Lowering.of(self.model, sample_of(self.found))
            width = max(first_width(lowered.words), code.width if code else self.least_width)
            self._known.keep(ModelCode.of(lowered, width, self.spent, quick=not many))
        elif code is not None and code.quick and many:
            self._known.keep(replace(code, quick=False))
        elif here >= NOTED:
            self._known.note(worked)

    def _machine_of(self, code: ModelCode) -> Machine:
        from carnet_check.engines.native.machine import Machine  # imports NumPy, which no search needs in the beginning

        seconds_compiling()
        machine = Machine(code, self.model.canonical, self._threads)
        self.watch.leave_out(seconds_compiling())
        return machine

    def _begun_before(self) -> Machine | None:
        """Return a machine with the code that an earlier search of the model cached, or None."""
        code = self._known.code()
        return None if code is None or code.width < self.least_width else self._machine_of(code)

    def _begin_by_code(self) -> None:
        assert self._machine is not None
        self._tally_all()
        self.states.clear()
        self.seen.clear()
        self.found = self._machine
        self.chunk = CHUNK

    def _replace(self, more: int = 0) -> None:
        """Compile the model anew, and copy the states to the new machine."""
        before = self._machine
        assert before is not None
        self._tally_all()
        self._strays += before.strays()
        self._seen_here = dict(before.first_sightings(self._wanted(), self._seen_here))
        self._rounds.append(before.log())
        near = [self.found[number] for number in self._strays[:BEGINNINGS]]
        look_ahead(self.model, self.expanders, [*near, *sample_of(self.found)], LOOKED_AHEAD // 4)
        self._machine = self._begun(lambda machine: machine.adopt(before), before.width + more)
        self.found = self._machine
        before.close()
        self._expanded_here = 0

    def _expand(self, begin: int, end: int) -> int:
        if self._machine is None:
            return super()._expand(begin, end)
        while True:
            machine = self._machine
            expanded: int | None = None
            more = 0
            dominated = machine.dominated_count
            try:
                expanded = machine.expand(end, self._wanted())
                self._strays += machine.strays()
                most = MOST_HERE * max(1, len(self.found) // TAKEN_OVER)
                while self._strays and self._expanded_here < most:
                    self._expand_here(machine, self._strays[-1])
                    self._strays.pop()
            except TooNarrowError as error:
                expanded, more = None, error.more
            self.dominated += machine.dominated_count - dominated
            machine.close_segment()
            if expanded is not None and not self._strays:
                return expanded
            self._replace(more)

    def _expand_here(self, machine: Machine, number: int) -> None:
        """Expand a state with places that compiled code lacks, or with a step that writes such places."""
        state, canonical = self.found[number], self.model.canonical
        made = moves_from(self.expanders, state)
        for after in [each for moves in made for each in states_after(state, moves)]:
            stands = after if canonical is None else canonical(after)
            entered = machine.offer(stands)
            if entered is not None:
                self._found_here[entered] = number
                for memo in self.looking:
                    for monitor in memo.answer(stands):
                        self._seen_here.setdefault(monitor, entered)
        for name in itertools.chain.from_iterable(moves.actions for moves in made):
            self.fired[name] += 1
        self._expanded_here += 1

    def _pass_over(self) -> None:
        if self._machine is None:
            super()._pass_over()
            return
        self._machine.begin_level(self.levels[-1], self.expanded, self.level_ends)
        if self.spent:
            passed = self._machine.pass_over()
            self.dominated += passed
            self.passed_over += passed
            if passed and self.model.canonical is not None:
                self.passed_over_for += self._machine.passed_over_for(self.model.canonical)

    def _look(self) -> None:
        if self._machine is None:
            super()._look()
            return
        monitors = len(self.model.monitors)
        for number, place in self._machine.first_sightings(self._wanted(), self._seen_here):
            if number < monitors:
                self.sightings[number] = self._machine.number_of(*place)
            else:
                self.model.saturation.rules[number - monitors].fired = True
        self._seen_here.clear()
        self._drop_what_is_seen()
        self.looked = len(self.found)

    def _wanted(self) -> list[int]:
        """Return the numbers of the monitors that have not held yet and of the rules that have not fired yet."""
        rules = enumerate(self.model.saturation.rules, len(self.model.monitors))
        return [*self.lookouts, *(number for number, rule in rules if not rule.fired)]

    def _tally_all(self) -> None:
        super()._tally_all()
        if self._machine is not None:
            for (name, _), times in zip(self._machine.steps, self._machine.tally(), strict=True):
                self.fired[name] += times

    # -- going back --------------------------------------------------------------------------------

    def _origin(self, position: int) -> int:
        """Return the predecessor from which a state was found; compiled code expands states of that round again."""
        if position < len(self.parents):
            return super()._origin(position)
        assert self._machine is not None
        place = self._machine.place_of(position)
        if place in self._found_here:
            return self._found_here[place]
        if position not in self._origins:  # ways have their beginnings in common
            self._origins[position] = self._machine.origin(position, self._machine.log(self._rounds))
        return self._origins[position][0]

    def _actions_to(self, position: int) -> Container[str]:
        return self._origins[position][1] if position in self._origins else super()._actions_to(position)

    def _stand_for(self, canonical: Canonicalizer, begin: int, end: int) -> int:
        if self._machine is None:
            return super()._stand_for(canonical, begin, end)
        return self._machine.stand_for(canonical, begin, end)

    # -- checkpoints -------------------------------------------------------------------------------

    def _notes(self) -> dict[str, Any]:
        log = [] if self._machine is None else self._machine.log(self._rounds).tolist()
        elsewhere = [[*place, number] for place, number in self._found_here.items()]
        return {**super()._notes(), "log": log, "elsewhere": elsewhere}

    def _packed(self, begin: int) -> tuple[int, Iterator[bytes]]:
        if self._machine is None:
            return super()._packed(begin)
        return 8 * self._machine.words, (words.tobytes() for words in self._machine.words_from(begin))

    def _take_states(self, saved: SearchCheckpoint, notes: Mapping[str, Any]) -> None:
        if saved.items("origins") == saved.items("states"):
            super()._take_states(saved, notes)
            return
        from carnet_check.engines.native.machine import log_from

        self._machine = self._begun(lambda machine: _enter_saved(machine, saved))
        self._rounds = [log_from(notes["log"])]
        self._found_here = {(part, place): number for part, place, number in notes["elsewhere"]}
        self._begin_by_code()
        self._take_origins(saved)


# -- states that Python expands ---------------------------------------------------------------------


def moves_from(memos: Iterable[Memo[Moves | None]], state: int) -> list[Moves]:
    """Return the possible moves in a state, and assign bits to the places that they write."""
    return [moves for memo in memos if (moves := memo.answer(state)) is not None]


def states_after(state: int, moves: Moves) -> Iterator[int]:
    """Yield the successors by these moves, and assign bits to the places that deductions write."""
    for touched, cleared, deductions in moves.effects:
        after = (state | touched) ^ cleared
        yield after if deductions is None else apply_change(after, deductions.answer(after))


def look_ahead(model: Model, memos: Sequence[Memo[Moves | None]], states: Iterable[int], most: int) -> None:
    """Reserve bits in the layout for places that steps write, by following at most ``most`` states from ``states``.

    These states and their steps are not counted. Another state is followed if its step set or cleared a bit, and beside
    that a bit is set as in no state before, among those with the same spent budget and about as many bits set. This is
    the pruning by novelty of Lipovetzky and Geffner ("Width and serialization of classical planning problems", ECAI
    2012): few states are followed, and these write most places that any state does.
    """
    fired = [rule.fired for rule in model.saturation.rules]
    beside: dict[tuple[int, int], dict[int, int]] = {}
    """Among states alike: for each bit that is set, or the negated one if it is not, the bits seen set beside it."""
    given = dict.fromkeys(states)
    waiting = deque((state, 0) for state in given)
    met: set[int] = set()
    while waiting and most:
        state, before = waiting.popleft()
        if state in met:
            continue
        met.add(state)
        seen_beside = beside.setdefault((state & model.layout.spent, state.bit_count() // ABOUT), {})
        new = state in given
        changed = state ^ before
        while changed:
            bit = changed & -changed
            changed ^= bit
            value = bit if state & bit else -bit
            seen = seen_beside.get(value, 0)
            if state & ~seen:
                seen_beside[value] = seen | state
                new = True
        if new:
            most -= 1
            waiting.extend((after, state) for moves in moves_from(memos, state) for after in states_after(state, moves))
    model.saturation.forget()
    for rule, before_that in zip(model.saturation.rules, fired, strict=True):
        rule.fired = before_that


class KnownCode:
    """The cache of a model's code; it is empty where no folder is writable by this user alone."""

    def __init__(self, model: Model, dominance: int) -> None:
        self._model = model
        self._question = question_of(model, dominance)
        self._codes: AnswerCache | None = None
        self._work: AnswerCache | None = None
        try:
            folder = open_folder(folder_for_code())
            self._codes = AnswerCache(folder, ("native", source_digest(WRITTEN_BY)))
            self._work = AnswerCache(folder, ("native work",))
        except UsageError:
            return

    def code(self) -> ModelCode | None:
        """Return the cached code, or None, and assign bits to places as in the code."""
        code = None if self._codes is None else self._codes.get(self._question, "", ModelCode.read)
        if code is None:
            return None
        self._model.layout.give_fields(code.fields)
        return code if self._model.layout.fields == code.fields else None

    def keep(self, code: ModelCode) -> None:
        """Cache code for the next search."""
        if self._codes is not None:
            self._codes.keep(self._question, "", asdict(code))
        if self.states_expanded_before():
            self.note(0)

    def states_expanded_before(self) -> int:
        """Return how many states of the model Python expanded in earlier searches, since its code was cached."""
        before = None if self._work is None else self._work.get(self._question, "", lambda kept: int(kept["states"]))
        return before or 0

    def note(self, states: int) -> None:
        """Cache how many states of the model Python has expanded."""
        if self._work is not None:
            self._work.keep(self._question, "", {"states": states})


def question_of(model: Model, dominance: int) -> str:
    """Return the cache key of a model's code: everything that the code depends on, as JSON."""
    sought = [str(each.formula) for each in model.monitors]
    relevant = [[name, *map(plain, model.relevance.patterns(name))] for name in model.layout.tables]
    instance, alike = plain(vars(model.layout.instance)), model.canonical is not None
    return json.dumps([model.protocol.digest, instance, sought, relevant, dominance, alike], sort_keys=True)


def _enter_saved(machine: Machine, saved: SearchCheckpoint) -> None:
    for each, block in saved.blocks("states", CHUNK):
        machine.add_saved(block, each)
