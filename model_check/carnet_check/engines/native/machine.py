"""The states that compiled code stores and expands: each is owned by one of several parts and numbered as found.

The numbering consists of segments, each of consecutive states of every part. States that were added by the search come
before all segments, in the order in which the search found them.
"""

from __future__ import annotations

import ctypes
import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.engines.native.alike import shared_words, tie_words
from carnet_check.engines.native.compiling import compile_c
from carnet_check.engines.native.lowering import WORD
from carnet_check.engines.native.model_code import MISSES, PARTS, ModelCode, TooNarrowError

Words = npt.NDArray[np.uint64]
#: Of shape (rounds, parts, 2): the states expanded and found when each round ended.
Log = npt.NDArray[np.uint32]
#: Why compiled code returns, or does not expand a state: as in runtime.c.
DONE, MISSING, CROWDED, NO_MEMORY, STRAY = range(5)
#: Returned instead of a state: one of its words has a value without a code, or there is no memory.
NO_CODE, NO_ROOM = -2, -3
#: Returned instead of a number: the representative of some state has to be computed first.
NOT_KNOWN = _MOST = (1 << 64) - 1
AT_ONCE = 1 << 14  #: The number of states that are read or entered at once.
STEPS_AT_ONCE = 1 << 20  #: The number of steps of a graph that are stored at once.


class Places(NamedTuple):
    """Where states are."""

    owners: npt.NDArray[np.uint8]  #: for each state, by its number, the part that owns it.
    ranks: npt.NDArray[np.uint32]  #: for each state which of its owner's states it is.
    numbers: Sequence[npt.NDArray[np.uint32]]  #: for each part the numbers of its states.


class Steps(NamedTuple):
    """The steps that change some states."""

    counts: npt.NDArray[np.uint64]  #: for each state the number of its steps.
    #: for each step the number of the state that it leads to; steps are in the order of their states.
    targets: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.uint16]  #: for each step its label.
    #: for each state DONE, or why it has no steps: STRAY, or otherwise one leads to a state that was not found.
    why: npt.NDArray[np.uint8]


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    """Return a pointer to an array, which keeps the array alive."""
    return array.ctypes.data_as(ctypes.c_void_p)


