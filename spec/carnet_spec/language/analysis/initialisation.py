"""The check that no symbol is read before it is written.

A variable or function without an initial value has an arbitrary value at first, so an action that reads it too early
has no meaning. The check uses an over-approximation of the protocol that distinguishes only the values of enumerations
(phases), and, for each relation, whether anything was ever inserted into it. On this small graph a greatest fixpoint
computes what must have been written

* whenever the enumerations have given values, and
* whenever a relation holds of anything,

and an action may read what must have been written wherever its guards can hold. The value of a variable or function is
only used in this argument once it is shown, independently, that it is written before it is read; otherwise two symbols
could justify each other in a circle. Functions are analysed for one fixed but arbitrary argument, together with the
relations that hold of it and the variables that have it as value. That covers the state of each agent, and the records
about each key.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from carnet_spec.language import terms
from carnet_spec.language.actions import Action, Effect, Guard, Update
from carnet_spec.language.protocol import Protocol, terms_of_action


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """A read of ``symbol`` at ``where`` in ``action`` that may come before every write by one of the ``writers``."""

    symbol: terms.Symbol
    action: str
    where: str
    writers: tuple[str, ...]


def early_reads(protocol: Protocol) -> tuple[EarlyRead, ...]:
    """Return the early reads of a protocol's actions, in the order of the actions."""
    return _judged(protocol).early(frozenset(action.name for action in protocol.actions))


def claims_that_read_early(protocol: Protocol) -> tuple[EarlyRead, ...]:
    """Return the early reads of claims: without them, an exploration from one first value is enough.

    A claim is treated like an action that is enabled wherever the claim is false. A liveness property is treated like
    several actions: enabled at its trigger, enabled at its response, and its fair actions in between.
    """
    judged = _judged(protocol)
    found = judged.early(frozenset(judged.order))
    return tuple(replace(read, action=judged.judges[read.action]) for read in found if read.action in judged.judges)


@functools.lru_cache(maxsize=4)
def _judged(protocol: Protocol) -> _Judged:
    return _Judged(protocol)


def _judge(name: str, params: tuple[terms.Var, ...], falls: terms.Term) -> Action:
    """Return an action with the reads of a claim, which changes nothing."""
    return Action(name, terms.Role("judge"), params, (Guard("falls", falls),), (), "", "")


def _falling(protocol: Protocol) -> list[tuple[str, tuple[terms.Var, ...], terms.Term]]:
    """Return the reads of claims and liveness properties: for each, a name, parameters and a formula."""
    falling = [(c.name, c.checked.params, terms.negation(c.checked.body)) for c in protocol.claims if not c.declared]
    for stated in protocol.liveness:
        params = stated.variables
        live = stated.at(params)
        falling += [
            (live.name, params, terms.conjunction((live.trigger, terms.negation(live.response)))),
            (live.name, params, live.response),
        ]
        fair = (action for action in protocol.actions if action.name in live.fair)
        waits = terms.negation(live.response)
        falling += [
            (live.name, (*params, *each.params), terms.conjunction((waits, live.condition(each.name, each.params))))
            for each in fair
        ]
    return falling


