"""Nothing is read before it is written.

A variable or function without an initial value holds anything at first, so an action that reads it
too early means nothing. This is checked on an abstraction that keeps every behaviour of the protocol
and two things about it: the values of enumerations (phases), and, for each relation, whether anything
was ever inserted into it. On that small graph a greatest fixpoint finds what must have been written

* whenever the enumerations have given values, and
* whenever a relation holds of anything,

and an action may read what must have been written where its guards can hold. Functions are followed
for one fixed but arbitrary argument, together with the relations whose first arguments it is: that
covers the state which each agent keeps of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from carnet_spec.language.actions import Action, Effect, Update
from carnet_spec.language.protocol import Protocol, terms_of_action
from carnet_spec.language.terms import (
    FALSE,
    TRUE,
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
    Var,
    children,
    free_variables,
    negation,
    subterms,
)

_Row = tuple[Term, ...]
_Node = tuple[str, ...]
"""A value for each enumeration that is followed."""
_Written = frozenset[Symbol]
_Fact = tuple[Symbol, bool]
"""A relation, and whether it holds of the fixed argument rather than of anything."""

_MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """``symbol`` may be read at ``where`` in ``action`` before one of the ``writers`` wrote it."""

    symbol: Symbol
    action: str
    where: str
    writers: tuple[str, ...]


def early_reads(protocol: Protocol) -> tuple[EarlyRead, ...]:
    """Return what ``protocol`` may read before it is written, in the order of its actions."""
    given = {initial.symbol for initial in protocol.initial}
    unset = [symbol for symbol in protocol.symbols if symbol.mutable and not symbol.is_relation and symbol not in given]
    domains = dict.fromkeys(symbol.domain for symbol in unset)
    found = [read for domain in domains for read in _Analysis(protocol, domain, unset).early()]
    order = [action.name for action in protocol.actions]
    return tuple(sorted(dict.fromkeys(found), key=lambda read: order.index(read.action)))


@dataclass(frozen=True, slots=True)
class _Read:
    """A use of ``symbol`` at ``row`` that matters only if all of ``assuming`` holds."""

    symbol: Symbol
    row: _Row
    where: str
    assuming: tuple[Term, ...]


def _reads(action: Action) -> Iterator[_Read]:
    guards = tuple(guard.formula for guard in action.guards)
    for guard in action.guards:
        yield from _reads_in(guard.formula, f"guard '{guard.name}'", guards)
    for update in action.updates:
        where = f"update '{update.name}'"
        yield from _reads_in(update.when, where, guards)
        for term in (*update.args, *([] if update.value is None else [update.value])):
            yield from _reads_in(term, where, (*guards, update.when))


def _reads_in(term: Term, where: str, assuming: tuple[Term, ...]) -> Iterator[_Read]:
    match term:
        case And(parts) | Or(parts):
            for position, part in enumerate(parts):
                others = (*parts[:position], *parts[position + 1 :])
                beside = others if isinstance(term, And) else tuple(map(negation, others))
                yield from _reads_in(part, where, (*assuming, *beside))
        case Implies(premise, conclusion):
            yield from _reads_in(premise, where, (*assuming, negation(conclusion)))
            yield from _reads_in(conclusion, where, (*assuming, premise))
        case _:
            if isinstance(term, Apply) and term.symbol.mutable and not term.symbol.is_relation:
                yield _Read(term.symbol, term.args, where, assuming)
            for child in children(term):
                yield from _reads_in(child, where, assuming)


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One action, where the terms ``rows`` denote the fixed argument and no others do."""

    action: Action
    rows: frozenset[_Row]

    def outside(self, bound: tuple[Var, ...]) -> _Case:
        """Forget the rows that mention variables which are bound here."""
        own = {row for row in self.rows if any(free_variables(t) & set(bound) for t in row)}
        return replace(self, rows=self.rows - own)

    def changes(self, update: Update, width: int) -> bool | None:
        """Whether ``update`` is made at the fixed argument; ``None`` if it may be."""
        args = update.args[:width]
        every = [arg in update.each for arg in args]
        if all(every) or args in self.rows:
            return True
        return None if any(every) else False


