"""Memoisation: an answer computed for a state is valid for every state that agrees on the bits that were read.

A :class:`Memo` stores answers by these bits. Several memos can be joined under one that stores their joint answers, so
that most states need one look-up instead of several. A sample of states decides which memos to join.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Memo(dict[int, Answer], Generic[Answer]):
    """Answers by the bits they depend on."""

    def __init__(
        self, work_out: Callable[[int], Answer], before_forgetting: Callable[[Memo[Answer]], None] | None = None
    ) -> None:
        super().__init__()
        self.reads = 0  #: the mask of the bits; it grows when places that are read get fields.
        self._work_out = work_out
        self.before_forgetting = before_forgetting
        self.forgotten = 0  #: how often all answers were dropped.
        self._users: list[Memo[Answer]] = []

    def __missing__(self, bits: int) -> Answer:
        while True:
            known = self.forgotten
            answer = self._work_out(bits)
            if known == self.forgotten:
                self[bits] = answer
                return answer

    def forget(self) -> None:
        """Drop all answers, and those of memos that depend on this one."""
        if self.before_forgetting is not None:
            self.before_forgetting(self)
        self.forgotten += 1
        self.clear()
        for user in self._users:
            user.forget()

    def answer(self, s: int) -> Answer:
        """Return the answer for a state."""
        return self[s & self.reads]

    def grow(self, mask: int) -> None:
        """Read more bits; the answers so far are valid, and are found, only for states in which these are 0."""
        self.reads |= mask
        for user in self._users:
            user.grow(mask)

    def abandon(self) -> None:
        """Remove all users of this memo."""
        self._users.clear()

    def used_by(self, user: Memo[Answer]) -> None:
        """Register a memo that depends on this one; it reads all bits that this one reads."""
        self._users.append(user)
        user.grow(self.reads)


def join_memos(parts: Sequence[Memo[Answer]], combine: Callable[[list[Answer]], Answer]) -> Memo[Answer]:
    """Return a memo of the joint answers of several."""
    memo = Memo(lambda bits: combine([part[bits & part.reads] for part in parts]), parts[0].before_forgetting)
    for part in parts:
        part.used_by(memo)
    return memo


def join_in_pairs(
    leaves: Sequence[Memo[Answer]], sample: Sequence[int], combine: Callable[[list[Answer]], Answer], most: float
) -> list[Memo[Answer]]:
    """Join memos in pairs, first the pair that distinguishes the fewest states of a sample, up to ``most`` of these."""
    for leaf in leaves:
        leaf.abandon()
    memos = dict(enumerate(leaves))
    told_apart: dict[int, int] = {}

    def count(reads: int) -> int:
        if reads not in told_apart:
            told_apart[reads] = kinds(reads, sample)
        return told_apart[reads]

    alone = {number: count(memo.reads) for number, memo in memos.items()}
    # A pair distinguishes at least as many as either part, and exactly as many if one part distinguishes none. So a
    # pair is counted only when it is next by that bound.
    waiting = [(max(alone[one], alone[two]), False, one, two) for one, two in itertools.combinations(memos, 2)]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] <= most:
        _, counted, one, two = heapq.heappop(waiting)
        if one not in memos or two not in memos:
            continue
        if not counted and min(alone[one], alone[two]) > 1:
            heapq.heappush(waiting, (count(memos[one].reads | memos[two].reads), True, one, two))
            continue
        number = max(memos) + 1
        both = join_memos([memos.pop(one), memos.pop(two)], combine)
        alone[number] = count(both.reads)
        for other in memos:
            heapq.heappush(waiting, (max(alone[other], alone[number]), False, other, number))
        memos[number] = both
    return list(memos.values())


def kinds(reads: int, sample: Iterable[int]) -> int:
    """Return how many states of a sample some bits distinguish."""
    return len(set(map(reads.__and__, sample)))
