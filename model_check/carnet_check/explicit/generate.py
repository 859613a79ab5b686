"""Generated Python: what the ground steps do, as nested tests on one integer.

Each action becomes a function from a state to the moves it allows. The ground steps of an action were found by
choosing parameters one after another, so their guards share beginnings; the tests of a shared beginning are made
once, in an outer ``if``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType

from carnet_check.explicit.formulas import FALSE, TRUE, Formula, conjunction, places_of
from carnet_check.explicit.layout import Layout
from carnet_check.explicit.lowering import GroundStep, Write

Move = tuple[int, int, int]
"""Which bits a step keeps, which it sets, and which ground step of its action it is."""

Moves = Callable[[int], list[Move]]
Predicate = Callable[[int], bool]


@dataclass
class _Branch:
    """Ground steps whose guards begin alike."""

    lines: list[str] = field(default_factory=list)
    branches: dict[Formula, _Branch] = field(default_factory=dict)


def moves_function(layout: Layout, steps: Sequence[GroundStep]) -> Moves:
    """Generate the function that lists the moves of one action in a state."""
    tree = _Branch()
    for number, step in enumerate(steps):
        _leaf(tree, step.guard).lines += _move(layout, step.writes, number)
    body = ["def moves(s):", "    found = []", "    add = found.append", *_body(layout, tree, 1), "    return found"]
    namespace: dict[str, Moves] = {}
    exec(_compiled(body), namespace)
    return namespace["moves"]


def predicate(layout: Layout, cases: Sequence[Sequence[Formula]]) -> Predicate:
    """Generate the function that says whether some case, a conjunction, holds in a state."""
    tree = _Branch()
    for case in cases:
        _leaf(tree, case).lines = ["return True"]
    namespace: dict[str, Predicate] = {}
    exec(_compiled(["def holds(s):", *_body(layout, tree, 1), "    return False"]), namespace)
    return namespace["holds"]


def read_mask(layout: Layout, steps: Sequence[GroundStep]) -> int:
    """Return the bits on which it depends which of the steps can be taken and what they do."""
    formulas = [part for step in steps for part in step.guard]
    formulas += [write.condition for step in steps for write in step.writes]
    return layout.mask(place for formula in formulas for place in places_of(formula))


def _compiled(lines: Sequence[str]) -> CodeType:
    return compile("\n".join(lines), "<generated>", "exec")


def _leaf(tree: _Branch, guard: Sequence[Formula]) -> _Branch:
    for part in guard:
        tree = tree.branches.setdefault(part, _Branch())
    return tree


def _body(layout: Layout, tree: _Branch, depth: int) -> Iterator[str]:
    indent = "    " * depth
    for line in tree.lines:
        yield indent + line
    for test in tree.branches:
        tests, branch = _chain(test, tree.branches[test])
        yield f"{indent}if {layout.source(conjunction(tests))}:"
        yield from _body(layout, branch, depth + 1)


def _chain(test: Formula, branch: _Branch) -> tuple[list[Formula], _Branch]:
    """Follow a branch as long as it has no alternatives."""
    tests = [test]
    while not branch.lines and len(branch.branches) == 1:
        [(more, branch)] = branch.branches.items()
        tests.append(more)
    return tests, branch


def _move(layout: Layout, writes: Sequence[Write], number: int) -> list[str]:
    """Fold the writes before the first conditional one into constants; later ones may override earlier ones."""
    everything = layout.spent_unit - 1
    keep, put = everything, 0
    lines: list[str] = []
    for write in writes:
        if write.condition == FALSE:
            continue
        mask, bits = layout.field(write.place), layout.bits_of(write.place, write.value)
        if write.condition == TRUE and not lines:
            keep, put = keep & ~mask, put & ~mask | bits
            continue
        if not lines:
            lines.append(f"k = {keep:#x}; p = {put:#x}")
        change = f"k &= {everything & ~mask:#x}; p = p & {everything & ~mask:#x} | {bits:#x}"
        lines.append(change if write.condition == TRUE else f"if {layout.source(write.condition)}: {change}")
    return [*lines, f"add((k, p, {number}))"] if lines else [f"add(({keep:#x}, {put:#x}, {number}))"]
