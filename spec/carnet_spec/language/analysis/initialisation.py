"""Nothing is read before it is written.

A variable or function without an initial value holds anything at first, so an action that reads it too early means
nothing. This is checked on an abstraction that keeps every behaviour of the protocol and two things about it: the
values of enumerations (phases), and, for each relation, whether anything was ever inserted into it. On that small graph
a greatest fixpoint finds what must have been written

* whenever the enumerations have given values, and
* whenever a relation holds of anything,

and an action may read what must have been written where its guards can hold. The value of a variable or function says
something only once it is known by itself to be written before it is read; otherwise two that vouch for each other would
both be believed. Functions are followed for one fixed but arbitrary argument, together with the relations that hold of
it and the variables that name it: that covers what each agent keeps, and what is recorded about each key.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from carnet_spec.language.actions import Action, Guard
from carnet_spec.language.analysis.cases import ANYWHERE, AS_VALUE, Case, Cases, Fact, Written
from carnet_spec.language.analysis.phases import Edge, Node, PhaseGraph
from carnet_spec.language.analysis.reads import Read, Row, reads
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import (
    FALSE,
    And,
    Apply,
    Equal,
    Exists,
    Or,
    Role,
    Sort,
    Symbol,
    Term,
    Var,
    conjunction,
    negation,
)


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

    A claim reads like an action that could be taken wherever the claim is false; a liveness property, like one that
    could be taken wherever it begins to wait, one wherever it is answered, and those that are to be taken fairly
    until then.
    """
    falling = [(c.name, c.checked.params, negation(c.checked.body)) for c in protocol.claims if not c.declared]
    for live in protocol.liveness:
        falling += [
            (live.name, (), conjunction((live.trigger, negation(live.response)))),
            (live.name, (), live.response),
        ]
        fair = (action for action in protocol.actions if action.name in live.fair)
        waits = negation(live.response)
        falling += [
            (live.name, each.params, conjunction((waits, live.condition(each.name, each.params)))) for each in fair
        ]
    judges = {f"judge {number}": each for number, each in enumerate(falling)}
    actions = (_judge(name, params, falls) for name, (_, params, falls) in judges.items())
    found = early_reads(replace(protocol, actions=(*protocol.actions, *actions)))
    return tuple(replace(read, action=judges[read.action][0]) for read in found if read.action in judges)


def _judge(name: str, params: tuple[Var, ...], falls: Term) -> Action:
    """Return an action that reads like something that is judged, and changes nothing."""
    return Action(name, Role("judge"), params, (Guard("falls", falls),), (), "", "")


