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
from carnet_spec.language.analysis.cases import AS_VALUE, Case, Cases, Fact, Written
from carnet_spec.language.analysis.demands import Demand, Demands, Every, Some
from carnet_spec.language.analysis.phases import Edge, Node, PhaseGraph
from carnet_spec.language.analysis.reads import Read, reads
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import (
    FALSE,
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


def early_reads(protocol: Protocol) -> tuple[EarlyRead, ...]:
    """Return what ``protocol`` may read before it is written, in the order of its actions."""
    return _judged(protocol).early(frozenset(action.name for action in protocol.actions))


def claims_that_read_early(protocol: Protocol) -> tuple[EarlyRead, ...]:
    """Return what claims may read before it is written: an exploration judges them by one first value only.

    A claim reads like an action that could be taken wherever the claim is false; a liveness property, like one that
    could be taken wherever it begins to wait, one wherever it is answered, and those that are to be taken fairly
    until then.
    """
    judged = _judged(protocol)
    found = judged.early(frozenset(judged.order))
    return tuple(replace(read, action=judged.judges[read.action]) for read in found if read.action in judged.judges)


@functools.lru_cache(maxsize=4)
def _judged(protocol: Protocol) -> _Judged:
    return _Judged(protocol)


def _judge(name: str, params: tuple[Var, ...], falls: Term) -> Action:
    """Return an action that reads like something that is judged, and changes nothing."""
    return Action(name, Role("judge"), params, (Guard("falls", falls),), (), "", "")


def _falling(protocol: Protocol) -> list[tuple[str, tuple[Var, ...], Term]]:
    """Return what is judged: a name, and for which parameters which formula is read."""
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
    return falling


class _Judged:
    """A protocol with the claims that judge it, followed once for both of the questions above.

    Attributes:
        judges: the claim behind each action that only judges.
        order: the names of all actions, in order.
    """

    def __init__(self, protocol: Protocol) -> None:
        longest = max((len(action.name) for action in protocol.actions), default=0)
        judge = "judge".ljust(longest) + " {}"  # longer than any action's name, so none is taken for it
        falling = {judge.format(number): each for number, each in enumerate(_falling(protocol))}
        judges = (_judge(name, params, falls) for name, (_, params, falls) in falling.items())
        whole = replace(protocol, actions=(*protocol.actions, *judges))
        given = {initial.symbol for initial in protocol.initial}
        unset = [each for each in protocol.symbols if each.mutable and not each.is_relation and each not in given]
        self.judges = {name: claim for name, (claim, _, _) in falling.items()}
        self.order = [action.name for action in whole.actions]
        self._unset = frozenset(unset)
        self._early: dict[frozenset[Symbol], list[EarlyRead]] = {}
        self._found: dict[frozenset[str], tuple[EarlyRead, ...]] = {}
        self._analyses = [_Analysis(whole, domain, unset) for domain in dict.fromkeys(each.domain for each in unset)]

    def early(self, readers: frozenset[str]) -> tuple[EarlyRead, ...]:
        """Return what some actions may read before it is written, in their order."""
        if readers not in self._found:
            self._found[readers] = self._early_in(readers)
        return self._found[readers]

    def _early_in(self, readers: frozenset[str]) -> tuple[EarlyRead, ...]:
        trusted: frozenset[Symbol] = frozenset()
        while True:
            found = [read for read in self._reads_trusting(trusted) if read.action in readers]
            written = self._unset.difference(read.symbol for read in found)
            if not found or written == trusted:
                return tuple(sorted(dict.fromkeys(found), key=lambda read: self.order.index(read.action)))
            trusted = written

    def _reads_trusting(self, trusted: frozenset[Symbol]) -> list[EarlyRead]:
        """Return what anything may read early if the values of some symbols were written wherever they are read."""
        if trusted not in self._early:
            self._early[trusted] = [read for analysis in self._analyses for read in analysis.early(trusted)]
        return self._early[trusted]


class _Analysis:
    """Follows the functions of one domain (the empty one: variables) for one fixed argument."""

    def __init__(self, protocol: Protocol, domain: tuple[Sort, ...], unset: list[Symbol]) -> None:
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
            if edge.targets != (edge.source,):  # where a case stays, no less is written than before
                self._leaving.setdefault(edge.source, []).append(edge)
        self._demands = Demands(self.made)
        self._demanded = {case: self._demands.of(case) for case in self.cases}
        self._reads: dict[Case, list[tuple[Read, list[Demand]]]] = {}

    def early(self, trusted: frozenset[Symbol]) -> Iterator[EarlyRead]:
        """Yield each read that some reachable node does not guarantee.

        The values of those ``trusted`` were written, wherever they are read.
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
        """Return what ``case`` reads at the fixed argument, with what must have been written for it to matter."""
        required = self._written(self._demanded[case])
        return [(read, required.union(*map(self._written, assumed))) for read, assumed in self._read_in(case)]

    def _read_in(self, case: Case) -> list[tuple[Read, list[Demand]]]:
        """Return what ``case`` reads at the fixed argument, with what is needed for that to matter."""
        if case not in self._reads:
            self._reads[case] = [
                (read, [self._demands.implied(case, term) for term in read.assuming])
                for read in reads(case.action)
                if read.symbol.name in self.tracked and read.row in case.rows
            ]
        return self._reads[case]

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
            known, required = required, {case: self._written(demand) for case, demand in self._demanded.items()}
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

    def _written(self, demand: Demand) -> Written:
        """Return what must have been written for a demand to be met."""
        match demand:
            case Every(parts):
                return frozenset[str]().union(*map(self._written, parts))
            case Some(parts):
                return self.tracked.intersection(*map(self._written, parts))
            case name, where if where == AS_VALUE and name in self.arbitrary:
                return frozenset()
            case fact:
                return self.facts.get(fact, self.tracked)


def _writers(protocol: Protocol, symbol: Symbol) -> tuple[str, ...]:
    return tuple(a.name for a in protocol.actions if any(update.symbol == symbol for update in a.updates))