@dataclass(frozen=True, slots=True)
class _Edge:
    """A case that can be taken at ``source``, and where it may lead."""

    case: _Case
    source: _Node
    targets: tuple[_Node, ...]


class _Analysis:
    """Follows the functions of one domain (the empty one: variables) for one fixed argument."""

    def __init__(self, protocol: Protocol, domain: tuple[Sort, ...], unset: list[Symbol]) -> None:
        self.protocol = protocol
        self.domain = domain
        self.tracked: _Written = frozenset(symbol for symbol in unset if symbol.domain == domain)
        self.cases = [case for action in protocol.actions for case in self._cases(action)]
        self.cells = tuple(
            symbol
            for symbol in protocol.symbols
            if symbol.mutable and symbol.result.is_enumeration and symbol.domain in ((), domain)
        )
        try:
            self.edges = self._reachable()
        except _TooManyNodesError:
            self.cells = ()
            self.edges = self._reachable()
        self.at = {edge.source: self.tracked for edge in self.edges}
        self.facts: dict[_Fact, _Written] = {}
        self._solve()

    def early(self) -> Iterator[EarlyRead]:
        """Yield each read that some reachable node does not guarantee."""
        required = {case: self._required(case) for case in self.cases}
        for edge in self.edges:
            case, before = edge.case, self.at[edge.source] | required[edge.case]
            for read in _reads(case.action):
                if (
                    read.symbol in self.tracked - before
                    and read.row in case.rows
                    and all(self._holds(edge, term) is not False for term in read.assuming)
                    and not any(read.symbol in self._implied(case, t) for t in read.assuming)
                ):
                    writers = tuple(
                        action.name
                        for action in self.protocol.actions
                        if any(update.symbol == read.symbol for update in action.updates)
                    )
                    yield EarlyRead(read.symbol, case.action.name, read.where, writers)

    # -- the graph ----------------------------------------------------------------------------

    def _cases(self, action: Action) -> Iterator[_Case]:
        """Let each argument in turn be the fixed one; where phases change, let several be it."""
        width = len(self.domain)
        if not width:
            yield _Case(action, frozenset([()]))
            return
        applied = [
            (sub.symbol, sub.args)
            for term in terms_of_action(action)
            for sub in subterms(term)
            if isinstance(sub, Apply)
        ]
        applied += [(update.symbol, update.args) for update in action.updates]
        rows = dict.fromkeys(args[:width] for symbol, args in applied if symbol.domain[:width] == self.domain)
        moved = dict.fromkeys(
            update.args
            for update in action.updates
            if update.symbol.domain == self.domain and update.symbol.result.is_enumeration
        )
        yield _Case(action, frozenset())
        yield from (_Case(action, frozenset([row])) for row in rows)
        for size in range(2, len(moved) + 1):
            for several in itertools.combinations(moved, size):
                yield _Case(action, frozenset(several))

    def _reachable(self) -> list[_Edge]:
        edges: list[_Edge] = []
        self.first = tuple(itertools.product(*(self._initial(cell) for cell in self.cells)))
        reached = dict.fromkeys(self.first)
        waiting = list(reached)
        while waiting:
            source = waiting.pop()
            for case in self.cases:
                edge = _Edge(case, source, ())
                if any(self._holds(edge, g.formula) is False for g in case.action.guards):
                    continue
                targets = tuple(itertools.product(*(self._after(edge, c) for c in self.cells)))
                edges.append(_Edge(case, source, targets))
                waiting += [target for target in targets if target not in reached]
                reached.update(dict.fromkeys(targets))
            if len(reached) > _MOST_NODES:
                raise _TooManyNodesError
        return edges

    def _initial(self, cell: Symbol) -> tuple[str, ...]:
        for initial in self.protocol.initial:
            if initial.symbol == cell and isinstance(initial.value, Member):
                return (initial.value.name,)
        return cell.result.members or ()

    def _after(self, edge: _Edge, cell: Symbol) -> tuple[str, ...]:
        """Return the values that ``cell`` may have after ``edge``."""
        possible = {edge.source[self.cells.index(cell)]}
        for update in edge.case.action.updates:
            if update.symbol != cell or update.value is None:
                continue
            changed = edge.case.changes(update, len(cell.domain))
            happens = self._holds(edge, update.when)
            if changed is False or happens is False:
                continue
            value = self._value(edge, update.value)
            new = set(cell.result.members or ()) if value is None else {value}
            possible = new if changed and happens else possible | new
        return tuple(sorted(possible))

    def _value(self, edge: _Edge, term: Term) -> str | None:
        match term:
            case Member(_, name):
                return name
            case Apply(symbol, args) if symbol in self.cells and (not symbol.domain or args in edge.case.rows):
                return edge.source[self.cells.index(symbol)]
            case _:
                return None

    def _holds(self, edge: _Edge, term: Term) -> bool | None:
        """Evaluate ``term`` as far as the phases decide it."""
        match term:
            case Truth(value):
                return value
            case Equal(left, right):
                values = self._value(edge, left), self._value(edge, right)
                return None if None in values else values[0] == values[1]
            case Not(body):
                inner = self._holds(edge, body)
                return None if inner is None else not inner
            case Implies(premise, conclusion):
                return self._holds(edge, Or((Not(premise), conclusion)))
            case And(parts) | Or(parts):
                decisive = isinstance(term, Or)
                values_of = [self._holds(edge, part) for part in parts]
                if decisive in values_of:
                    return decisive
                return None if None in values_of else not decisive
            case Forall(bound, body) | Exists(bound, body):
                return self._holds(replace(edge, case=edge.case.outside(bound)), body)
            case _:
                return None

    # -- what must have been written ----------------------------------------------------------

    def _solve(self) -> None:
        """Start from "everything was written" and take away until nothing changes any more."""
        for node in self.first:
            self.at[node] = frozenset()
        for initial in self.protocol.initial:
            if initial.symbol.is_relation and initial.value != FALSE:
                self.facts[initial.symbol, False] = self.facts[initial.symbol, True] = frozenset()
        changed = True
        while changed:
            before = {case: self._required(case) for case in self.cases}
            changed = sum(self._weaken(edge, before[edge.case]) for edge in self.edges) > 0

    def _weaken(self, edge: _Edge, required: _Written) -> bool:
        case, width = edge.case, len(self.domain)
        writes = {
            update.symbol
            for update in case.action.updates
            if update.symbol in self.tracked and update.when == TRUE and case.changes(update, width) is True
        }
        after = self.at[edge.source] | required | writes
        changed = False
        for target in edge.targets:
            weaker = self.at.get(target, self.tracked) & after
            changed |= weaker != self.at.get(target)
            self.at[target] = weaker
        for update in case.action.updates:
            if update.effect is Effect.INSERT:
                near = update.symbol.domain[:width] == self.domain
                here = near and case.changes(update, width) is not False
                for fact in [(update.symbol, False), *([(update.symbol, True)] if here else [])]:
                    weaker = self.facts.get(fact, self.tracked) & after
                    changed |= weaker != self.facts.get(fact, self.tracked)
                    self.facts[fact] = weaker
        return changed

    def _required(self, case: _Case) -> _Written:
        """Return what must have been written for the guards of ``case`` to hold."""
        guards = case.action.guards
        return frozenset().union(*(self._implied(case, guard.formula) for guard in guards))

    def _implied(self, case: _Case, term: Term) -> _Written:
        """Return what must have been written for ``term`` to hold."""
        match term:
            case And(parts):
                return frozenset().union(*(self._implied(case, part) for part in parts))
            case Or(parts) if parts:
                return self.tracked.intersection(*(self._implied(case, part) for part in parts))
            case Exists(bound, body):
                return self._implied(case.outside(bound), body)
            case Apply(symbol, args) if symbol.mutable and symbol.is_relation:
                written = self.facts.get((symbol, False), self.tracked)
                width = len(self.domain)
                if symbol.domain[:width] == self.domain and args[:width] in case.rows:
                    written |= self.facts.get((symbol, True), self.tracked)
                return written
            case _:
                return frozenset()


class _TooManyNodesError(Exception):
    """The phases have too many combinations: forget them, which reports more reads, never fewer."""