class _Judged:
    """A protocol with an action for each claim, analysed once for both functions above."""

    def __init__(self, protocol: Protocol) -> None:
        longest = max((len(action.name) for action in protocol.actions), default=0)
        judge = "judge".ljust(longest) + " {}"  # longer than the name of any action
        falling = {judge.format(number): each for number, each in enumerate(_falling(protocol))}
        judges = (_judge(name, params, falls) for name, (_, params, falls) in falling.items())
        whole = replace(protocol, actions=(*protocol.actions, *judges))
        given = {initial.symbol for initial in protocol.initial}
        unset = [each for each in protocol.symbols if each.mutable and not each.is_relation and each not in given]
        #: the claim of each action that represents one.
        self.judges = {name: claim for name, (claim, _, _) in falling.items()}
        self.order = [action.name for action in whole.actions]  #: the names of all actions, in order.
        self._unset = frozenset(unset)
        self._early: dict[frozenset[terms.Symbol], list[EarlyRead]] = {}
        self._found: dict[frozenset[str], tuple[EarlyRead, ...]] = {}
        self._analyses = [_Analysis(whole, domain, unset) for domain in dict.fromkeys(each.domain for each in unset)]

    def early(self, readers: frozenset[str]) -> tuple[EarlyRead, ...]:
        """Return the early reads of the actions named in ``readers``, in the protocol's order of actions."""
        if readers not in self._found:
            self._found[readers] = self._early_in(readers)
        return self._found[readers]

    def _early_in(self, readers: frozenset[str]) -> tuple[EarlyRead, ...]:
        trusted: frozenset[terms.Symbol] = frozenset()
        while True:
            found = [read for read in self._reads_trusting(trusted) if read.action in readers]
            written = self._unset.difference(read.symbol for read in found)
            if not found or written == trusted:
                return tuple(sorted(dict.fromkeys(found), key=lambda read: self.order.index(read.action)))
            trusted = written

    def _reads_trusting(self, trusted: frozenset[terms.Symbol]) -> list[EarlyRead]:
        """Return all early reads, assuming that the ``trusted`` symbols are written before they are read."""
        if trusted not in self._early:
            self._early[trusted] = [read for analysis in self._analyses for read in analysis.early(trusted)]
        return self._early[trusted]


class _Analysis:
    """Analyses the functions of one domain (variables, if it is empty) for one fixed argument."""

    def __init__(self, protocol: Protocol, domain: tuple[terms.Sort, ...], unset: list[terms.Symbol]) -> None:
        self.protocol = protocol
        self.unset = frozenset(unset)
        self.arbitrary: frozenset[str] = frozenset()
        self.writers = {symbol: _writers(protocol, symbol) for symbol in unset}
        self.tracked: Written = frozenset(symbol.name for symbol in unset if symbol.domain == domain)
        self.made = Cases(domain, self.tracked)
        self.cases = [case for action in protocol.actions for case in self.made.of(action)]
        self.graph = PhaseGraph(protocol, domain, self.cases)
        self._nodes: dict[Case, list[Node]] = {case: [] for case in self.cases}
        self._leaving: dict[Node, list[Edge]] = {}
        for edge in self.graph.edges:
            self._nodes[edge.case].append(edge.source)
            if edge.targets != (edge.source,):  # a case that stays at its node removes nothing
                self._leaving.setdefault(edge.source, []).append(edge)
        self._demands = Demands(self.made)
        self._demanded = {case: self._demands.guard_demand(case) for case in self.cases}
        self._reads: dict[Case, list[tuple[Read, list[Demand]]]] = {}

    def early(self, trusted: frozenset[terms.Symbol]) -> Iterator[EarlyRead]:
        """Yield each read that may be early at some reachable node.

        The ``trusted`` symbols are assumed to be written wherever they are read.
        """
        self.arbitrary = frozenset(symbol.name for symbol in self.unset - trusted)
        self._solve()
        relevant = {case: self._relevant(case) for case in self.cases}
        for edge in self.graph.edges:
            for read, written in relevant[edge.case]:
                if read.symbol.name not in self.at[edge.source] | written and all(
                    self.graph.holds(edge, term) is not False for term in read.assuming
                ):
                    yield EarlyRead(read.symbol, edge.case.action.name, read.where, self.writers[read.symbol])

    def _relevant(self, case: Case) -> list[tuple[Read, Written]]:
        """Return the reads of ``case`` at the fixed argument, with what must have been written for each to matter."""
        required = self._written_symbols(self._demanded[case])
        return [(read, required.union(*map(self._written_symbols, assumed))) for read, assumed in self._read_in(case)]

    def _read_in(self, case: Case) -> list[tuple[Read, list[Demand]]]:
        """Return the reads of ``case`` at the fixed argument, with the demands under which each matters."""
        if case not in self._reads:
            self._reads[case] = [
                (read, [self._demands.demand_of(case, term) for term in read.assuming])
                for read in reads(case.action)
                if read.symbol.name in self.tracked and read.row in case.rows
            ]
        return self._reads[case]

    # -- what must have been written ----------------------------------------------------------

    def _solve(self) -> None:
        """Compute the greatest fixpoint: start from "everything was written", and remove symbols until it is stable."""
        self.at: dict[Node, Written] = {edge.source: self.tracked for edge in self.graph.edges}
        self.facts: dict[Fact, Written] = {}
        for node in self.graph.first:
            self.at[node] = frozenset()
        for initial in self.protocol.initial:
            if initial.value != terms.FALSE:
                for start in range(AS_VALUE, len(initial.params) + 1):
                    self.facts[initial.symbol.name, start] = frozenset()
        required: dict[Case, Written] = {}
        while True:
            known, required = required, {case: self._written_symbols(demand) for case, demand in self._demanded.items()}
            if required == known:
                return
            waiting = list(self._leaving)
            while waiting:
                for edge in self._leaving.get(waiting.pop(), ()):
                    waiting += self._weaken(edge, required[edge.case])
            for case in self.cases:
                self._make(case, required[case])

    def _weaken(self, edge: Edge, required: Written) -> Iterator[Node]:
        """Follow an edge, and yield the nodes at which fewer symbols are known to be written than before."""
        after = self.at[edge.source] | required | edge.case.writes
        for target in edge.targets:
            known = self.at.get(target)
            if known is None or not known <= after:
                self.at[target] = after if known is None else known & after
                yield target

    def _make(self, case: Case, required: Written) -> None:
        """Restrict what must have been written wherever the facts hold that ``case`` makes true."""
        if case.makes and self._nodes[case]:
            after = self.tracked.intersection(*(self.at[node] for node in self._nodes[case])) | required | case.writes
            for fact in case.makes:
                self.facts[fact] = self.facts.get(fact, self.tracked) & after

    def _written_symbols(self, demand: Demand) -> Written:
        """Return the symbols that must have been written for a demand to be met."""
        match demand:
            case AllOf(parts):
                return frozenset[str]().union(*map(self._written_symbols, parts))
            case AnyOf(parts):
                return self.tracked.intersection(*map(self._written_symbols, parts))
            case name, where if where == AS_VALUE and name in self.arbitrary:
                return frozenset()
            case fact:
                return self.facts.get(fact, self.tracked)


