"""Demands: which facts a formula needs to hold, worked out once; what that says changes while a fixpoint is sought."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from carnet_spec.language.analysis.cases import ANYWHERE, AS_VALUE, Case, Cases, Fact
from carnet_spec.language.terms import And, Apply, Equal, Exists, Or, Term


@dataclass(frozen=True, slots=True)
class Every:
    """All of these are needed; if there are none, nothing is."""

    parts: tuple[Demand, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of these is needed."""

    parts: tuple[Demand, ...]


Demand = Fact | Every | Some
NOTHING = Every(())


class Demands:
    """What the cases ``made`` need."""

    def __init__(self, made: Cases) -> None:
        self._made = made

    def of(self, case: Case) -> Demand:
        """Return what is needed for the guards of ``case`` to hold."""
        named = (self._named(term) for row in case.rows for term in row)
        guards = (self.implied(case, guard.formula) for guard in case.action.guards)
        return _every((*named, *guards))

    def implied(self, case: Case, term: Term) -> Demand:
        """Return what is needed for ``term`` to hold."""
        match term:
            case And(parts):
                return _every(self.implied(case, part) for part in parts)
            case Or(parts) if parts:
                return _some(self.implied(case, part) for part in parts)
            case Exists(bound, body):
                return self.implied(case.outside(bound), body)
            case Equal(left, right) if (left,) in case.rows or (right,) in case.rows:
                return _every((self._named(left), self._named(right)))
            case Apply(symbol, args) if symbol.mutable and symbol.is_relation:
                starts = (start for start, row in self._made.windows(symbol, args) if row in case.rows)
                return _every((symbol.name, start) for start in (ANYWHERE, *starts))
            case _:
                return NOTHING

    def _named(self, term: Term) -> Demand:
        """Return what is needed for ``term`` to have the fixed argument as its value."""
        match term:
            case Apply(symbol) if symbol.mutable and len(self._made.domain) == 1:
                return symbol.name, AS_VALUE
            case _:
                return NOTHING


def _every(parts: Iterable[Demand]) -> Demand:
    """Join demands that are all made, without those that say nothing."""
    flat: dict[Demand, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, Every) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else Every(tuple(flat))


def _some(parts: Iterable[Demand]) -> Demand:
    """Join demands of which one is made: nothing is needed if one of them says nothing."""
    every = tuple(dict.fromkeys(parts))
    if NOTHING in every:
        return NOTHING
    return every[0] if len(every) == 1 else Some(every)
