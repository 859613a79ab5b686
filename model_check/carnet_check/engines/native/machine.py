"""States that a compiled model keeps and expands, in parts that own them, and numbered in the order found.

Which of a part's states were found when is kept as segments, each of some states of every part. Those that the search
was given come first, in the order in which it had found them.
"""

from __future__ import annotations

import ctypes
import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from carnet_check.engines.explicit.symmetry import Canonicalizer, Tie
from carnet_check.engines.native.compiling import compiled
from carnet_check.engines.native.lowering import WORD, Lowering
from carnet_spec.language import Row

Words = npt.NDArray[np.uint64]
PARTS = 4
"""How many parts own the states."""
BATCH, MISSES, ROOM, VALUES = 512, 256, 1 << 12, 1 << 7
"""How much the code of a model takes at once, and how much room it has at first: see runtime.c."""
RANKS_EACH = 4
"""How many ranks of bundles are in a word: as in runtime.c."""
MOST_STATES = (1 << 32) - 1
"""How many states a part may have: their numbers have 32 bits."""
NUMBERS = 1
"""The bits that the number of a state has at least where a state is looked for; those above are of its hash."""
DONE, MISSING, CROWDED, NO_MEMORY = range(4)
"""Why a search comes back: as in runtime.c."""
NO_CODE, NO_ROOM = -2, -3
"""Instead of a state's number: there is no code for one of its words, or no memory."""
NOT_KNOWN = _MOST = (1 << 64) - 1
"""Instead of a state's number: it is not known yet what stands for one that has to be looked at."""
AT_ONCE = 1 << 14
"""How many states are read or entered at once."""


class TooNarrowError(Exception):
    """Rows have too few bits for the values that words have, or states have too few words."""

    def __init__(self, more: int) -> None:
        super().__init__()
        self.more = more  # so many words more a row should have


