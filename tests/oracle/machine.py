"""A protocol at fixed sizes as plain Python functions over one tuple of numbers.

A state is a tuple with a cell for each symbol and row: first those of the rigid symbols, which no step changes, then
the others. Terms become Python expressions whose only names are ``s`` (the state), ``v0``, ``v1``, … (parameters) and
``e0``, ``e1``, … (what stands for every element): no name of a specification gets into the text, so none can collide.
Quantifiers are written out, one copy of the body for each element.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from carnet_spec.language import Action, Effect, Protocol, Update, terms
from tests.oracle.evaluate import Row, Sizes, Structure, rows, size_of, terms_in

State = tuple[int, ...]
Names = Mapping[terms.Var, str]  #: The Python expression that each variable in scope is written as.
#: The arguments of a step, and the state after it; none if two of its updates disagree.
Successor = tuple[Row, State | None]
Successors = Callable[[State], list[Successor]]
Test = Callable[[State], bool]


@dataclass(frozen=True)
class Layout:
    """Where each cell of a state is: the symbols one after the other, each with its rows in order."""

    sizes: Sizes
    rigid: tuple[terms.Symbol, ...]
    mutable: tuple[terms.Symbol, ...]

    @staticmethod
    def of(protocol: Protocol, sizes: Sizes) -> Layout:
        """Lay out everything that ``protocol`` mentions."""
        found = symbols_in(protocol)
        rigid = tuple(symbol for symbol in found if not symbol.mutable)
        return Layout(sizes, rigid, tuple(symbol for symbol in found if symbol.mutable))

    @cached_property
    def cells(self) -> list[tuple[terms.Symbol, Row]]:
        """Every cell, in order."""
        return [(symbol, row) for symbol in self.rigid + self.mutable for row in rows(symbol, self.sizes)]

    @property
    def rigid_cells(self) -> int:
        """How many cells at the front belong to rigid symbols."""
        return sum(len(rows(symbol, self.sizes)) for symbol in self.rigid)

    @cached_property
    def offsets(self) -> dict[terms.Symbol, int]:
        """Where the cells of each symbol start."""
        symbols = self.rigid + self.mutable
        ends = itertools.accumulate((len(rows(symbol, self.sizes)) for symbol in symbols), initial=0)
        return dict(zip(symbols, ends, strict=False))

    def place(self, symbol: terms.Symbol, args: Iterable[str]) -> str:
        """Write the index of the cell of ``symbol`` at ``args``, which are Python expressions."""
        index, constant = [], self.offsets[symbol]
        stride = len(rows(symbol, self.sizes))
        for sort, arg in zip(symbol.domain, args, strict=True):
            stride //= size_of(sort, self.sizes)
            if arg.isdigit():
                constant += int(arg) * stride
            else:
                index.append(f"{arg}*{stride}")
        return "+".join([*index, str(constant)])

    def structure(self, state: State) -> Structure:
        """Return ``state`` as tables by symbol."""
        tables: dict[terms.Symbol, dict[Row, int]] = {symbol: {} for symbol in self.rigid + self.mutable}
        for (symbol, row), value in zip(self.cells, state, strict=True):
            tables[symbol][row] = value
        return Structure(self.sizes, tables)

    def state(self, structure: Structure) -> State:
        """Return ``structure`` as a tuple."""
        return tuple(int(structure.tables[symbol][row]) for symbol, row in self.cells)


def symbols_in(protocol: Protocol) -> tuple[terms.Symbol, ...]:
    """Return every symbol that ``protocol`` mentions anywhere, in order of appearance."""
    listed = [initial.symbol for initial in protocol.initial]
    listed += [update.symbol for action in protocol.actions for update in action.updates]
    for term in terms_in(protocol):
        listed += sorted(terms.symbols_of(term), key=lambda symbol: symbol.name)
    return tuple(dict.fromkeys(listed))


def text(term: terms.Term, names: Names, layout: Layout) -> str:
    """Write ``term`` as a Python expression."""
    match term:
        case terms.Var():
            return names[term]
        case terms.Member(sort, name):
            return str((sort.members or ()).index(name))
        case terms.Truth(truth):
            return "1" if truth else "0"
        case terms.Apply(symbol, args):
            return f"s[{layout.place(symbol, [text(arg, names, layout) for arg in args])}]"
        case terms.Equal(left, right):
            return f"({text(left, names, layout)}=={text(right, names, layout)})"
        case terms.Not(body):
            return f"(not {text(body, names, layout)})"
        case terms.And(parts):
            return _joined("and", "1", [text(part, names, layout) for part in parts])
        case terms.Or(parts):
            return _joined("or", "0", [text(part, names, layout) for part in parts])
        case terms.Implies(premise, conclusion):
            return f"(not {text(premise, names, layout)} or {text(conclusion, names, layout)})"
        case terms.IfThenElse(test, then, otherwise):
            choices = text(then, names, layout), text(otherwise, names, layout)
            return f"({choices[0]} if {text(test, names, layout)} else {choices[1]})"
        case terms.Forall(bound, body):
            return _joined("and", "1", [text(body, inner, layout) for inner in _written_out(bound, names, layout)])
        case terms.Exists(bound, body):
            return _joined("or", "0", [text(body, inner, layout) for inner in _written_out(bound, names, layout)])


def _joined(operator: str, empty: str, parts: list[str]) -> str:
    return f"({f' {operator} '.join(dict.fromkeys(parts))})" if parts else empty


def _written_out(bound: tuple[terms.Var, ...], names: Names, layout: Layout) -> Iterator[Names]:
    """Yield ``names`` with every choice of elements for the ``bound`` variables, which hide outer ones."""
    for choice in itertools.product(*(range(size_of(var.sort, layout.sizes)) for var in bound)):
        yield {**names, **{var: str(element) for var, element in zip(bound, choice, strict=True)}}


def test_of(formula: terms.Term, layout: Layout) -> Test:
    """Return a function that says whether the closed ``formula`` holds in a state."""
    made: Test = eval(f"lambda s: bool({text(formula, {}, layout)})")  # text of our own making
    return made


def value_at(term: terms.Term, params: tuple[terms.Var, ...], layout: Layout) -> Callable[[State, Row], int]:
    """Return a function that gives the value of ``term`` in a state, with a row for ``params``."""
    names = {var: f"r[{position}]" for position, var in enumerate(params)}
    made: Callable[[State, Row], int] = eval(f"lambda s, r: int({text(term, names, layout)})")
    return made


def successors_of(action: Action, layout: Layout) -> Successors:
    """Return a function that gives every way to take ``action`` in a state."""
    names = {var: f"v{position}" for position, var in enumerate(action.params)}
    lines, depth = ["def step(s):", " found = []"], 1
    for var in action.params:
        lines.append(f"{' ' * depth}for {names[var]} in range({size_of(var.sort, layout.sizes)}):")
        depth += 1
    margin = " " * depth
    for guard in action.guards:
        lines.append(f"{margin}if not {text(guard.formula, names, layout)}: continue")
    for first, second in itertools.combinations(action.fresh, 2):
        if first.sort == second.sort:
            lines.append(f"{margin}if {names[first]} == {names[second]}: continue")
    lines += [f"{margin}w = {{}}", f"{margin}wide = {{}}", f"{margin}clash = False"]
    for update in action.updates:
        lines += _update_lines(update, names, layout, depth)
    arguments = "".join(f"{names[var]}," for var in action.params)
    lines += [
        f"{margin}t = list(s)",
        f"{margin}for c, x in w.items(): t[c] = x",
        f"{margin}found.append((({arguments}), None if clash else tuple(t)))",
        " return found",
    ]
    if not action.params:  # `continue` needs a loop
        lines[2:-1] = [" for _ in (0,):", *(f" {line}" for line in lines[2:-1])]
    space: dict[str, Successors] = {}
    exec("\n".join(lines), space)
    return space["step"]


def _update_lines(update: Update, names: Names, layout: Layout, depth: int) -> list[str]:
    """Write what ``update`` puts where, having seen the state before only; ``w`` collects it.

    A narrow update after a sweep over more is an exception to it; other updates that disagree ``clash``.
    """
    inner = {**names, **{var: f"e{position}" for position, var in enumerate(update.each)}}
    lines = []
    for var in update.each:
        lines.append(f"{' ' * depth}for {inner[var]} in range({size_of(var.sort, layout.sizes)}):")
        depth += 1
    margin = " " * depth
    place = layout.place(update.symbol, [text(arg, inner, layout) for arg in update.args])
    return [
        *lines,
        f"{margin}if {text(update.when, inner, layout)}:",
        f"{margin} c = {place}; x = {_put(update, inner, layout)}",
        f"{margin} if c in w and w[c] != x and wide[c] <= {len(update.each)}: clash = True",
        f"{margin} w[c] = x; wide[c] = {len(update.each)}",
    ]


def _put(update: Update, names: Names, layout: Layout) -> str:
    if update.effect is Effect.ASSIGN and update.value is not None:
        return f"int({text(update.value, names, layout)})"
    return "1" if update.effect is Effect.INSERT else "0"
