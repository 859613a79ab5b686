"""The graph of phases: which values of enumerations can be reached, and what can be taken where.

It keeps every behaviour of the protocol: a step is left out only where the phases alone decide that it cannot happen.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from carnet_spec.language.actions import Action
from carnet_spec.language.analysis.cases import Case
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    Implies,
    Member,
    Not,
    Or,
    Sort,
    Symbol,
    Term,
    Truth,
    children,
)

Node = tuple[str, ...]
"""A value for each enumeration that is followed."""

_MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Edge:
    """A case that can be taken at ``source``, and where it may lead."""

    case: Case
    source: Node
    targets: tuple[Node, ...]


class PhaseGraph:
    """What ``cases`` can do, phase by phase, for one fixed argument of the sorts ``domain``.

    Where the phases have too many combinations they are forgotten: then more can happen, never less.
    """

    def __init__(self, protocol: Protocol, domain: tuple[Sort, ...], cases: Sequence[Case]) -> None:
        self._protocol = protocol
        self._cases = cases
        self._cells = {symbol: position for position, symbol in enumerate(_followed(protocol, domain))}
        self._decidable: dict[int, tuple[Term, bool]] = {}
        self._deciding: dict[str, list[Term]] = {}
        self._staying: set[str] = set()
        """The actions that neither ask for a phase nor change one."""
        try:
            self.edges = self._reachable()
        except _TooManyNodesError:
            self._cells, self._decidable, self._deciding = {}, {}, {}
            self.edges = self._reachable()

    def _reachable(self) -> list[Edge]:
        """Return every way to take a case at a node that can be reached."""
        edges: list[Edge] = []
        self.first = tuple(itertools.product(*(self._initial(cell) for cell in self._cells)))
        self._staying = {
            case.action.name
            for case in self._cases
            if not (
                self._deciding_guards(case.action) or any(each.symbol in self._cells for each in case.action.updates)
            )
        }
        local = any(cell.domain for cell in self._cells)  # else all cases of an action move alike
        reached = dict.fromkeys(self.first)
        waiting = list(reached)
        while waiting:
            source = waiting.pop()
            alike: dict[str, tuple[Node, ...]] = {}
            for case in self._cases:
                targets = None if local else alike.get(case.action.name)
                if targets is None:
                    targets = alike[case.action.name] = self._targets(Edge(case, source, ()))
                if targets:
                    edges.append(Edge(case, source, targets))
                    waiting += [target for target in targets if target not in reached]
                    reached.update(dict.fromkeys(targets))
            if len(reached) > _MOST_NODES:
                raise _TooManyNodesError
        return edges

    def _targets(self, edge: Edge) -> tuple[Node, ...]:
        """Return where ``edge`` may lead; nowhere, if its guards cannot hold."""
        if edge.case.action.name in self._staying:
            return (edge.source,)
        if any(self.holds(edge, guard) is False for guard in self._deciding_guards(edge.case.action)):
            return ()
        return tuple(itertools.product(*(self._after(edge, cell) for cell in self._cells)))

    def _deciding_guards(self, action: Action) -> list[Term]:
        """Return the guards that phases may decide, which few actions have any of."""
        if action.name not in self._deciding:
            formulas = (guard.formula for guard in action.guards)
            self._deciding[action.name] = [each for each in formulas if self._is_decidable(each)]
        return self._deciding[action.name]

    def _initial(self, cell: Symbol) -> tuple[str, ...]:
        for initial in self._protocol.initial:
            if initial.symbol == cell and isinstance(initial.value, Member):
                return (initial.value.name,)
        return cell.result.members or ()

    def _after(self, edge: Edge, cell: Symbol) -> tuple[str, ...]:
        """Return the values that ``cell`` may have after ``edge``."""
        possible = {edge.source[self._cells[cell]]}
        for update in edge.case.action.updates:
            if update.symbol != cell or update.value is None:
                continue
            changed = edge.case.changes(update, 0, len(cell.domain))
            happens = self.holds(edge, update.when)
            if changed is False or happens is False:
                continue
            value = self._value(edge, update.value)
            new = set(cell.result.members or ()) if value is None else {value}
            possible = new if changed and happens else possible | new
        return tuple(sorted(possible))

    def _value(self, edge: Edge, term: Term) -> str | None:
        match term:
            case Member(_, name):
                return name
            case Apply(symbol, args) if symbol in self._cells and (not symbol.domain or args in edge.case.rows):
                return edge.source[self._cells[symbol]]
            case _:
                return None

    def holds(self, edge: Edge, term: Term) -> bool | None:
        """Evaluate ``term`` as far as the phases decide it."""
        if not self._is_decidable(term):
            return None
        match term:
            case Truth(value):
                return value
            case Equal(left, right):
                values = self._value(edge, left), self._value(edge, right)
                return None if None in values else values[0] == values[1]
            case Not(body):
                inner = self.holds(edge, body)
                return None if inner is None else not inner
            case Implies(premise, conclusion):
                return self.holds(edge, Or((Not(premise), conclusion)))
            case And(parts) | Or(parts):
                decisive, is_open = isinstance(term, Or), False
                for part in parts:
                    said = self.holds(edge, part)
                    if said is decisive:
                        return decisive
                    is_open = is_open or said is None
                return None if is_open else not decisive
            case Forall(bound, body) | Exists(bound, body):
                return self.holds(replace(edge, case=edge.case.outside(bound)), body)
            case _:
                return None

    def _is_decidable(self, term: Term) -> bool:
        """Whether phases may decide ``term``: most guards speak of none. The answer is kept beside the term itself."""
        if id(term) not in self._decidable:
            match term:
                case Truth() | And(()) | Or(()):
                    found = True
                case Equal(left, right):
                    found = self._has_value(left) and self._has_value(right)
                case _:
                    found = any(map(self._is_decidable, children(term)))
            self._decidable[id(term)] = (term, found)
        return self._decidable[id(term)][1]

    def _has_value(self, term: Term) -> bool:
        return isinstance(term, Member) or (isinstance(term, Apply) and term.symbol in self._cells)


def _followed(protocol: Protocol, domain: tuple[Sort, ...]) -> list[Symbol]:
    return [
        symbol
        for symbol in protocol.symbols
        if symbol.mutable and symbol.result.is_enumeration and symbol.domain in ((), domain)
    ]


class _TooManyNodesError(Exception):
    """The phases have too many combinations: forget them, which reports more reads, never fewer."""
