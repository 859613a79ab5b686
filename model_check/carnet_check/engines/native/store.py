"""The states that a search found, in the order found, and a table by which a state is found again.

The states are kept once, as rows of words; the table has a number of 32 bits for each. Both grow in steps: the rows by
mapping more memory behind what there is, which copies nothing, and the table by entering every state anew.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, overload

import numpy as np

from carnet_check.engines.native.compiling import compiled, fetch, nth
from carnet_check.engines.native.rows import code_of, following, hashed, home, put, unpack
from carnet_check.engines.native.tables import CODE, NONE, PLACES, Number, Numbers, StateTable, Words

LOAD = 0.75
"""How full the table may be."""
GROWTH = 1.4
"""How many times larger rows and table become when they are full: so no state takes more than 8 bytes of the table."""
MOST_STATES = (1 << 32) - 1
"""As many as a number of the table can tell apart."""
FEWEST, MOST = 1 << 8, PLACES
"""How many places there are for the codes of a word at first, and at most: half of them stay empty.

The word in which it is counted what was spent has fewer, and is spelt out where they would be too few."""
WORD = 64
BYTES = 8
ALL = np.uint64((1 << WORD) - 1)
"""The field of a word that is kept as it is."""
_PART = 1 << 16
"""How many rows are written anew at once."""
_AHEAD = 256
"""For how many states slots are asked for before the first is entered."""


class Store(Sequence[int]):
    """States as integers of ``words`` words, kept as rows.

    If what was spent matters, the bits of ``spent`` count it, the lowest of the first word.

    Attributes:
        size: how many states there are, which the kernel changes.
        kept: what the kernel is given: rows with room for states to come, and how they are found again.
    """

    def __init__(self, words: int, parts: Iterable[Words], room: int, spent: int = 0) -> None:
        self.words = words
        self.size = 0
        self._spent = spent
        self._plain = [0] if self._most_places(0) < FEWEST else []
        self.table = StateTable(
            rows=np.zeros(0, np.uint64),
            **_arranged(words, self._plain, spent),
            values=np.zeros(words << CODE, np.uint64),
            codes=np.zeros(words * PLACES, np.uint16),
            last=np.full(words, FEWEST - 1),
            used=np.zeros(words, np.int64),
            slots=np.zeros(0, np.uint32),
            numbers=np.uint64(0),
        )
        self._reserve(room)
        for part in parts:
            self._pack(part)
        self._enter_all(room)

    def widen(self, words: int) -> None:
        """Give every state more words."""
        room, more, self.words = self._room, words - self.words, words
        self.table = self.table._replace(
            values=np.append(self.table.values, np.zeros(more << CODE, np.uint64)),
            codes=np.append(self.table.codes, np.zeros(more * PLACES, np.uint16)),
            last=np.append(self.table.last, np.full(more, FEWEST - 1)),
            used=np.append(self.table.used, np.zeros(more, np.int64)),
        )
        self._rewrite(room)
        self._enter_all(room)

    def make_codes(self, word: int) -> None:
        """Make room for more values of a word; if it has too many for codes, keep it in every state as it is."""
        places = 2 * (int(self.table.last[word]) + 1)
        if places > self._most_places(word):
            room = self._room
            self._plain.append(word)
            self._rewrite(room)
            self._enter_all(room)
            return
        self.table.codes[word * PLACES : (word + 1) * PLACES] = 0
        self.table.last[word] = places - 1
        number_again(word, self.table)

    def _most_places(self, word: int) -> int:
        """Return for how many codes of a word there are places at most: what was spent takes bits of a code."""
        return MOST >> (0 if word else self._spent.bit_length())

    @property
    def most(self) -> int:
        """How many states there may be before more room is made."""
        return min(self._room, int(len(self.table.slots) * LOAD))

    @property
    def _room(self) -> int:
        return len(self.table.rows) // self.table.width

    def make_room(self, at_least: int) -> None:
        """Make room for more states, by ``at_least``; raise MemoryError if there is no more."""
        least = self.size + at_least
        if least > MOST_STATES:
            raise MemoryError
        room = max(min(int(self.size * GROWTH), MOST_STATES), least)
        self.table = self.table._replace(rows=np.zeros(0, np.uint64))
        try:
            self._memory.resize(BYTES * self.table.width * room)
        except OSError as error:
            raise MemoryError from error
        finally:
            self.table = self.table._replace(rows=self._mapped())
        self._enter_all(room)

    def _reserve(self, room: int) -> None:
        self._memory = mmap.mmap(-1, BYTES * self.table.width * room, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.table = self.table._replace(rows=self._mapped())

    def _pack(self, states: Words) -> None:
        while (crowded := pack(states, self.words, self.size, self.table)) != NONE:
            self.make_codes(int(crowded))
        self.size += len(states) // self.words

    def _rewrite(self, room: int) -> None:
        """Write every row anew, as states have more words or other words are spelt out."""
        old = self.table
        self.table = old._replace(**_arranged(self.words, self._plain, self._spent))
        self._reserve(room)
        rows, new = old.rows.reshape(-1, old.width), self.table
        for begin in range(0, self.size, _PART):
            end = min(begin + _PART, self.size)
            written = new.rows.reshape(-1, new.width)[begin:end]
            for word in range(len(old.columns)):
                codes = (rows[begin:end, old.columns[word]] >> old.shifts[word]) & old.fields[word]
                if new.fields[word] != old.fields[word]:
                    codes = _decoded(word, codes, old)
                written[:, new.columns[word]] |= codes << new.shifts[word]

    @property
    def bytes_each(self) -> int:
        """How many bytes the words of a state take."""
        return BYTES * self.words

    def words_from(self, begin: int) -> Iterator[Words]:
        """Yield the words of the states from ``begin`` on, of many at once."""
        for at in range(begin, self.size, _PART):
            yield self.words_of(slice(at, min(at + _PART, self.size)))

    def words_of(self, places: slice | Numbers) -> Words:
        """Return the words of some states, a line for each."""
        table = self.table
        rows = table.rows.reshape(-1, table.width)[places]
        words = np.empty((len(rows), self.words), np.uint64)
        for word in range(self.words):
            codes = (rows[:, table.columns[word]] >> table.shifts[word]) & table.fields[word]
            words[:, word] = _decoded(word, codes, table) if table.fields[word] != ALL else codes
        return words

    def _enter_all(self, room: int) -> None:
        self.table = self.table._replace(slots=np.zeros(0, np.uint32))  # the old one goes before the new one comes
        slots, numbers = np.zeros(int(room / LOAD) + 1, np.uint32), np.uint64((1 << room.bit_length()) - 1)
        self.table = self.table._replace(slots=slots, numbers=numbers)
        enter_all(self.size, self.table, np.zeros(_AHEAD, np.uint64))

    def _mapped(self) -> Words:
        """Return the memory as rows, on large pages where there are some: they are looked up at random."""
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(self._memory, np.uint64)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(self.size))]
        state = np.zeros(self.words, np.uint64)
        unpacked(place, self.table, state)
        return state_of(state.tobytes())

    def __iter__(self) -> Iterator[int]:
        return (self[place] for place in range(self.size))


def row_of(state: int, words: int) -> Words:
    """Return a state as words."""
    return np.frombuffer(bytearray(state.to_bytes(BYTES * words, "little")), np.uint64)


def state_of(row: bytes) -> int:
    """Return the state that words are of."""
    return int.from_bytes(row, "little")


def _decoded(word: int, codes: Words, table: StateTable) -> Words:
    numbers = (word << CODE) + (codes >> table.lifts[word]).astype(np.int64)
    values: Words = table.values[numbers] | (codes & table.lows[word])
    return values


def _arranged(words: int, plain: Collection[int], spent: int) -> dict[str, Any]:
    """Return where in a row each word of a state is: first those that are spelt out, and then codes side by side."""
    coded = [word for word in range(words) if word not in plain]
    width = len(plain) + -(-CODE * len(coded) // WORD)
    columns, (shifts, fields, lifts, lows) = np.zeros(words, np.int64), np.zeros((4, words), np.uint64)
    for column, word in enumerate(sorted(plain)):
        columns[word], fields[word] = column, ALL
    for number, word in enumerate(coded):
        place = CODE * number
        columns[word], shifts[word], fields[word] = len(plain) + place // WORD, place % WORD, (1 << CODE) - 1
    if 0 in coded:
        lifts[0], lows[0] = spent.bit_length(), spent
    core = np.full(width, ALL)
    core[columns[0]] ^= np.uint64(spent)
    return {
        **{"width": width, "columns": columns, "shifts": shifts, "fields": fields},
        **{"lifts": lifts, "lows": lows, "spent": np.uint64(spent), "core": core},
    }


def widened(block: bytes, bytes_each: int, words: int) -> Words:
    """Return states that are given as bytes, so many each, as words, so many each; there are no fewer of them."""
    given = np.frombuffer(block, np.uint8).reshape(-1, bytes_each)
    room = np.zeros((len(given), BYTES * words), np.uint8)
    room[:, :bytes_each] = given
    return room.view(np.uint64).ravel()


def packed(states: Iterable[int], words: int) -> Iterator[Words]:
    """Yield states as words, many at once."""
    every = iter(states)
    while part := b"".join(state.to_bytes(BYTES * words, "little") for state in islice(every, 4096)):
        yield np.frombuffer(part, np.uint64)


# --------------------------------------------------------------------------------------------------
# The machine's part of a store: rows are written, read, and entered in the table by which they are found again.


@compiled
def pack(states: Words, words: Number, begin: Number, table: StateTable) -> Number:
    """Write states of so many words as rows from ``begin`` on; return a word that has too many values, or NONE."""
    for number in range(states.shape[0] // words):
        for word in range(words):
            if not put(word, states[nth(number * words + word)], table.rows, (begin + number) * table.width, table):
                return word
    return NONE


@compiled
def number_again(word: Number, table: StateTable) -> None:
    """Enter the codes of a word's values into empty places."""
    for code in range(1, table.used[nth(word)] + 1):
        table.codes[nth(code_of(word, table.values[nth((word << CODE) + code)], table))] = code