class _Analysis:
    """Follows the functions of one domain (the empty one: variables) for one fixed argument."""

    def __init__(self, protocol: Protocol, domain: tuple[Sort, ...], unset: list[Symbol]) -> None:
        self.protocol = protocol
        self.unset = frozenset(unset)
        self.arbitrary = self.unset
        self.writers = {symbol: _writers(protocol, symbol) for symbol in unset}
        self.tracked: Written = frozenset(symbol.name for symbol in unset if symbol.domain == domain)
        self.made = Cases(domain, self.tracked)
        self.cases = [case for action in protocol.actions for case in self.made.of(action)]
        self.graph = PhaseGraph(protocol, domain, self.cases)
        self._nodes: dict[Case, list[Node]] = {case: [] for case in self.cases}
        self._leaving: dict[Node, list[Edge]] = {}
        for edge in self.graph.edges:
            self._nodes[edge.case].append(edge.source)
            if edge.targets != (edge.source,):  # where a case stays, no less is written than before
                self._leaving.setdefault(edge.source, []).append(edge)
        self._known_facts: dict[tuple[frozenset[Row], int], tuple[Apply, list[Fact]]] = {}

    def early(self, trusted: frozenset[Symbol]) -> Iterator[EarlyRead]:
        """Yield each read that some reachable node does not guarantee.

        The values of those ``trusted`` were written, wherever they are read.
        """
        self.arbitrary = self.unset - trusted
        self._solve()
        relevant = {case: self._relevant(case) for case in self.cases}
        for edge in self.graph.edges:
            for read, written in relevant[edge.case]:
                if read.symbol.name not in self.at[edge.source] | written and all(
                    self.graph.holds(edge, term) is not False for term in read.assuming
                ):
                    yield EarlyRead(read.symbol, edge.case.action.name, read.where, self.writers[read.symbol])

    def _relevant(self, case: Case) -> list[tuple[Read, Written]]:
        """Return what ``case`` reads at the fixed argument, with what must have been written for it to matter."""
        required = self._required(case)
        return [
            (read, required.union(*(self._implied(case, term) for term in read.assuming)))
            for read in reads(case.action)
            if read.symbol.name in self.tracked and read.row in case.rows
        ]

    # -- what must have been written ----------------------------------------------------------

    def _solve(self) -> None:
        """Start from "everything was written" and take away until nothing changes any more."""
        self.at: dict[Node, Written] = {edge.source: self.tracked for edge in self.graph.edges}
        self.facts: dict[Fact, Written] = {}
        for node in self.graph.first:
            self.at[node] = frozenset()
        for initial in self.protocol.initial:
            if initial.value != FALSE:
                for start in range(AS_VALUE, len(initial.params) + 1):
                    self.facts[initial.symbol.name, start] = frozenset()
        required: dict[Case, Written] = {}
        while True:
            known, required = required, {case: self._required(case) for case in self.cases}
            if required == known:
                return
            waiting = list(self._leaving)
            while waiting:
                for edge in self._leaving.get(waiting.pop(), ()):
                    waiting += self._weaken(edge, required[edge.case])
            for case in self.cases:
                self._make(case, required[case])

    def _weaken(self, edge: Edge, required: Written) -> Iterator[Node]:
        """Follow an edge, and yield where less is known to be written than before."""
        after = self.at[edge.source] | required | edge.case.writes
        for target in edge.targets:
            known = self.at.get(target)
            if known is None or not known <= after:
                self.at[target] = after if known is None else known & after
                yield target

    def _make(self, case: Case, required: Written) -> None:
        """Note what must have been written wherever ``case`` makes something true."""
        if case.makes and self._nodes[case]:
            after = self.tracked.intersection(*(self.at[node] for node in self._nodes[case])) | required | case.writes
            for fact in case.makes:
                self.facts[fact] = self.facts.get(fact, self.tracked) & after

    def _required(self, case: Case) -> Written:
        """Return what must have been written for the guards of ``case`` to hold."""
        named = (self._named(term) for row in case.rows for term in row)
        guards = (self._implied(case, guard.formula) for guard in case.action.guards)
        return frozenset().union(*named, *guards)

    def _named(self, term: Term) -> Written:
        """Return what must have been written for ``term`` to have the fixed argument as its value."""
        match term:
            case Apply(symbol) if symbol.mutable and len(self.made.domain) == 1 and symbol not in self.arbitrary:
                return self.facts.get((symbol.name, AS_VALUE), self.tracked)
            case _:
                return frozenset()

    def _implied(self, case: Case, term: Term) -> Written:
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

    def _facts_of(self, case: Case, term: Apply) -> list[Fact]:
        """Return what a relation's holding says, at the fixed argument and anywhere.

        Terms are slow to compare, so an answer is kept by the term itself, which is kept beside it.
        """
        key = (case.rows, id(term))
        if key not in self._known_facts:
            starts = [start for start, row in self.made.windows(term.symbol, term.args) if row in case.rows]
            self._known_facts[key] = (term, [(term.symbol.name, start) for start in (ANYWHERE, *starts)])
        return self._known_facts[key][1]


def _writers(protocol: Protocol, symbol: Symbol) -> tuple[str, ...]:
    return tuple(a.name for a in protocol.actions if any(update.symbol == symbol for update in a.updates))
