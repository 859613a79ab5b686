"""Saturation: the deductions that a step makes possible, worked out once for everything they depend on.

States are kept saturated, so after a step only deductions matter whose premises read what the step wrote, and those
that read what these conclude, and so on. All of them together depend on a few bits of the state only: the conclusions
are remembered for each value of those bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from carnet_check.explicit.formulas import Formula, Test, conjunction, conjuncts_of, tests_of
from carnet_check.explicit.generate import Predicate, predicate
from carnet_check.explicit.layout import Layout
from carnet_check.explicit.lowering import GroundStep


@dataclass(frozen=True, slots=True)
class Rule:
    """One ground deduction, or one insertion of it that has a condition of its own."""

    name: str
    mask: int
    value: int
    rest: Predicate | None
    """What masks cannot test."""
    adds: int
    reads: int
    wakes_set: int
    """Bits whose setting may make the premises true."""
    wakes_cleared: int
    """Bits whose clearing may do so, or takes away what the rule concludes."""

    def holds(self, s: int) -> bool:
        """Whether the premises hold."""
        return s & self.mask == self.value and (self.rest is None or self.rest(s))


class Closure(dict[int, int]):
    """The conclusions of some rules, for each value of the bits they read."""

    def __init__(self, rules: Sequence[Rule], fired: set[str]) -> None:
        super().__init__()
        self.reads = 0
        for rule in rules:
            self.reads |= rule.reads
        self._rules = rules
        self._inserting = [rule for rule in rules if rule.adds & ~rule.value]
        self._fired = fired

    def __missing__(self, bits: int) -> int:
        known = bits
        before = -1
        while known != before:
            before = known
            for rule in self._inserting:
                if rule.holds(known):
                    known |= rule.adds
        for rule in self._rules:
            if rule.name not in self._fired and rule.holds(known):
                self._fired.add(rule.name)
        self[bits] = known & ~bits
        return self[bits]


class Saturation:
    """All ground deductions of a protocol; ``fired`` collects those whose premises ever held."""

    def __init__(self, layout: Layout, deductions: Mapping[str, Sequence[GroundStep]]) -> None:
        self.fired: set[str] = set()
        self.rules = [rule for group in deductions.values() for step in group for rule in _rules(layout, step)]
        self._closures: dict[tuple[int, int], Closure | None] = {}

    def after(self, set_bits: int, cleared_bits: int) -> Closure | None:
        """Return the deductions that matter after a step that wrote these bits; nothing, if none does."""
        key = (set_bits, cleared_bits)
        if key not in self._closures:
            rules = self._woken(set_bits, cleared_bits)
            self._closures[key] = Closure(rules, self.fired) if rules else None
        return self._closures[key]

    def close(self, s: int) -> int:
        """Saturate a state about which nothing is known."""
        return s | Closure(self.rules, self.fired)[s]

    def _woken(self, set_bits: int, cleared_bits: int) -> list[Rule]:
        woken: dict[int, Rule] = {}
        grew = True
        while grew:
            grew = False
            for number, rule in enumerate(self.rules):
                if number not in woken and (rule.wakes_set & set_bits or rule.wakes_cleared & cleared_bits):
                    woken[number] = rule
                    set_bits |= rule.adds
                    grew = True
        return [woken[number] for number in sorted(woken)]


def _rules(layout: Layout, step: GroundStep) -> list[Rule]:
    """One rule for the guard, with what it inserts for certain, and one for each insertion with a condition."""
    certain = [write for write in step.writes if not conjuncts_of(write.condition)]
    rules = [_rule(layout, step, step.guard, sum({layout.bits_of(write.place, write.value) for write in certain}))]
    for write in step.writes:
        if conjuncts_of(write.condition):
            premises = conjuncts_of(conjunction((*step.guard, write.condition)))
            rules.append(_rule(layout, step, premises, layout.bits_of(write.place, write.value)))
    return rules


def _rule(layout: Layout, step: GroundStep, premises: Sequence[Formula], adds: int) -> Rule:
    exact = [part for part in premises if isinstance(part, Test) and part.wanted]
    rest = [part for part in premises if not (isinstance(part, Test) and part.wanted)]
    tests = [test for part in premises for test in tests_of(part)]
    mask, value = layout.cube(exact)
    wide = layout.mask(test.place for test in tests if not layout.is_bit(test.place))
    return Rule(
        step.action.name,
        mask,
        value,
        predicate(layout, [rest]) if rest else None,
        adds,
        layout.mask(test.place for test in tests),
        wide | layout.mask(test.place for test in tests if test.value == 1),
        wide | layout.mask(test.place for test in tests if test.value == 0) | adds,
    )