def _writers(protocol: Protocol, symbol: terms.Symbol) -> tuple[str, ...]:
    return tuple(a.name for a in protocol.actions if any(update.symbol == symbol for update in a.updates))


# -- reads -------------------------------------------------------------------------------------------------------------
# The reads of an action, each with the condition under which it matters.

Row = tuple[terms.Term, ...]  #: The arguments that a symbol is applied to.


@dataclass(frozen=True, slots=True)
class Read:
    """A use of ``symbol`` at ``row`` that matters only if all of ``assuming`` holds."""

    symbol: terms.Symbol
    row: Row
    where: str
    assuming: tuple[terms.Term, ...]


def reads(action: Action) -> Iterator[Read]:
    """Yield the reads of mutable variables and functions, in guards and then in updates."""
    guards = tuple(guard.formula for guard in action.guards)
    for guard in action.guards:
        yield from _reads_in(guard.formula, f"guard '{guard.name}'", guards)
    for update in action.updates:
        where = f"update '{update.name}'"
        yield from _reads_in(update.when, where, guards)
        for term in (*update.args, *([] if update.value is None else [update.value])):
            yield from _reads_in(term, where, (*guards, update.when))


def _reads_in(term: terms.Term, where: str, assuming: tuple[terms.Term, ...]) -> Iterator[Read]:
    match term:
        case terms.And(parts) | terms.Or(parts):
            for position, part in enumerate(parts):
                others = (*parts[:position], *parts[position + 1 :])
                beside = others if isinstance(term, terms.And) else tuple(map(terms.negation, others))
                yield from _reads_in(part, where, (*assuming, *beside))
        case terms.Implies(premise, conclusion):
            yield from _reads_in(premise, where, (*assuming, terms.negation(conclusion)))
            yield from _reads_in(conclusion, where, (*assuming, premise))
        case _:
            if isinstance(term, terms.Apply) and term.symbol.mutable and not term.symbol.is_relation:
                yield Read(term.symbol, term.args, where, assuming)
            for child in terms.children(term):
                yield from _reads_in(child, where, assuming)