class Machine(Sequence[int]):
    """The states found, in the order found, each packed into one integer."""

    def __init__(self, code: ModelCode, canonical: Canonicalizer | None, threads: int) -> None:
        self.code, self.words, self.width = code, code.words, code.width
        self.steps, self.sought = code.steps, code.sought
        self._canonical = canonical
        self._library = compile_c(code.text, code.quick)
        self._library.begin.restype = ctypes.c_void_p
        self._library.offer.restype = ctypes.c_long
        for name in (
            "add",
            "strays",
            "missing",
            "logged",
            "held",
            "predecessor",
            "left_out",
            *(("orbits",) if canonical is not None else ()),
            *(("graph", "find_state") if code.width > 1 else ()),
        ):
            getattr(self._library, name).restype = ctypes.c_uint64
        self._library.pass_over.restype = ctypes.c_long
        self._shared = [] if canonical is None else [*shared_words(canonical)]  # as the code has them
        begun = self._library.begin(_u(threads))
        if not begun:
            raise MemoryError
        self._finish = self._library.finish  # looked up now: when it is collected may be anywhere
        self._search = ctypes.c_void_p(begun)
        self._ties, self._places_of_ties = 0, 1 << 8
        self._owners: list[npt.NDArray[np.uint8]] = []
        self._given = 0
        self._begins: list[int] = []  # for each segment its first number,
        self._segments: list[tuple[int, ...]] = []  # and where it begins in each part
        self._ends = (0,) * PARTS
        self._fired = np.zeros(len(self.steps), np.uint64)
        self._tallied = np.zeros(len(self.steps), np.uint64)
        self._first = np.zeros((PARTS, self.sought), np.uint64)
        self.dominated_elsewhere = 0
        self._ranks = np.zeros(0, np.uint32)
        self._told = np.zeros((PARTS, 6), np.uint64)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory; no other method may be called afterwards."""
        if hasattr(self, "_search"):
            self._finish(self._search)
            del self._search

    def adopt(self, other: Machine) -> None:
        """Copy all states of another machine of the same model, with their numbers; this one may have more places.

        Raises MemoryError if there is no more memory; TooNarrowError if rows have too few bits.
        """
        for part in range(PARTS):
            for places in _some_at_once(0, other._ends[part]):
                words = np.zeros((len(places), self.words), np.uint64)
                words[:, : other.words] = other._words_of(part, places)
                self._enter(words.ravel())
        self._owners, self._given, self._ranks = other._owners, other._given, other._ranks
        self._begins, self._segments, self._ends = other._begins, other._segments, other._ends
        self._library.level(self._search, *(_pointer(other._told[:, column].copy()) for column in (4, 1, 5)))
        for part, places in other.left_out():
            for place in places.tolist():
                self._leave_out(part, place)
        self._count()

    def tally(self) -> list[int]:
        """Return how often each step was taken since the last call."""
        self._count()
        counts = (self._fired - self._tallied).tolist()
        self._tallied = self._fired.copy()
        return [*map(int, counts)]

    def strays(self) -> list[int]:
        """Return the numbers of the states that Python has to expand, and forget them."""
        found = []
        for part in range(PARTS):
            count = self._library.strays(self._search, _u(part), None)
            places = np.zeros(count, np.uint64)
            if count:
                self._library.strays(self._search, _u(part), _pointer(places))
            found += [self.number_of(part, int(place)) for place in places]
        return found

    def offer(self, state: int) -> tuple[int, int] | None:
        """Add a state that Python found; return its part and its index there, or None if it is there already.

        Raises MemoryError if there is no more memory; TooNarrowError if rows have too few bits.
        """
        if state.bit_length() >= WORD * self.words:  # the last bit marks rows of one word
            raise TooNarrowError(0)
        row = row_of(state, self.words)
        while (entered := self._library.offer(self._search, _pointer(row))) == NO_CODE:
            self._more_values()
        if entered == NO_ROOM:
            raise MemoryError
        self.dominated_elsewhere += entered < 0
        return (entered & 255, (entered >> 8) - 1) if entered > 0 else None

    def close_segment(self) -> None:
        """Number the states that were found since, part by part."""
        self._count()
        self._close_segment()

    @property
    def dominated_count(self) -> int:
        """The number of successors that were dropped because they were found before at less cost."""
        return int(self._told[:, 2].sum()) + self.dominated_elsewhere

    @property
    def held(self) -> int:
        """The memory in bytes of the states and their hash tables."""
        return int(self._library.held(self._search))

    # -- numbers of states -------------------------------------------------------------------------

    def __len__(self) -> int:
        return sum(self._ends)

    @overload
    def __getitem__(self, number: int) -> int: ...
    @overload
    def __getitem__(self, number: slice) -> list[int]: ...
    def __getitem__(self, number: int | slice) -> int | list[int]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        part, place = self.place_of(number)
        return int.from_bytes(self._words_of(part, np.array([place], np.uint64)).tobytes(), "little")

    def place_of(self, number: int) -> tuple[int, int]:
        """Return the part that owns a numbered state, and the state's index there."""
        if number < self._given:
            return int(self._owner[number]), int(self._rank[number])
        segment = bisect_right(self._begins, number) - 1
        left = number - self._begins[segment]
        for part, (begin, end) in enumerate(zip(self._segments[segment], self._end_of(segment), strict=True)):
            if left < end - begin:
                return part, begin + left
            left -= end - begin
        raise IndexError(number)

    def number_of(self, part: int, place: int) -> int:
        """Return the number of the state at an index of a part."""
        segment = bisect_right([each[part] for each in self._segments], place) - 1
        if segment < 0:
            return int(np.flatnonzero(self._owner == part)[place])
        begins, ends = self._segments[segment], self._end_of(segment)
        before = sum(end - begin for begin, end in itertools.islice(zip(begins, ends, strict=True), part))
        return self._begins[segment] + before + place - begins[part]

    def _end_of(self, segment: int) -> tuple[int, ...]:
        return self._segments[segment + 1] if segment + 1 < len(self._segments) else self._ends

    @property
    def _owner(self) -> npt.NDArray[np.uint8]:
        if len(self._owners) > 1:
            self._owners = [np.concatenate(self._owners)]
        return self._owners[0] if self._owners else np.zeros(0, np.uint8)

    @property
    def _rank(self) -> npt.NDArray[np.uint32]:
        """For each added state, its index in the part that owns it."""
        if len(self._ranks) < self._given:
            self._ranks = np.zeros(self._given, np.uint32)
            for part in range(PARTS):
                own = np.flatnonzero(self._owner == part)
                self._ranks[own] = np.arange(len(own))
        return self._ranks

    def _close_segment(self) -> None:
        """Number the states that were found since, part by part."""
        ends = tuple(map(int, self._told[:, 0]))
        if ends != self._ends:
            self._begins.append(len(self))
            self._segments.append(self._ends)
            self._ends = ends

    # -- states given ------------------------------------------------------------------------------

    def add(self, states: Iterable[int]) -> None:
        """Add states that the search found, in this order.

        Raises MemoryError if there is no more memory; TooNarrowError if rows have too few bits.
        """
        self._add(np.frombuffer(b"".join(state.to_bytes(8 * self.words, "little") for state in states), np.uint64))

    def add_saved(self, block: bytes, bytes_each: int) -> None:
        """Add states as :meth:`add` does, from blocks of ``bytes_each`` bytes, which are filled up with zeros."""
        given = np.frombuffer(block, np.uint8).reshape(-1, bytes_each)
        room = np.zeros((len(given), 8 * self.words), np.uint8)
        room[:, :bytes_each] = given
        self._add(room.view(np.uint64).ravel())

    def _add(self, states: Words) -> None:
        self._owners.append(self._enter(states))
        self._given += len(self._owners[-1])
        self._count()
        self._ends = tuple(map(int, self._told[:, 0]))

    def _enter(self, states: Words) -> npt.NDArray[np.uint8]:
        """Add states; return the part that owns each."""
        count = len(states) // self.words
        owners = np.zeros(count, np.uint8)
        done = 0
        while done < count:
            left = states[done * self.words :]
            entered = self._library.add(self._search, _pointer(left), _u(count - done), _pointer(owners[done:]))
            if entered == _MOST:
                raise MemoryError
            done += entered
            if done < count:
                self._more_values()
        return owners

    def begin_level(self, begin: int, expanded: int, end: int) -> None:
        """Set the level to expand: states ``begin`` to ``end``, of which those before ``expanded`` are done."""
        places = [self._before(number) for number in (begin, expanded, end)]
        self._library.level(self._search, *map(_pointer, places))

    def _before(self, number: int) -> Words:
        """Return for each part the number of its states that come before a numbered one."""
        if number <= self._given:
            return np.bincount(self._owner[:number], minlength=PARTS).astype(np.uint64)
        if number == len(self):
            return np.array(self._ends, np.uint64)
        part, place = self.place_of(number)
        segment = bisect_right(self._begins, number) - 1
        before = [*self._end_of(segment)[:part], place, *self._segments[segment][part + 1 :]]
        return np.array(before, np.uint64)

    def leave_out(self, number: int) -> None:
        """Exclude a state of the level from expansion. Raises MemoryError if there is no more memory."""
        self._leave_out(*self.place_of(number))

    def _leave_out(self, part: int, place: int) -> None:
        if not self._library.leave_out(self._search, _u(part), _u(place)):
            raise MemoryError

    def pass_over(self) -> int:
        """Exclude from expansion the states of the level that were found at less cost, too; return their number."""
        passed = int(self._library.pass_over(self._search))
        if passed < 0:
            raise MemoryError
        return passed

    def left_out(self) -> Iterator[tuple[int, Words]]:
        """Yield for each part which of its states are not expanded in this level."""
        for part in range(PARTS):
            places = np.zeros(self._library.left_out(self._search, _u(part), None), np.uint64)
            if len(places):
                self._library.left_out(self._search, _u(part), _pointer(places))
                yield part, places

    def _bounds(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield where each segment begins in each part, and where it ends."""
        return itertools.pairwise([*self._segments, self._ends])

    def passed_over_for(self, canonical: Canonicalizer) -> int:
        """Return for how many states those stand that are not expanded in this level."""
        return sum(self._stand_for(canonical, part, places) for part, places in self.left_out())

    # -- expanding ---------------------------------------------------------------------------------

    def expand(self, until: int, wanted: Iterable[int]) -> int:
        """Expand states of the level until ``until`` states are expanded in all; return how many are.

        Raises MemoryError if there is no more memory; TooNarrowError if rows have too few bits.
        """
        marks = self._marked(wanted)
        while True:
            why = self._library.run(self._search, _u(until), _pointer(marks))
            self._count()
            self._close_segment()
            if why == NO_MEMORY:
                raise MemoryError
            if why == CROWDED:
                self._more_values()
            elif why == MISSING:
                self._work_out()
            if why == DONE:
                return int(self._told[:, 1].sum())

    def walk(self, course: ctypes.Structure, most: int, wanted: Iterable[int]) -> int:
        """Take at most ``most`` steps of random walks; return the reason why it stopped."""
        return int(self._library.walk(self._search, ctypes.byref(course), _u(most), _pointer(self._marked(wanted))))

    def _marked(self, wanted: Iterable[int]) -> Words:
        """Return the numbers of monitors and rules as a bit mask in words."""
        marks = np.zeros(1 + self.sought // WORD, np.uint64)
        for number in wanted:
            marks[number // WORD] |= np.uint64(1 << number % WORD)
        return marks

    def _count(self) -> None:
        self._library.counts(self._search, *map(_pointer, (self._told, self._fired, self._first)))

    def _more_values(self) -> None:
        """Enlarge the value tables of full words. Raises TooNarrowError if rows have no bits for more values."""
        grown = [self._library.grow(self._search, _u(word)) for word in range(self.words)]
        if min(grown) < 0:
            raise MemoryError
        if not max(grown):
            raise TooNarrowError(1)

    def _work_out(self) -> None:
        """Compute how ties are broken in the states that wait for it, and in their representatives."""
        canonical = self._canonical
        assert canonical is not None
        states = np.zeros((MISSES, self.words), np.uint64)
        for part in range(PARTS):
            count = self._library.missing(self._search, _u(part), _pointer(states))
            asked = [int.from_bytes(row.tobytes(), "little") for row in states[:count]]
            ties = dict.fromkeys(canonical.tie(each) for state in asked for each in (state, canonical(state)))
            self._ties += len(ties)
            while 2 * self._ties > self._places_of_ties:
                self._places_of_ties *= 4
                if not self._library.more_ties(self._search, _u(self._places_of_ties)):
                    raise MemoryError
            words = np.array([tie_words(tie, self._shared) for tie in ties], np.uint64)
            self._library.note_ties(self._search, _u(len(ties)), _pointer(words))

    def first_sightings(
        self, wanted: Iterable[int], elsewhere: Mapping[int, tuple[int, int]]
    ) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield each wanted monitor that held in some state, with the part and index of the first such state."""
        for monitor in wanted:
            seen = [(part, int(self._first[part, monitor]) - 1) for part in range(PARTS) if self._first[part, monitor]]
            seen += [elsewhere[monitor]] if monitor in elsewhere else []
            if seen:
                yield monitor, min(seen, key=lambda place: self.number_of(*place))

    # -- going back --------------------------------------------------------------------------------

    def origin(self, number: int, log: Log) -> tuple[int, frozenset[str]]:
        """Return the first predecessor of a state in the round that found it, and the actions that lead from it."""
        part, place = self.place_of(number)
        round_ = int(np.searchsorted(log[:, part, 1], place, side="right"))
        target = row_of(self[number], self.words)
        led = np.zeros(len(self.steps) + 1, np.uint8)
        for other in range(PARTS):
            begin = int(log[round_ - 1, other, 0]) if round_ else 0
            asked = (self._search, _u(other), _u(begin), _u(int(log[round_, other, 0])))
            while (found := self._library.predecessor(*asked, _pointer(target), _pointer(led))) == NOT_KNOWN:
                self._work_out()
            if found:
                actions = frozenset(self.steps[int(step)][0] for step in np.flatnonzero(led))
                return self.number_of(other, found - 1), actions
        raise AssertionError("a state follows none of the round in which it was found")

    def log(self, before: Iterable[Log] = ()) -> Log:
        """Return how far each round came, after the rounds ``before`` of machines from which states were copied."""
        count = self._library.logged(self._search, None)
        log = np.zeros((count, PARTS, 2), np.uint32)
        self._library.logged(self._search, _pointer(log))
        return np.concatenate([*before, log])

    # -- reading -----------------------------------------------------------------------------------

    def words_from(self, begin: int) -> Iterator[Words]:
        """Yield arrays of shape (states, words) with the states from ``begin`` on, at most :data:`AT_ONCE` each."""
        for at in range(begin, self._given, AT_ONCE):
            yield np.array([row_of(self[each], self.words) for each in range(at, min(at + AT_ONCE, self._given))])
        skipped = begin - self._given
        for begins, ends in self._bounds():
            for part, (first, end) in enumerate(zip(begins, ends, strict=True)):
                yield from (self._words_of(part, places) for places in _some_at_once(first + max(0, skipped), end))
                skipped -= end - first

    def _words_of(self, part: int, places: Words) -> Words:
        found = np.zeros((len(places), self.words), np.uint64)
        self._library.states(self._search, _u(part), _pointer(places), _u(len(places)), _pointer(found))
        return found

    def stand_for(self, canonical: Canonicalizer, begin: int, end: int) -> int:
        """Return the sum of the orbit sizes of the states numbered from ``begin`` to ``end``."""
        total = 0
        for part, (first, last) in enumerate(zip(self._before(begin), self._before(end), strict=True)):
            total += sum(self._stand_for(canonical, part, places) for places in _some_at_once(int(first), int(last)))
        return total

    def _stand_for(self, canonical: Canonicalizer, part: int, places: Words) -> int:
        """Sum orbit sizes: by compiled code where the bundles determine them, by Python elsewhere, equal ones once."""
        open_, total = np.ones(len(places), np.uint8), 0
        if canonical.order * len(places) <= _MOST:
            total = self._library.orbits(
                self._search, _u(part), _pointer(places), _u(len(places)), _u(canonical.order), _pointer(open_)
            )
        known = (1 << WORD * self.words) - 1  # places may have got further bits, which none of these states has
        moving = row_of(canonical.moving & known, self.words)
        rows = Counter(row.tobytes() for row in self._words_of(part, places[open_ > 0]) & moving)
        return total + sum(canonical.orbit_size(int.from_bytes(row, "little")) * times for row, times in rows.items())

    # -- the graph of all states -------------------------------------------------------------------

    def places(self) -> Places:
        """Return where each state is."""
        segments = itertools.pairwise([*self._segments, self._ends])
        parts = np.arange(PARTS, dtype=np.uint8)
        found = [np.repeat(parts, np.subtract(ends, begins)) for begins, ends in segments]
        owners = np.concatenate([self._owner[: self._given], *found])
        ranks, numbers = np.zeros(len(owners), np.uint32), []
        for part in range(PARTS):
            numbers.append(np.flatnonzero(owners == part).astype(np.uint32))
            ranks[numbers[part]] = np.arange(len(numbers[part]))
        return Places(owners, ranks, numbers)

    def steps_of_all(self, places: Places, labels: npt.NDArray[np.uint16]) -> Iterator[Steps]:
        """Yield the steps of all states, in batches; ``labels`` has the label of each step of the model."""
        known = (ctypes.c_void_p * PARTS)(*(numbers.ctypes.data for numbers in places.numbers))
        at_once = max(1, STEPS_AT_ONCE // (1 + len(self.steps)))
        room = at_once * len(self.steps)
        targets, taken = np.zeros(room, np.uint32), np.zeros(room, np.uint16)
        for at in range(0, len(places.owners), at_once):
            owners, ranks = places.owners[at : at + at_once], places.ranks[at : at + at_once]
            ends, why = np.zeros(len(owners), np.uint64), np.zeros(len(owners), np.uint8)
            given = _pointer(owners), _pointer(ranks), known, _pointer(labels)
            made = _pointer(ends), _pointer(targets), _pointer(taken), _pointer(why)
            count = self._library.graph(self._search, _u(len(owners)), *given, *made)
            yield Steps(np.diff(ends, prepend=np.uint64(0)), targets[:count].copy(), taken[:count].copy(), why)

    def states_with(self, places: Places, monitor: int) -> npt.NDArray[np.bool_]:
        """Return marks at the states in which a monitor holds; the code has to know all their bits."""
        marks = np.zeros(len(places.owners), np.uint8)
        asked = _u(len(marks)), _pointer(places.owners), _pointer(places.ranks), _u(monitor)
        self._library.states_with(self._search, *asked, _pointer(marks))
        return marks.astype(np.bool_)

    def find(self, state: int) -> tuple[int, int] | None:
        """Return the part that owns a state and the state's place there, or None if it was not found."""
        narrow = state.bit_length() < WORD * self.words
        found = self._library.find_state(self._search, _pointer(row_of(state, self.words))) if narrow else 0
        return (found & 255, (found >> 8) - 1) if found else None

    def components(self, begins: npt.NDArray[np.uint64], targets: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """Return the number of the strongly connected component of each node of a graph.

        Raises MemoryError if there is no more memory.

        Args:
            begins: the number of the first edge of each node, and after that the number of all edges.
            targets: where edges lead.
        """
        found = np.zeros(len(begins) - 1, np.uint32)
        if not self._library.components(_u(len(found)), _pointer(begins), _pointer(targets), _pointer(found)):
            raise MemoryError
        return found


_u = ctypes.c_uint64


def _some_at_once(begin: int, end: int) -> Iterator[Words]:
    """Yield places of states, of many at once."""
    return (np.arange(at, min(at + AT_ONCE, end), dtype=np.uint64) for at in range(begin, end, AT_ONCE))


def log_from(kept: Sequence[Any]) -> Log:
    """Return a log from its JSON values."""
    return np.array(kept, np.uint32).reshape(-1, PARTS, 2)


def row_of(state: int, words: int) -> Words:
    """Return a packed state as an array of words."""
    return np.frombuffer(bytearray(state.to_bytes(8 * words, "little")), np.uint64)
