"""Small structures in which an obligation's hypotheses and its negated goal all hold: then nothing may prove it.

Obligations are read as plain formulas of the language, and evaluated by the oracle, which knows no engine.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator

from carnet_check.obligations import Hypothesis, Obligation
from carnet_spec.language import Protocol, Symbol
from carnet_spec.language.terms import symbols_of
from tests.oracle.evaluate import Structure, size_of
from tests.oracle.machine import Layout, State, Test, symbols_in, test_of
from tests.oracle.questions import sorts_of

SIZES = (1, 2)
ALL, SOME = 512, 96
"""All structures are tried where there are so few, and otherwise some, drawn at random."""


class Models:
    """Looks for models of the obligations of one protocol."""

    def __init__(self, protocol: Protocol, draw: random.Random) -> None:
        self._draw = draw
        self._symbols = symbols_in(protocol)
        self._sizes = [dict.fromkeys((sort.name for sort in sorts_of(protocol)), size) for size in SIZES]
        self._tests: dict[tuple[Hypothesis, int], Test] = {}

    def model(self, obligation: Obligation) -> Structure | None:
        """Return a structure of one or two elements of each sort that satisfies everything, if one is found."""
        return next(self._models(obligation), None)

    def _models(self, obligation: Obligation) -> Iterator[Structure]:
        constants = tuple(constant.symbol for constant in obligation.constants)
        read = {symbol for each in obligation.hypotheses for symbol in symbols_of(each.formula)}
        for place, sizes in enumerate(self._sizes):
            layout = Layout(sizes, self._symbols, constants)
            tests = [self._test(each, place, layout, constants) for each in reversed(obligation.hypotheses)]
            for state in self._states(layout, read.union(constants)):
                if all(test(state) for test in tests):
                    yield layout.structure(state)

    def _test(self, hypothesis: Hypothesis, place: int, layout: Layout, constants: Iterable[Symbol]) -> Test:
        """Return the compiled formula; what names no constant is compiled once for all obligations."""
        if symbols_of(hypothesis.formula) & set(constants):
            return test_of(hypothesis.formula, layout)
        key = (hypothesis, place)
        if key not in self._tests:
            self._tests[key] = test_of(hypothesis.formula, layout)
        return self._tests[key]

    def _states(self, layout: Layout, read: set[Symbol]) -> Iterator[State]:
        """Yield what the symbols that are read can mean; the others mean anything."""
        choices = [range(size_of(s.result, layout.sizes)) if s in read else range(1) for s, _ in layout.cells]
        if math.prod(map(len, choices)) <= ALL:
            yield from itertools.product(*choices)
        else:
            for _ in range(SOME):
                yield tuple([self._draw.choice(each) for each in choices])