# -- cases -------------------------------------------------------------------------------------------------------------
# The cases of an action: which of its terms denote the fixed argument, and what it writes and makes true there.

Written = frozenset[str]  #: Names of symbols that must have been written.
#: A relation that holds, and the position of the fixed argument among its arguments, or one of these two constants.
Fact = tuple[str, int]
ANYWHERE = -1
AS_VALUE = -2  #: The fixed argument is the value of a variable, or of a function at some arguments.


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One action, in the case that exactly the terms ``rows`` denote the fixed argument."""

    action: Action
    rows: frozenset[Row]
    writes: Written = frozenset()  #: The symbols that it always writes at the fixed argument.
    makes: tuple[Fact, ...] = ()  #: The facts that it may make true.

    def outside(self, bound: tuple[terms.Var, ...]) -> Case:
        """Return the case without the rows that mention variables of ``bound``."""
        own = {row for row in self.rows if any(terms.free_variables(term) & set(bound) for term in row)}
        return replace(self, rows=self.rows - own)

    def changes(self, update: Update, start: int, width: int) -> bool | None:
        """Whether ``update`` changes the symbol at the fixed argument; None if that is unknown.

        The fixed argument are the ``width`` arguments of the update from position ``start`` on.
        """
        args = update.args[start : start + width]
        every = [arg in update.each for arg in args]
        if all(every) or args in self.rows:
            return True
        return None if any(every) else False


class Cases:
    """The cases of actions, for a fixed argument of the sorts ``domain`` (empty for variables).

    ``tracked`` are the names of the functions of this domain that are analysed.
    """

    def __init__(self, domain: tuple[terms.Sort, ...], tracked: Written) -> None:
        self.domain = domain
        self.tracked = tracked

    def of(self, action: Action) -> Iterator[Case]:
        """Yield a case for each possible fixed argument; where phases change, several arguments are fixed at once."""
        if not self.domain:
            yield self._case(action, frozenset([()]))
            return
        applied = [
            (sub.symbol, sub.args)
            for term in terms_of_action(action)
            for sub in terms.subterms(term)
            if isinstance(sub, terms.Apply)
        ]
        applied += [(update.symbol, update.args) for update in action.updates]
        rows = dict.fromkeys(row for symbol, args in applied for _, row in self.windows(symbol, args))
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
        yield from (self._case(action, case) for case in (frozenset[Row](), *together))

    def windows(self, symbol: terms.Symbol, args: Row) -> Iterator[tuple[int, Row]]:
        """Yield the positions in ``args`` at which the fixed argument may occur, and the terms there."""
        width = len(self.domain)
        for start in range(len(args) - width + 1):
            if symbol.domain[start : start + width] == self.domain:
                yield start, args[start : start + width]

    def _case(self, action: Action, rows: frozenset[Row]) -> Case:
        case = Case(action, rows)
        width = len(self.domain)
        writes: list[str] = []
        makes: list[Fact] = []
        for update in action.updates:
            name = update.symbol.name
            if name in self.tracked and update.when == terms.TRUE and case.changes(update, 0, width) is True:
                writes.append(name)
            if (update.value,) in rows:
                makes.append((name, AS_VALUE))
            if update.effect is Effect.INSERT:
                windows = (start for start, _ in self.windows(update.symbol, update.args))
                makes.append((name, ANYWHERE))
                makes += [(name, start) for start in windows if case.changes(update, start, width) is not False]
        return replace(case, writes=frozenset(writes), makes=tuple(makes))


def _equated(action: Action) -> Callable[[Row], frozenset[Row]]:
    """Return a function from a row of terms to all rows that are equal to it by the guards of ``action``."""
    classes: list[set[terms.Term]] = []
    for guard in action.guards:
        for part in terms.conjuncts(guard.formula):
            if isinstance(part, terms.Equal):
                joined = {part.left, part.right}
                for other in [each for each in classes if each & joined]:
                    classes.remove(other)
                    joined |= other
                classes.append(joined)

    def same(row: Row) -> frozenset[Row]:
        if len(row) != 1:
            return frozenset([row])
        return frozenset((term,) for term in next((each for each in classes if row[0] in each), set(row)))

    return same


# -- phases ------------------------------------------------------------------------------------------------------------
# The graph of phases: the reachable values of enumerations, and the actions that are possible there.
#
# It over-approximates the protocol: a step is left out only if the phases alone show that it cannot happen.

Node = tuple[str, ...]  #: A value for each enumeration that is analysed.

_MOST_NODES = 20_000


@dataclass(frozen=True, slots=True)
class Edge:
    """A case that can be taken at ``source``, and the nodes to which it may lead."""

    case: Case
    source: Node
    targets: tuple[Node, ...]


class PhaseGraph:
    """The possible steps of ``cases`` in each phase, for one fixed argument of the sorts ``domain``.

    If the phases have too many combinations, they are ignored; this only adds behaviours.
    """

    def __init__(self, protocol: Protocol, domain: tuple[terms.Sort, ...], cases: Sequence[Case]) -> None:
        self._protocol = protocol
        self._cases = cases
        self._cells = {symbol: position for position, symbol in enumerate(_followed(protocol, domain))}
        self._decidable: dict[int, tuple[terms.Term, bool]] = {}
        self._deciding: dict[str, list[terms.Term]] = {}
        self._staying: set[str] = set()
        """The actions that neither ask for a phase nor change one."""
        try:
            self.edges = self._reachable()
        except _TooManyNodesError:
            self._cells, self._decidable, self._deciding = {}, {}, {}
            self.edges = self._reachable()

    def _reachable(self) -> list[Edge]:
        """Return the edges from reachable nodes."""
        edges: list[Edge] = []
        self.first = tuple(itertools.product(*(self._initial(cell) for cell in self._cells)))
        self._staying = {
            case.action.name
            for case in self._cases
            if not (
                self._deciding_guards(case.action) or any(each.symbol in self._cells for each in case.action.updates)
            )
        }
        local = any(cell.domain for cell in self._cells)  # else all cases of an action have the same targets
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
        """Return the nodes to which ``edge`` may lead; none if its guards cannot hold."""
        if edge.case.action.name in self._staying:
            return (edge.source,)
        if any(self.holds(edge, guard) is False for guard in self._deciding_guards(edge.case.action)):
            return ()
        return tuple(itertools.product(*(self._after(edge, cell) for cell in self._cells)))

    def _deciding_guards(self, action: Action) -> list[terms.Term]:
        """Return the guards that phases may decide; few actions have any."""
        if action.name not in self._deciding:
            formulas = (guard.formula for guard in action.guards)
            self._deciding[action.name] = [each for each in formulas if self._is_decidable(each)]
        return self._deciding[action.name]

    def _initial(self, cell: terms.Symbol) -> tuple[str, ...]:
        for initial in self._protocol.initial:
            if initial.symbol == cell and isinstance(initial.value, terms.Member):
                return (initial.value.name,)
        return cell.result.members or ()

    def _after(self, edge: Edge, cell: terms.Symbol) -> tuple[str, ...]:
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

    def _value(self, edge: Edge, term: terms.Term) -> str | None:
        match term:
            case terms.Member(_, name):
                return name
            case terms.Apply(symbol, args) if symbol in self._cells and (not symbol.domain or args in edge.case.rows):
                return edge.source[self._cells[symbol]]
            case _:
                return None

    def holds(self, edge: Edge, term: terms.Term) -> bool | None:
        """Return the truth of ``term``, or None if the phases do not decide it."""
        if not self._is_decidable(term):
            return None
        match term:
            case terms.Truth(value):
                return value
            case terms.Equal(left, right):
                values = self._value(edge, left), self._value(edge, right)
                return None if None in values else values[0] == values[1]
            case terms.Not(body):
                inner = self.holds(edge, body)
                return None if inner is None else not inner
            case terms.Implies(premise, conclusion):
                return self.holds(edge, terms.Or((terms.Not(premise), conclusion)))
            case terms.And(parts) | terms.Or(parts):
                decisive, is_open = isinstance(term, terms.Or), False
                for part in parts:
                    said = self.holds(edge, part)
                    if said is decisive:
                        return decisive
                    is_open = is_open or said is None
                return None if is_open else not decisive
            case terms.Forall(bound, body) | terms.Exists(bound, body):
                return self.holds(replace(edge, case=edge.case.outside(bound)), body)
            case _:
                return None

    def _is_decidable(self, term: terms.Term) -> bool:
        """Whether phases may decide ``term``; the answer is cached, and most guards mention no phase."""
        if id(term) not in self._decidable:
            match term:
                case terms.Truth() | terms.And(()) | terms.Or(()):
                    found = True
                case terms.Equal(left, right):
                    found = self._has_value(left) and self._has_value(right)
                case _:
                    found = any(map(self._is_decidable, terms.children(term)))
            self._decidable[id(term)] = (term, found)
        return self._decidable[id(term)][1]

    def _has_value(self, term: terms.Term) -> bool:
        return isinstance(term, terms.Member) or (isinstance(term, terms.Apply) and term.symbol in self._cells)


def _followed(protocol: Protocol, domain: tuple[terms.Sort, ...]) -> list[terms.Symbol]:
    return [
        symbol
        for symbol in protocol.symbols
        if symbol.mutable and symbol.result.is_enumeration and symbol.domain in ((), domain)
    ]


class _TooManyNodesError(Exception):
    """The phases have too many combinations; they are then ignored, which can only report more early reads."""


# -- demands -----------------------------------------------------------------------------------------------------------
# Demands: the facts that a formula needs to hold, computed once; their evaluation changes during the fixpoint.


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these facts are needed; an empty demand needs nothing."""

    parts: tuple[Demand, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these demands has to be met."""

    parts: tuple[Demand, ...]


Demand = Fact | AllOf | AnyOf
NOTHING = AllOf(())


class Demands:
    """The demands of cases, given the facts that the cases ``made`` can make true."""

    def __init__(self, made: Cases) -> None:
        self._made = made

    def guard_demand(self, case: Case) -> Demand:
        """Return the demand of the guards of ``case``."""
        named = (self._value_demand(term) for row in case.rows for term in row)
        guards = (self.demand_of(case, guard.formula) for guard in case.action.guards)
        return _all_of((*named, *guards))

    def demand_of(self, case: Case, term: terms.Term) -> Demand:
        """Return the demand of ``term``."""
        match term:
            case terms.And(parts):
                return _all_of(self.demand_of(case, part) for part in parts)
            case terms.Or(parts) if parts:
                return _any_of(self.demand_of(case, part) for part in parts)
            case terms.Exists(bound, body):
                return self.demand_of(case.outside(bound), body)
            case terms.Equal(left, right) if (left,) in case.rows or (right,) in case.rows:
                return _all_of((self._value_demand(left), self._value_demand(right)))
            case terms.Apply(symbol, args) if symbol.mutable and symbol.is_relation:
                starts = (start for start, row in self._made.windows(symbol, args) if row in case.rows)
                return _all_of((symbol.name, start) for start in (ANYWHERE, *starts))
            case _:
                return NOTHING

    def _value_demand(self, term: terms.Term) -> Demand:
        """Return the demand that ``term`` has the fixed argument as its value."""
        match term:
            case terms.Apply(symbol) if symbol.mutable and len(self._made.domain) == 1:
                return symbol.name, AS_VALUE
            case _:
                return NOTHING


def _all_of(parts: Iterable[Demand]) -> Demand:
    """Return the conjunction of demands, without empty ones."""
    flat: dict[Demand, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, AllOf) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else AllOf(tuple(flat))


def _any_of(parts: Iterable[Demand]) -> Demand:
    """Return the disjunction of demands; it is empty if one of them is."""
    every = tuple(dict.fromkeys(parts))
    if NOTHING in every:
        return NOTHING
    return every[0] if len(every) == 1 else AnyOf(every)
