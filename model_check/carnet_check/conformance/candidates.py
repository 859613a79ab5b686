"""Candidates for an argument that a trace leaves out: of values that are alike, as many as can make a difference.

A value of a sort that is drawn fresh is *spare* as long as the trace does not name it and it was not chosen for an
argument. All spare values of a sort are alike: any renaming of them leaves the state and the rest of the trace as they
are. So a choice of one argument has to look at one of them, and a choice of n arguments at n.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

Undo = Callable[[], None]


class Candidates:
    """The elements of one sort: those that the trace or an earlier choice names, and the spare ones."""

    def __init__(self, known: Iterable[str], spare: Iterable[str] = ()) -> None:
        self.known = dict.fromkeys(known)
        self._spare = [element for element in dict.fromkeys(spare) if element not in self.known]
        self._spare.reverse()
        self._is_spare = set(self._spare)

    def front(self, count: int) -> Sequence[str]:
        """Return the first ``count`` spare elements."""
        return self._spare[: -count - 1 : -1]

    def choosable(self, count: int) -> Choosable:
        """Return what a choice of so many arguments has to look at."""
        return Choosable(self, count)

    def skips(self, element: str, count: int) -> bool:
        """Whether a choice of so many arguments need not look at an element, since it looks at others like it."""
        return element in self._is_spare and element not in self.front(count)

    def draw(self, element: str) -> Undo | None:
        """Make an element known from now on; return how to take that back, or nothing if it was known already."""
        if element not in self._is_spare:
            return None
        self._is_spare.remove(element)
        at = len(self._spare) - 1
        while self._spare[at] != element:
            at -= 1
        del self._spare[at]
        self.known[element] = None
        return lambda: self._return(element)

    def _return(self, element: str) -> None:
        del self.known[element]
        self._spare.append(element)
        self._is_spare.add(element)


class Choosable(Collection[str]):
    """The elements of a sort that a choice of so many arguments has to look at."""

    __slots__ = ("_candidates", "_count")

    def __init__(self, candidates: Candidates, count: int) -> None:
        self._candidates = candidates
        self._count = count

    def __len__(self) -> int:
        return len(self._candidates.known) + len(self._candidates.front(self._count))

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self._candidates.known, self._candidates.front(self._count))

    def __contains__(self, element: object) -> bool:
        return element in self._candidates.known or element in self._candidates.front(self._count)

    def skips(self, element: str) -> bool:
        """Whether an element need not be looked at, since others like it are."""
        return self._candidates.skips(element, self._count)
