"""Every way a protocol can begin at fixed sizes: all meanings of its rigid symbols, and all first states with each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from carnet_spec.language import Protocol, Sort
from carnet_spec.language.terms import BOOL
from tests.oracle.errors import TooBigError
from tests.oracle.evaluate import Row, size_of
from tests.oracle.machine import Layout, State, test_of, value_at
from tests.oracle.questions import sorts_of

Renaming = dict[Sort, tuple[int, ...]]
"""For each open sort, the new name of each element."""


def worlds(protocol: Protocol, layout: Layout, budget: int) -> Iterator[tuple[State, list[State]]]:
    """Yield each meaning of the rigid symbols that the axioms allow, with the first states that it has.

    Of several that differ in the names of their elements only, the first is yielded: no term can name an element, so
    what happens in one happens in the others, by other names.
    """
    rigid = layout.cells[: layout.rigid_cells]
    choices = [range(size_of(symbol.result, layout.sizes)) for symbol, _ in rigid]
    _limit(choices, budget)
    axioms = [test_of(axiom.formula, layout) for axiom in protocol.axioms]
    renamings = list(_renamings(protocol, layout))
    first = _FirstStates(protocol, layout)
    for meaning in itertools.product(*choices):
        if all(axiom(meaning) for axiom in axioms):
            _limit(first.choices(meaning), budget)
            starts = [meaning + rest for rest in itertools.product(*first.choices(meaning))]
            kept = [start for start in starts if all(start <= renamed(start) for renamed in renamings)]
            if kept:
                yield meaning, kept


def _limit(choices: list[range], budget: int) -> None:
    if math.prod(map(len, choices)) > budget:
        raise TooBigError(f"more than {budget} structures")


class _FirstStates:
    """The values that each mutable cell may have at first."""

    def __init__(self, protocol: Protocol, layout: Layout) -> None:
        self.layout = layout
        self.given = {initial.symbol: value_at(initial.value, initial.params, layout) for initial in protocol.initial}

    def choices(self, meaning: State) -> list[range]:
        """Return the possible first values of each mutable cell, given the ``meaning`` of the rigid symbols."""
        return [
            self._cell(symbol.result, self.given.get(symbol), meaning, row)
            for symbol, row in self.layout.cells[self.layout.rigid_cells :]
        ]

    def _cell(self, sort: Sort, given: Callable[[State, Row], int] | None, meaning: State, row: Row) -> range:
        if given is not None:
            value = given(meaning, row)
            return range(value, value + 1)
        return range(1) if sort == BOOL else range(size_of(sort, self.layout.sizes))


def _renamings(protocol: Protocol, layout: Layout) -> Iterator[Callable[[State], State]]:
    """Yield a function from states to states for each renaming of elements."""
    sorts = sorts_of(protocol)
    orders = (itertools.permutations(range(size_of(sort, layout.sizes))) for sort in sorts)
    for order in itertools.product(*orders):
        yield _renaming(dict(zip(sorts, order, strict=True)), layout)


def _renaming(renaming: Renaming, layout: Layout) -> Callable[[State], State]:
    """Return what renames the elements of a whole state: f(a) = b becomes f(a') = b'."""

    def renamed(sort: Sort, element: int) -> int:
        return renaming[sort][element] if sort in renaming else element

    position = {cell: index for index, cell in enumerate(layout.cells)}
    moves = []
    for index, (symbol, row) in enumerate(layout.cells):
        new_row = tuple(renamed(sort, element) for sort, element in zip(symbol.domain, row, strict=True))
        moves.append((index, position[symbol, new_row], renaming.get(symbol.result)))

    def rename(state: State) -> State:
        new = [0] * len(state)
        for old_place, new_place, names in moves:
            value = state[old_place]
            new[new_place] = value if names is None else names[value]
        return tuple(new)

    return rename
