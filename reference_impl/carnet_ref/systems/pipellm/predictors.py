"""Predictors: which pages will be asked for next. Whatever they guess, nothing but time depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Protocol


class Predictor(Protocol):
    """Sees pages leave the GPU and return to it, and guesses which return next."""

    def left(self, page: int) -> None:
        """Note that a page was copied out of the GPU."""

    def returned(self, page: int) -> None:
        """Note that a copy of a page to the GPU was asked for."""

    def guess(self, count: int) -> Sequence[int]:
        """Return up to ``count`` pages, the next one first."""


class Repeat:
    """Layers: the pages are asked for in a cycle, again and again."""

    def __init__(self, longest: int = 1024) -> None:
        self._longest = longest
        self._seen: list[int] = []

    def left(self, page: int) -> None:
        """Pages that are copied out say nothing of the cycle."""

    def returned(self, page: int) -> None:
        """Add a page to what was seen, and forget what no cycle reaches."""
        self._seen.append(page)
        del self._seen[: -2 * self._longest]

    def guess(self, count: int) -> Sequence[int]:
        """Go on in the shortest cycle that was seen twice."""
        for length in range(1, len(self._seen) // 2 + 1):
            once = self._seen[-length:]
            if once == self._seen[-2 * length : -length]:
                return list(islice(cycle(once), count))
        return []


class _Swapped:
    """Pages that left, in the order in which they did."""

    def __init__(self) -> None:
        self._away: list[int] = []

    def left(self, page: int) -> None:
        """Put a page behind all others."""
        self.returned(page)
        self._away.append(page)

    def returned(self, page: int) -> None:
        """Take a page out, wherever it is."""
        if page in self._away:
            self._away.remove(page)


class Fifo(_Swapped):
    """Requests that wait: what left first returns first."""

    def guess(self, count: int) -> Sequence[int]:
        """Return what left first, first."""
        return self._away[:count]


class Lifo(_Swapped):
    """Requests that were pre-empted: what left last returns first."""

    def guess(self, count: int) -> Sequence[int]:
        """Return what left last, first."""
        return self._away[::-1][:count]
