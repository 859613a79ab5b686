"""Saturation: the deductions that a step enables, taken right after it.

States are always saturated. So after a step only those rules matter that read a place that the step wrote, or whose
conclusions it removed, and then those that read the conclusions of these. The conclusions of one rule depend on few
bits, and so do those of all rules after one kind of step: both are memoised.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from carnet_check.engines.explicit.layout import Layout, Pattern, Place, Value, matches
from carnet_check.engines.explicit.memory import Memo
from carnet_spec.language import Term

Writes = dict[Place, Value]
Change = tuple[int, int] | None  #: Masks such that ``(s | first) ^ second`` is the changed state; None for no change.


def apply_change(s: int, change: Change) -> int:
    """Return a state after a change."""
    return s if change is None else (s | change[0]) ^ change[1]


class Rule(Memo[Change]):
    """The conclusions of one deduction, taken as often as it adds something.

    ``asserted`` are the symbols whose facts may make its premises true when they become true, and ``denied`` those
    whose facts may do so when they become false; a function is in both. ``premises`` is the test of the premises.
    """

    def __init__(
        self,
        name: str,
        conclusions: Callable[[int], list[Writes]],
        layout: Layout,
        asserted: frozenset[str],
        denied: frozenset[str],
        concludes: Sequence[tuple[str, Pattern]],
        premises: Term,
    ) -> None:
        super().__init__(self._conclude)
        self.name = name
        self.premises = premises
        self.fired = False
        self.concludes = concludes
        self._conclusions = conclusions
        self._layout = layout
        self._asserted = asserted
        self._denied = denied
        self._patterns: list[tuple[str, Pattern]] = []

    def read(self, reads: Iterable[tuple[str, Pattern]]) -> None:
        """Register the places that the premises read."""
        for symbol, pattern in reads:
            self._patterns.append((symbol, pattern))
            self._layout.on_growth(symbol, pattern, self.grow)

    def woken_by(self, place: Place, value: Value) -> bool:
        """Whether writing the value may make the premises true, or remove a conclusion."""
        name = place.symbol.name
        if value is False and any(symbol == name and matches(row, place.row) for symbol, row in self.concludes):
            return True
        if name not in (self._denied if value is False else self._asserted):
            return False
        return any(symbol == name and matches(row, place.row) for symbol, row in self._patterns)

    def fed_by(self, other: Rule) -> bool:
        """Whether a conclusion of the other rule may make the premises true."""
        return any(symbol in self._asserted for symbol, _ in other.concludes)

    def _conclude(self, bits: int) -> Change:
        s = bits
        touched = cleared = 0
        while True:
            written: Writes = {}
            for writes in self._conclusions(s):
                self.fired = True
                written |= writes
            change = self._layout.masks_for(written.items(), self.forget)
            after = apply_change(s, change)
            touched, cleared = touched | change[0], cleared | change[1]
            if after == s:
                return (touched, cleared) if touched else None
            s = after


class Saturation:
    """All deductions of a protocol."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._feeds = [[number for number, other in enumerate(rules) if other.fed_by(rule)] for rule in rules]
        self._closures: dict[frozenset[int], Memo[Change]] = {}
        self._woken: dict[tuple[Place, bool], frozenset[int]] = {}

    @property
    def memos(self) -> tuple[Memo[Change], ...]:
        """All memos of deductions."""
        return (*self.rules, *self._closures.values())

    def forget(self) -> None:
        """Drop all answers, and the record of premises that held."""
        for memo in self.memos:
            memo.forget()
        for rule in self.rules:
            rule.fired = False

    def after(self, writes: Writes) -> Memo[Change] | None:
        """Return the memo of the deductions after a step with these writes; None if there are none."""
        woken = frozenset[int]().union(*itertools.starmap(self._woken_by, writes.items()))
        return self._closure(woken) if woken else None

    def start(self) -> int:
        """Return the first state, saturated."""
        return apply_change(0, self._closure(frozenset(range(len(self.rules)))).answer(0))

    def _woken_by(self, place: Place, value: Value) -> frozenset[int]:
        """Return the numbers of the rules that a write may affect; of values, only false is distinguished."""
        known = place, value is False
        if known not in self._woken:
            rules = enumerate(self.rules)
            self._woken[known] = frozenset(number for number, rule in rules if rule.woken_by(place, value))
        return self._woken[known]

    def _closure(self, woken: frozenset[int]) -> Memo[Change]:
        if woken not in self._closures:
            closure: Memo[Change] = Memo(lambda bits: self._close(bits, sorted(woken)))
            for number in sorted(self._reachable(woken)):
                self.rules[number].used_by(closure)
            self._closures[woken] = closure
        return self._closures[woken]

    def _reachable(self, woken: Iterable[int]) -> set[int]:
        reached = set(woken)
        waiting = list(reached)
        while waiting:
            for number in self._feeds[waiting.pop()]:
                if number not in reached:
                    reached.add(number)
                    waiting.append(number)
        return reached

    def _close(self, bits: int, waiting: list[int]) -> Change:
        s = bits
        touched = cleared = 0
        while waiting:
            number = waiting.pop(0)
            change = self.rules[number].answer(s)
            if change is None:
                continue
            after = apply_change(s, change)
            touched, cleared = touched | change[0], cleared | change[1]
            if after != s:
                s = after
                waiting += [fed for fed in self._feeds[number] if fed not in waiting]
        return (touched, cleared) if touched else None
