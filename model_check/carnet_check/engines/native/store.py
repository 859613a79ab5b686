"""The states that a search found, in the order found, and a table by which a state is found again.

The states are kept once, as rows of words; the table has a number of 32 bits for each. Both grow in steps: the rows by
mapping more memory behind what there is, which copies nothing, and the table by entering every state anew.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

import numpy as np

from carnet_check.engines.native import kernel
from carnet_check.engines.native.tables import Form, Kept, Slots, Words

LOAD = 0.75
"""How full the table may be."""
GROWTH = 1.4
"""How many times larger rows and table become when they are full."""
MOST_STATES = (1 << 32) - 1
"""As many as a number of the table can tell apart."""
BYTES = 8
_AHEAD = 256
"""For how many states slots are asked for before the first is entered."""


class Store(Sequence[int]):
    """States as integers, kept as rows of ``words`` words.

    Attributes:
        rows: words, with room for states to come; those of the first ``len`` states are written.
        slots: for each place of the table a state's number plus one, or 0, and above it some bits of its hash.
        numbers: the bits of a slot that are the number.
        size: how many states there are, which the kernel changes.
    """

    rows: Words
    slots: Slots

    def __init__(self, words: int, states: Sequence[int], room: int) -> None:
        self.words = words
        self.size = len(states)
        self._reserve(room)
        filled = 0
        for packed in _packed(states, words):
            self.rows[filled : filled + len(packed)] = packed
            filled += len(packed)
        self._enter_all(room)

    def widen(self, words: int) -> None:
        """Give every state more words."""
        narrow, self.words = self.rows.reshape(-1, self.words), words
        self._reserve(len(narrow))
        self.rows.reshape(-1, words)[: self.size, : narrow.shape[1]] = narrow[: self.size]
        self._enter_all(len(narrow))

    @property
    def most(self) -> int:
        """How many states there may be before more room is made."""
        return min(len(self.rows) // self.words, int(len(self.slots) * LOAD))

    def make_room(self, at_least: int) -> None:
        """Make room for more states, by ``at_least``.

        Raises:
            MemoryError: there is no more.
        """
        least = self.size + at_least
        if least > MOST_STATES:
            raise MemoryError
        room = max(min(int(self.size * GROWTH), MOST_STATES), least)
        del self.rows
        try:
            self._memory.resize(BYTES * self.words * room)
        except OSError as error:
            raise MemoryError from error
        finally:
            self.rows = self._mapped()
        self._enter_all(room)

    def _reserve(self, room: int) -> None:
        self._memory = mmap.mmap(-1, BYTES * self.words * room, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.rows = self._mapped()

    def _enter_all(self, room: int) -> None:
        """Make a table for so many states, and enter those that are there."""
        self.slots = np.zeros(0, np.uint32)  # the old one goes before the new one comes
        self.slots = np.zeros(int(room / LOAD) + 1, np.uint32)
        self.numbers = np.uint64((1 << room.bit_length()) - 1)
        homes = np.zeros(_AHEAD, np.uint64)
        kernel.enter_all(self.form, self.size, self.kept, homes)

    @property
    def kept(self) -> Kept:
        """What the kernel is given."""
        return Kept(self.rows, self.slots, self.numbers)

    @property
    def form(self) -> Form:
        """As many numbers as a state has words."""
        return (0,) * self.words

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
        row = self.rows[place * self.words : (place + 1) * self.words]
        return int.from_bytes(row.tobytes(), "little")

    def __iter__(self) -> Iterator[int]:
        return (self[place] for place in range(self.size))


def row_of(state: int, words: int) -> Words:
    """Return a state as words."""
    return np.frombuffer(bytearray(state.to_bytes(BYTES * words, "little")), np.uint64)


def _packed(states: Sequence[int], words: int) -> Iterator[Words]:
    every = iter(states)
    while part := b"".join(state.to_bytes(BYTES * words, "little") for state in islice(every, 4096)):
        yield np.frombuffer(part, np.uint64)