@compiled
def unpacked(at: Number, table: StateTable, state: Words) -> None:
    """Write the words of a state that is kept."""
    unpack(at, 1, table, state, 1)


@compiled
def enter_all(count: Number, table: StateTable, homes: Words) -> None:
    """Enter the states found, all of them different, into empty slots."""
    ahead = homes.shape[0]
    for begin in range(0, count, ahead):
        end = min(begin + ahead, count)
        for at in range(begin, end):
            homes[nth(at - begin)] = hashed(table.rows, at * table.width, table)
            fetch(table.slots, home(homes[nth(at - begin)], table))
        for at in range(begin, end):
            h = homes[nth(at - begin)]
            place = home(h, table)
            while table.slots[nth(place)]:
                place = following(place, table)
            table.slots[nth(place)] = np.uint32((h & ~table.numbers) | np.uint64(at + 1))


# --------------------------------------------------------------------------------------------------
# How the bits that a memo reads are gathered into few words, so that few are hashed and compared.
#
# Most memos read some bits in every word of a state, and few in all. So the bits of each word are turned to where they
# have room beside those of other words. A memo that reads more gathers more; what was gathered before is where it was.

_ALL = (1 << WORD) - 1


@dataclass(slots=True)
class Part:
    """One word of a key: for each word of a state which bits of it are there, and by how many they are turned left."""

    masks: list[int]
    turns: list[int]
    used: int = 0

    def take(self, source: int, mask: int) -> bool:
        """Gather more bits of one word, if there is room for them."""
        turns = [self.turns[source]] if self.masks[source] else range(WORD)
        for turn in turns:
            turned = (mask << turn | mask >> WORD - turn) & _ALL
            if not turned & self.used:
                self.masks[source] |= mask
                self.turns[source] = turn
                self.used |= turned
                return True
        return False


class Gathering:
    """The words of a key, gathered from states of ``words`` words; there are at most as many.

    Attributes:
        reads: the bits that are gathered.
        parts: the words of the key.
    """

    def __init__(self, words: int, reads: int) -> None:
        self.words = words
        self.reads = 0
        self.parts: list[Part] = []
        self.read(reads)

    def read(self, reads: int) -> None:
        """Gather these bits, too."""
        fresh, self.reads = reads & ~self.reads, self.reads | reads
        for source in range(self.words):
            mask = fresh >> WORD * source & _ALL
            if mask and not any(part.take(source, mask) for part in self.parts):
                self.parts.append(Part([0] * self.words, [0] * self.words))
                self.parts[-1].take(source, mask)

    def scattered(self, keys: Words) -> Words:
        """Return the states that keys were gathered from, as far as they were."""
        states = np.zeros((len(keys), self.words), np.uint64)
        for column, part in zip(keys.T, self.parts, strict=False):  # there may be more parts by now
            for source, (mask, turn) in enumerate(zip(part.masks, part.turns, strict=True)):
                back = (column << np.uint64(-turn % WORD)) | (column >> np.uint64(turn))
                states[:, source] |= back & np.uint64(mask)
        return states
