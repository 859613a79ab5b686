"""Nothing is read before it is written.

A variable or function without an initial value holds anything at first, so an action that reads it
too early means nothing. This is checked on an abstraction that keeps every behaviour of the protocol
and two things about it: the values of enumerations (phases), and, for each relation, whether anything
was ever inserted into it. On that small graph a greatest fixpoint finds what must have been written

* whenever the enumerations have given values, and
* whenever a relation holds of anything,

and an action may read what must have been written where its guards can hold. What a variable or function has as its
value says something only once it is known by itself to be written before it is read; else two that vouch for each other
would both be believed. Functions are followed
for one fixed but arbitrary argument, together with the relations that hold of it and the variables
that name it: that covers what each agent keeps, and what is recorded about each key.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from carnet_spec.language.actions import Action, Effect, Guard, Update
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
    Role,
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
_Written = frozenset[str]
"""Names of symbols that must have been written."""
_Fact = tuple[str, int]
"""A relation that holds, and where among its arguments the fixed one stands, or one of these two."""
_ANYWHERE = -1
_AS_VALUE = -2
"""A variable, or a function somewhere, that has the fixed argument as its value."""

_MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """``symbol`` may be read at ``where`` in ``action`` before one of the ``writers`` wrote it."""

    symbol: Symbol
    action: str
    where: str
    writers: tuple[str, ...]


@functools.lru_cache(maxsize=16)
def early_reads(protocol: Protocol) -> tuple[EarlyRead, ...]:
    """Return what ``protocol`` may read before it is written, in the order of its actions."""
    given = {initial.symbol for initial in protocol.initial}
    unset = [symbol for symbol in protocol.symbols if symbol.mutable and not symbol.is_relation and symbol not in given]
    analyses = [_Analysis(protocol, domain, unset) for domain in dict.fromkeys(symbol.domain for symbol in unset)]
    trusted: frozenset[Symbol] = frozenset()
    while True:
        found = [read for analysis in analyses for read in analysis.early(trusted)]
        written = frozenset(unset).difference(read.symbol for read in found)
        if not found or written == trusted:
            break
        trusted = written
    order = [action.name for action in protocol.actions]
    return tuple(sorted(dict.fromkeys(found), key=lambda read: order.index(read.action)))


def claims_that_read_early(protocol: Protocol) -> tuple[EarlyRead, ...]:
    """Return what claims may read before it is written: an exploration judges them by one first value only.

    A claim reads like an action that could be taken wherever the claim is false.
    """
    judges = tuple(
        Action(
            name=f"claim {claim.name}",
            by=Role("judge"),
            params=claim.checked.params,
            guards=(Guard("falls", negation(claim.checked.body)),),
            updates=(),
            says=claim.sentence,
            source=claim.source,
        )
        for claim in protocol.claims
        if not claim.declared
    )
    names = {judge.name for judge in judges}
    found = early_reads(replace(protocol, actions=protocol.actions + judges))
    return tuple(replace(read, action=read.action.removeprefix("claim ")) for read in found if read.action in names)


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
    writes: _Written = frozenset()
    """What it must write, at the fixed argument."""
    makes: tuple[_Fact, ...] = ()
    """What it may make true."""

    def outside(self, bound: tuple[Var, ...]) -> _Case:
        """Forget the rows that mention variables which are bound here."""
        own = {row for row in self.rows if any(free_variables(term) & set(bound) for term in row)}
        return replace(self, rows=self.rows - own)

    def changes(self, update: Update, start: int, width: int) -> bool | None:
        """Whether ``update`` is made at the fixed argument, from ``start`` on; ``None`` if it may be."""
        args = update.args[start : start + width]
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
        self.unset = frozenset(unset)
        self.arbitrary = self.unset
        self.domain = domain
        self.tracked: _Written = frozenset(symbol.name for symbol in unset if symbol.domain == domain)
        self.cases = [case for action in protocol.actions for case in self._cases(action)]
        self.cells = {
            symbol: position
            for position, symbol in enumerate(
                symbol
                for symbol in protocol.symbols
                if symbol.mutable and symbol.result.is_enumeration and symbol.domain in ((), domain)
            )
        }
        try:
            self.edges = self._reachable()
        except _TooManyNodesError:
            self.cells = {}
            self.edges = self._reachable()
        self._known_facts: dict[tuple[frozenset[_Row], int], tuple[Apply, list[_Fact]]] = {}

    def early(self, trusted: frozenset[Symbol]) -> Iterator[EarlyRead]:
        """Yield each read that some reachable node does not guarantee.

        The values of those ``trusted`` were written, wherever they are read.
        """
        self.arbitrary = self.unset - trusted
        self._solve()
        reads = {case: self._relevant(case) for case in self.cases}
        for edge in self.edges:
            for read, written in reads[edge.case]:
                if read.symbol.name not in self.at[edge.source] | written and all(
                    self._holds(edge, term) is not False for term in read.assuming
                ):
                    yield EarlyRead(read.symbol, edge.case.action.name, read.where, self._writers(read.symbol))

    def _relevant(self, case: _Case) -> list[tuple[_Read, _Written]]:
        """Return what ``case`` reads at the fixed argument, with what must have been written for it to matter."""
        required = self._required(case)
        return [
            (read, required.union(*(self._implied(case, term) for term in read.assuming)))
            for read in _reads(case.action)
            if read.symbol.name in self.tracked and read.row in case.rows
        ]

    def _writers(self, symbol: Symbol) -> tuple[str, ...]:
        actions = self.protocol.actions
        return tuple(a.name for a in actions if any(update.symbol == symbol for update in a.updates))

    # -- the graph ----------------------------------------------------------------------------

    def _cases(self, action: Action) -> Iterator[_Case]:
        """Let each argument in turn be the fixed one; where phases change, let several be it."""
        if not self.domain:
            yield self._case(action, frozenset([()]))
            return
        applied = [
            (sub.symbol, sub.args)
            for term in terms_of_action(action)
            for sub in subterms(term)
            if isinstance(sub, Apply)
        ]
        applied += [(update.symbol, update.args) for update in action.updates]
        rows = dict.fromkeys(row for symbol, args in applied for _, row in self._windows(symbol, args))
        if len(self.domain) == 1:
            values = (update.value for update in action.updates if update.symbol.result == self.domain[0])
            rows.update(dict.fromkeys((value,) for value in values if value is not None))
        moved = dict.fromkeys(
            update.args
            for update in action.updates
            if update.symbol.domain == self.domain and update.symbol.result.is_enumeration
        )
        same = _equated(action)
        several = [chosen for size in range(2, len(moved) + 1) for chosen in itertools.combinations(moved, size)]
        together = dict.fromkeys(
            frozenset().union(*(same(row) for row in chosen)) for chosen in [*((row,) for row in rows), *several]
        )
        yield from (self._case(action, case) for case in (frozenset[_Row](), *together))

    def _windows(self, symbol: Symbol, args: _Row) -> Iterator[tuple[int, _Row]]:
        """Yield where in ``args`` the fixed argument may stand, and what stands there."""
        width = len(self.domain)
        for start in range(len(args) - width + 1):
            if symbol.domain[start : start + width] == self.domain:
                yield start, args[start : start + width]

    def _case(self, action: Action, rows: frozenset[_Row]) -> _Case:
        case = _Case(action, rows)
        width = len(self.domain)
        writes: list[str] = []
        makes: list[_Fact] = []
        for update in action.updates:
            name = update.symbol.name
            if name in self.tracked and update.when == TRUE and case.changes(update, 0, width) is True:
                writes.append(name)
            if (update.value,) in rows:
                makes.append((name, _AS_VALUE))
            if update.effect is Effect.INSERT:
                windows = (start for start, _ in self._windows(update.symbol, update.args))
                makes.append((name, _ANYWHERE))
                makes += [(name, start) for start in windows if case.changes(update, start, width) is not False]
        return replace(case, writes=frozenset(writes), makes=tuple(makes))

    def _reachable(self) -> list[_Edge]:
        edges: list[_Edge] = []
        self.first = tuple(itertools.product(*(self._initial(cell) for cell in self.cells)))
        local = any(cell.domain for cell in self.cells)  # else all cases of an action move alike
        reached = dict.fromkeys(self.first)
        waiting = list(reached)
        while waiting:
            source = waiting.pop()
            alike: dict[str, tuple[_Node, ...]] = {}
            for case in self.cases:
                targets = None if local else alike.get(case.action.name)
                if targets is None:
                    targets = alike[case.action.name] = self._targets(_Edge(case, source, ()))
                if targets:
                    edges.append(_Edge(case, source, targets))
                    waiting += [target for target in targets if target not in reached]
                    reached.update(dict.fromkeys(targets))
            if len(reached) > _MOST_NODES:
                raise _TooManyNodesError
        return edges

    def _targets(self, edge: _Edge) -> tuple[_Node, ...]:
        """Return where ``edge`` may lead; nowhere, if its guards cannot hold."""
        if any(self._holds(edge, guard.formula) is False for guard in edge.case.action.guards):
            return ()
        return tuple(itertools.product(*(self._after(edge, cell) for cell in self.cells)))

    def _initial(self, cell: Symbol) -> tuple[str, ...]:
        for initial in self.protocol.initial:
            if initial.symbol == cell and isinstance(initial.value, Member):
                return (initial.value.name,)
        return cell.result.members or ()

    def _after(self, edge: _Edge, cell: Symbol) -> tuple[str, ...]:
        """Return the values that ``cell`` may have after ``edge``."""
        possible = {edge.source[self.cells[cell]]}
        for update in edge.case.action.updates:
            if update.symbol != cell or update.value is None:
                continue
            changed = edge.case.changes(update, 0, len(cell.domain))
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
                return edge.source[self.cells[symbol]]
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
        self.at = {edge.source: self.tracked for edge in self.edges}
        self.facts: dict[_Fact, _Written] = {}
        for node in self.first:
            self.at[node] = frozenset()
        for initial in self.protocol.initial:
            if initial.value != FALSE:
                for start in range(_AS_VALUE, len(initial.params) + 1):
                    self.facts[initial.symbol.name, start] = frozenset()
        changed = True
        while changed:
            required = {case: self._required(case) for case in self.cases}
            changed = sum(self._weaken(edge, required[edge.case]) for edge in self.edges) > 0

    def _weaken(self, edge: _Edge, required: _Written) -> bool:
        after = self.at[edge.source] | required | edge.case.writes
        changed = False
        for target in edge.targets:
            known = self.at.get(target)
            if known is None or not known <= after:
                self.at[target] = after if known is None else known & after
                changed = True
        for fact in edge.case.makes:
            known = self.facts.get(fact, self.tracked)
            if not known <= after:
                self.facts[fact] = known & after
                changed = True
        return changed

    def _required(self, case: _Case) -> _Written:
        """Return what must have been written for the guards of ``case`` to hold."""
        named = (self._named(term) for row in case.rows for term in row)
        guards = (self._implied(case, guard.formula) for guard in case.action.guards)
        return frozenset().union(*named, *guards)

    def _named(self, term: Term) -> _Written:
        """Return what must have been written for ``term`` to have the fixed argument as its value."""
        match term:
            case Apply(symbol) if symbol.mutable and len(self.domain) == 1 and symbol not in self.arbitrary:
                return self.facts.get((symbol.name, _AS_VALUE), self.tracked)
            case _:
                return frozenset()

    def _implied(self, case: _Case, term: Term) -> _Written:
        """Return what must have been written for ``term`` to hold."""
        match term:
            case And(parts):
                return frozenset().union(*(self._implied(case, part) for part in parts))
            case Or(parts) if parts:
                return self.tracked.intersection(*(self._implied(case, part) for part in parts))
            case Exists(bound, body):
                return self._implied(case.outside(bound), body)
            case Equal(left, right) if (left,) in case.rows or (right,) in case.rows:
                return self._named(left) | self._named(right)
            case Apply(symbol, _) if symbol.mutable and symbol.is_relation:
                facts = self._facts_of(case, term)
                return frozenset().union(*(self.facts.get(fact, self.tracked) for fact in facts))
            case _:
                return frozenset()

    def _facts_of(self, case: _Case, term: Apply) -> list[_Fact]:
        """Return what a relation's holding says, at the fixed argument and anywhere.

        Terms are slow to compare, so an answer is kept by the term itself, which is kept beside it.
        """
        key = (case.rows, id(term))
        if key not in self._known_facts:
            starts = [start for start, row in self._windows(term.symbol, term.args) if row in case.rows]
            self._known_facts[key] = (term, [(term.symbol.name, start) for start in (_ANYWHERE, *starts)])
        return self._known_facts[key][1]


def _equated(action: Action) -> Callable[[_Row], frozenset[_Row]]:
    """Return what finds all terms that the guards of ``action`` say are equal to a given one."""
    classes: list[set[Term]] = []
    for guard in action.guards:
        parts = guard.formula.parts if isinstance(guard.formula, And) else (guard.formula,)
        for part in parts:
            if isinstance(part, Equal):
                joined = {part.left, part.right}
                for other in [each for each in classes if each & joined]:
                    classes.remove(other)
                    joined |= other
                classes.append(joined)

    def same(row: _Row) -> frozenset[_Row]:
        if len(row) != 1:
            return frozenset([row])
        return frozenset((term,) for term in next((each for each in classes if row[0] in each), set(row)))

    return same


class _TooManyNodesError(Exception):
    """The phases have too many combinations: forget them, which reports more reads, never fewer."""