@dataclass(frozen=True)
class ModelCode:
    """A model as C, and what is told of it.

    Attributes:
        fields: the places that have bits, in the order in which they got them.
        words: how many words a state has.
        width: how many words a row has.
        steps: the action of each step, and the elements that its parameters are.
        sought: how many things are looked for.
        quick: whether it is to be compiled in a third of the time, for code that is slower by a quarter.
    """

    text: str
    fields: Sequence[tuple[str, Row]]
    words: int
    width: int
    steps: Sequence[tuple[str, Row]]
    sought: int
    quick: bool

    @staticmethod
    def of(model: Lowering, width: int, dominance: int, quick: bool) -> ModelCode:
        """Write a model down, with rows of ``width`` words."""
        spent, each = dominance.bit_length(), -(-model.words // width)
        bits = WORD if each == 1 else (WORD - spent) // each
        constants = {
            "WORDS": model.words,
            "SPENT": f"{dominance}ul",
            "WIDTH": width,
            "BITS": bits,
            "PLACE(w)": f"((w) / {each} * 64 + (w) % {each} * {bits} + ({bits} < 64 && (w) < {each} ? {spent} : 0))",
            "STEPS": len(model.ground.steps),
            "MONITORS": len(model.sought),
            "ALIKE": int(model.alike),
            **{
                "MOST_STATES": f"{MOST_STATES}ul",
                "NUMBERS": f"{NUMBERS}ul",
                "PARTS": PARTS,
                "BATCH": BATCH,
                "MISSES": MISSES,
                "ROOM": ROOM,
                "VALUES": VALUES,
            },
        }
        runtime = files("carnet_check.engines.native").joinpath("runtime.c").read_text("utf-8")
        lines = [
            "#define _GNU_SOURCE",
            "#include <stdint.h>",
            "typedef uint64_t u64;",
            "typedef uint32_t u32;",
            *(f"#define {name} {value}" for name, value in constants.items()),
            runtime.replace('#include "model.h"', "\n".join(model.lines())),
        ]
        return ModelCode(
            text="\n".join(lines),
            fields=model.layout.fields,
            words=model.words,
            width=width,
            steps=[
                (step.action.name, tuple(step.env[var.name] for var in step.action.params))
                for step in model.ground.steps
            ],
            sought=len(model.sought),
            quick=quick,
        )

    @staticmethod
    def read(kept: Mapping[str, Any]) -> ModelCode:
        """Return what was kept as JSON values; raise ValueError, TypeError or LookupError if that was no model."""
        rows = {key: [(str(name), tuple(map(str, row))) for name, row in kept[key]] for key in ("fields", "steps")}
        return ModelCode(**{**kept, **rows})


def first_width(words: int) -> int:
    """Return how many words a row has at first: few words of a state have many values."""
    return -(-words // 4)


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    """Return where an array begins; the array lives as long as what is returned."""
    return array.ctypes.data_as(ctypes.c_void_p)


class Machine(Sequence[int]):
    """The states found, in the order found."""

    def __init__(self, code: ModelCode, canonical: Canonicalizer | None, threads: int) -> None:
        self.code, self.words, self.width = code, code.words, code.width
        self.steps, self.sought = code.steps, code.sought
        self._canonical = canonical
        self._library = compiled(code.text, code.quick)
        self._library.begin.restype = ctypes.c_void_p
        self._library.offer.restype = ctypes.c_long
        for name in (
            "add",
            "strays",
            "missing",
            "logged",
            "held",
            "predecessor",
            *(("orbits",) if canonical is not None else ()),
        ):
            getattr(self._library, name).restype = ctypes.c_uint64
        self._library.pass_over.restype = ctypes.c_long
        self._alike = described(canonical, self.words)
        classes, pieces, columns, shared, length = self._alike
        pointers = (ctypes.c_void_p * 4)(*(array.ctypes.data for array in (classes, pieces, columns, shared)))
        begun = self._library.begin(_u(threads), _u(len(classes) - 1), _u(len(pieces) - 1), _u(length), pointers)
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
        """Give the memory back: nothing can be asked any more."""
        if hasattr(self, "_search"):
            self._finish(self._search)
            del self._search

    def adopt(self, other: Machine) -> None:
        """Take over all states of another machine, and their numbers; the model is the same, maybe with more bits.

        Raises:
            MemoryError: there is no more memory.
            TooNarrowError: rows have too few bits.
        """
        for part in range(PARTS):
            count = other._ends[part]
            for at in range(0, count, AT_ONCE):
                words = np.zeros((min(AT_ONCE, count - at), self.words), np.uint64)
                words[:, : other.words] = other._words_of(part, at, len(words))
                self._enter(words.ravel())
        self._owners, self._given, self._ranks = other._owners, other._given, other._ranks
        self._begins, self._segments, self._ends = other._begins, other._segments, other._ends
        self._library.level(self._search, *(_pointer(other._told[:, column].copy()) for column in (4, 1, 5)))
        self._count()

    def tally(self) -> list[int]:
        """Return how often each step was taken since the last time."""
        self._count()
        counts = (self._fired - self._tallied).tolist()
        self._tallied = self._fired.copy()
        return [*map(int, counts)]

    def strays(self) -> list[int]:
        """Return the numbers of the states that compiled code leaves to others to expand, and forget them."""
        found = []
        for part in range(PARTS):
            count = self._library.strays(self._search, _u(part), None)
            places = np.zeros(count, np.uint64)
            if count:
                self._library.strays(self._search, _u(part), _pointer(places))
            found += [self.number_of(part, int(place)) for place in places]
        return found

    def offer(self, state: int) -> tuple[int, int] | None:
        """Enter a state that others found; return its part and its place there, or nothing if it is there already.

        Raises:
            MemoryError: there is no more memory.
            TooNarrowError: rows have too few bits.
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

    def waiting(self, most: int) -> Iterator[int]:
        """Yield some states that are expanded next."""
        for part in range(PARTS):
            expanded, level = int(self._told[part, 1]), int(self._told[part, 5])
            for row in self._words_of(part, expanded, min(most // PARTS, level - expanded)):
                yield int.from_bytes(row.tobytes(), "little")

    @property
    def dominated(self) -> int:
        """How many successors were found at less cost."""
        return int(self._told[:, 2].sum()) + self.dominated_elsewhere

    @property
    def held(self) -> int:
        """How many bytes states take, with the tables by which they are found again."""
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
        return int.from_bytes(self._words_of(part, place, 1).tobytes(), "little")

    def place_of(self, number: int) -> tuple[int, int]:
        """Return the part that owns a state, and which of its states that is."""
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
        """Return the number of a state."""
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
        """For each state given which one of its owner's it is."""
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

    def add(self, states: Words) -> None:
        """Enter states that were found elsewhere, in the order found, as words one after the other.

        Raises:
            MemoryError: there is no more memory.
            TooNarrowError: rows have too few bits.
        """
        self._owners.append(self._enter(states))
        self._given += len(self._owners[-1])
        self._count()
        self._ends = tuple(map(int, self._told[:, 0]))

    def _enter(self, states: Words) -> npt.NDArray[np.uint8]:
        """Enter states; return the owner of each."""
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
        """Say which states are expanded next: those of a level, of which some are already."""
        places = [self._before(number) for number in (begin, expanded, end)]
        self._library.level(self._search, *map(_pointer, places))

    def _before(self, number: int) -> Words:
        """Return how many states of each part come before a number."""
        if number <= self._given:
            return np.bincount(self._owner[:number], minlength=PARTS).astype(np.uint64)
        if number == len(self):
            return np.array(self._ends, np.uint64)
        part, place = self.place_of(number)
        segment = bisect_right(self._begins, number) - 1
        before = [*self._end_of(segment)[:part], place, *self._segments[segment][part + 1 :]]
        return np.array(before, np.uint64)

    def leave_out(self, number: int) -> None:
        """Have a state of the level not be expanded."""
        part, place = self.place_of(number)
        if not self._library.leave_out(self._search, _u(part), _u(place)):
            raise MemoryError

    def pass_over(self, begin: int, end: int) -> list[int]:
        """Leave out the states of the level that are there at less cost; return which."""
        passed = self._library.pass_over(self._search)
        if passed < 0:
            raise MemoryError
        return [number for number in range(begin, end) if self._left_out(number)] if passed else []

    def _left_out(self, number: int) -> bool:
        part, place = self.place_of(number)
        return bool(self._library.left_out(self._search, _u(part), _u(place)))

    # -- expanding ---------------------------------------------------------------------------------

    def expand(self, until: int, wanted: Iterable[int]) -> int:
        """Expand states of the level until so many of all are; return how many are.

        Raises:
            MemoryError: there is no more memory.
            TooNarrowError: rows have too few bits.
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
        """Take so many steps of random walks; return why it comes back."""
        return int(self._library.walk(self._search, ctypes.byref(course), _u(most), _pointer(self._marked(wanted))))

    def _marked(self, wanted: Iterable[int]) -> Words:
        """Return what is looked for as bits."""
        marks = np.zeros(1 + self.sought // WORD, np.uint64)
        for number in wanted:
            marks[number // WORD] |= np.uint64(1 << number % WORD)
        return marks

    def _count(self) -> None:
        self._library.counts(self._search, *map(_pointer, (self._told, self._fired, self._first)))

    def _more_values(self) -> None:
        """Make room for more values of the words that have too many; raise TooNarrowError where no code is left."""
        grown = [self._library.grow(self._search, _u(word)) for word in range(self.words)]
        if min(grown) < 0:
            raise MemoryError
        if not max(grown):
            raise TooNarrowError(1)

    def _work_out(self) -> None:
        """Work out how ties are broken in the states of which that is not known, and in those that stand for them."""
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
            told = bytearray(b"".join(self._spelled(tie) for tie in ties))
            self._library.note_ties(self._search, _u(len(ties)), _pointer(np.frombuffer(told, np.uint64)))

    def _spelled(self, tie: Tie) -> bytes:
        """Return a tie as words: see alike_t in runtime.c."""
        ranks = np.zeros(-(-len(tie.ranks) // RANKS_EACH) * RANKS_EACH, np.uint16)
        ranks[: len(tie.ranks)] = tie.ranks
        size = min(tie.stabilizer, _MOST)
        before, after = (row_of(bits, self.words).tobytes() for bits in (tie.shared, tie.least))
        return before + ranks.tobytes() + after + size.to_bytes(8, "little")

    def sighted(
        self, wanted: Iterable[int], elsewhere: Mapping[int, tuple[int, int]]
    ) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield each thing that was seen, and where the first state is in which it was."""
        for monitor in wanted:
            seen = [(part, int(self._first[part, monitor]) - 1) for part in range(PARTS) if self._first[part, monitor]]
            seen += [elsewhere[monitor]] if monitor in elsewhere else []
            if seen:
                yield monitor, min(seen, key=lambda place: self.number_of(*place))

    # -- going back --------------------------------------------------------------------------------

    def origin(self, number: int, log: npt.NDArray[np.uint32]) -> tuple[int, frozenset[str]]:
        """Return the first state that a state follows, of the round in which it was found, and by which actions."""
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

    def log(self) -> npt.NDArray[np.uint32]:
        """Return for each round and each part how many states were expanded and found by then."""
        count = self._library.logged(self._search, None)
        log = np.zeros((count, PARTS, 2), np.uint32)
        self._library.logged(self._search, _pointer(log))
        return log

    # -- reading -----------------------------------------------------------------------------------

    def words_from(self, begin: int) -> Iterator[Words]:
        """Yield the words of the states from ``begin`` on, of many at once, a line for each."""
        for at in range(begin, self._given, AT_ONCE):
            yield np.array([row_of(self[each], self.words) for each in range(at, min(at + AT_ONCE, self._given))])
        skipped = begin - self._given
        for begins, ends in itertools.pairwise([*self._segments, self._ends]):
            for part, (first, end) in enumerate(zip(begins, ends, strict=True)):
                for at in range(first + max(0, skipped), end, AT_ONCE):
                    yield self._words_of(part, at, min(AT_ONCE, end - at))
                skipped -= end - first

    def _words_of(self, part: int, place: int, count: int) -> Words:
        found = np.zeros((count, self.words), np.uint64)
        self._library.states(self._search, _u(part), _u(place), _u(count), _pointer(found))
        return found

    def stand_for(self, canonical: Canonicalizer, begin: int, end: int) -> int:
        """Return for how many some states stand."""
        total = 0
        for part, (first, last) in enumerate(zip(self._before(begin), self._before(end), strict=True)):
            for at in range(int(first), int(last), AT_ONCE):
                total += self._stand_for(canonical, part, at, min(AT_ONCE, int(last) - at))
        return total

    def _stand_for(self, canonical: Canonicalizer, part: int, first: int, count: int) -> int:
        """Have those counted of which bundles say all that matters, and count the others, many of which are alike."""
        open_, total = np.ones(count, np.uint8), 0
        if canonical.order * count <= _MOST:
            total = self._library.orbits(
                self._search, _u(part), _u(first), _u(count), _u(canonical.order), _pointer(open_)
            )
        moving = row_of(canonical.moving, self.words)
        rows = Counter(row.tobytes() for row in self._words_of(part, first, count)[open_ > 0] & moving)
        return total + sum(canonical.orbit_size(int.from_bytes(row, "little")) * times for row, times in rows.items())


_u = ctypes.c_uint64


def row_of(state: int, words: int) -> Words:
    """Return a state as words."""
    return np.frombuffer(bytearray(state.to_bytes(8 * words, "little")), np.uint64)


def described(canonical: Canonicalizer | None, words: int) -> tuple[Words, Words, Words, Words, int]:
    """Describe bundles: where classes begin, and bundles among the pieces, these, shared bits, and a length.

    A bundle's number has so many words. A piece has bits side by side in a word of the state and in one of the number.
    """
    classes = [] if canonical is None else canonical.classes
    bundles = [bundle for each in classes for bundle in each]
    pieces = [list(_pieces(bundle.parts)) for bundle in bundles]
    columns = np.array([piece for each in pieces for piece in each], np.uint64).reshape(-1, 5)
    shared = np.zeros(words, np.uint64) if canonical is None else row_of(canonical.shared, words)
    return (
        np.array([0, *itertools.accumulate(map(len, classes))], np.uint64),
        np.array([0, *itertools.accumulate(map(len, pieces))], np.uint64),
        columns,
        shared,
        1 + max((int(part) for part in columns[:, 3]), default=0),
    )


def _pieces(parts: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, int, int, int]]:
    """Divide places, each by its mask, its shift and its place in the number, where a word of the number ends.

    No place has bits in two words of the state.

    A piece is a word of the state, a shift and a field there, a word of the number, and a shift there.
    """
    for mask, shift, to in parts:
        at, end = shift, mask.bit_length()
        while at < end:
            number = to + at - shift
            width = min(end - at, WORD - number % WORD)
            yield at // WORD, at % WORD, (1 << width) - 1, number // WORD, number % WORD
            at += width
