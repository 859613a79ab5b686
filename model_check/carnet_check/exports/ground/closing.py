"""Closing: the deductions that one step may make possible, in an order in which most are looked at once.

States are kept saturated. So after a step only those deductions matter that read what it wrote, or whose conclusion it
took away, and then those that read what these conclude. What the step leaves certain is worked in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import networkx

from carnet_check.exports.ground.conditions import Fact, Place, Value, assuming, facts_in, known_from
from carnet_check.exports.ground.excluding import Change
from carnet_check.exports.ground.system import Clause, Ground, Step


@dataclass(frozen=True, slots=True)
class Group:
    """Facts that are concluded together: several, or from each other, only where they have to be taken repeatedly."""

    facts: Mapping[Place, tuple[Clause, ...]]
    repeated: bool


class Closing:
    """Finds what follows a step."""

    def __init__(self, ground: Ground) -> None:
        self._clauses = ground.clauses
        self._readers: dict[Place, dict[Place, None]] = {}
        for fact, clauses in ground.clauses.items():
            for clause in clauses:
                for read in facts_in(clause.when):
                    self._readers.setdefault(read.place, {})[fact] = None

    def after(self, step: Step) -> list[Group]:
        """Return the facts to conclude after a step, those first that others follow from."""
        changes = [change for _, change in step.changes]
        known = self._known(step, changes)
        written = {change.place: frozenset(value for value, _ in change.cases) for change in changes}
        lost = {place for place, values in written.items() if False in values and known.get(place) != Fact(place, True)}
        woken: dict[Place, dict[Clause, None]] = {}
        for fact in lost & self._clauses.keys():
            self._wake(fact, self._clauses[fact], known, woken)
        waiting = {**written, **{fact: written.get(fact, frozenset()) | {True} for fact in woken}}
        while waiting:
            place, values = waiting.popitem()
            for fact in self._readers.get(place, ()):
                if known.get(fact) != Fact(fact, True):
                    clauses = (each for each in self._clauses[fact] if _woken_by(each, place, values))
                    if self._wake(fact, clauses, known, woken):
                        waiting[fact] = waiting.get(fact, frozenset()) | {True}
        return list(_in_order({fact: tuple(clauses) for fact, clauses in woken.items()}))

    def _known(self, step: Step, changes: Iterable[Change]) -> dict[Place, Fact]:
        """Return what is known once a step was taken, whatever is deduced then."""
        known = known_from(step.when)
        for change in changes:
            known.pop(change.place, None)
            if change.keeps is False and len(change.cases) == 1:
                value = change.cases[0][0]
                known[change.place] = (
                    Fact(change.place, value) if value is not False else Fact(change.place, True, wanted=False)
                )
        return {place: fact for place, fact in known.items() if fact.wanted or place not in self._clauses}

    def _wake(
        self,
        fact: Place,
        clauses: Iterable[Clause],
        known: Mapping[Place, Fact],
        woken: dict[Place, dict[Clause, None]],
    ) -> bool:
        """Note clauses that may hold now; return whether the fact had none before."""
        before = fact in woken
        for clause in clauses:
            when = assuming(clause.when, known)
            if when is not False:
                woken.setdefault(fact, {})[Clause(clause.rule, when)] = None
        return fact in woken and not before


def _woken_by(clause: Clause, place: Place, values: Iterable[Value]) -> bool:
    return any(
        (value == read.value) == read.wanted
        for read in facts_in(clause.when)
        if read.place == place
        for value in values
    )


def _in_order(woken: Mapping[Place, tuple[Clause, ...]]) -> Iterator[Group]:
    graph = networkx.DiGraph()
    graph.add_nodes_from(woken)
    for fact, clauses in woken.items():
        read = dict.fromkeys(each.place for clause in clauses for each in facts_in(clause.when))
        graph.add_edges_from((fact, place) for place in read if place in woken)
    for together in networkx.strongly_connected_components(graph):
        facts = {fact: woken[fact] for fact in woken if fact in together}
        yield Group(facts, repeated=len(facts) > 1)
