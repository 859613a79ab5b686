"""Choices: every way to choose what is open so that some conditions hold, the most constrained variable first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from carnet_check.conformance.formulas import Candidates, Compiler, Evaluate, Frame, Scope
from carnet_spec.language import Term
from carnet_spec.language.terms import And, Var, free_variables


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to do once some variables are chosen: conditions to check now, and where to look the others up."""

    checks: tuple[Evaluate, ...]
    open: tuple[tuple[Var, int, tuple[Candidates, ...]], ...]


class Choices:
    """The choices of ``variables`` for which all ``conditions`` hold.

    Which variable is chosen next is decided as late as can be, by how few rows are left for it. Plans are compiled
    when they are first needed.
    """

    def __init__(self, compiler: Compiler, variables: Sequence[Var], conditions: Sequence[Term], scope: Scope) -> None:
        self._compiler = compiler
        self._variables = tuple(variables)
        self._conditions = [part for condition in conditions for part in conjuncts(condition)]
        self._scope = scope
        self._plans: dict[tuple[frozenset[Var], Var | None], _Plan] = {}

    def all(self, frame: Frame, known: frozenset[Var]) -> list[tuple[str, ...]]:
        """Return every choice that agrees with what is ``known``; those variables are in the frame already."""
        places = [self._scope[var] for var in self._variables]
        return [tuple([frame[at] for at in places]) for _ in self._choose(frame, known, None)]

    def _choose(self, frame: Frame, known: frozenset[Var], last: Var | None) -> Iterator[None]:
        plan = self._plans.get((known, last)) or self._planned(known, last)
        frame.extend([""] * (self._compiler.room - len(frame)))
        for check in plan.checks:
            if not check(frame):
                return
        if not plan.open:
            yield None
            return
        var, at, found = self._most_constrained(plan, frame)
        for element in dict.fromkeys(found):
            frame[at] = element
            yield from self._choose(frame, known | {var}, var)

    def _most_constrained(self, plan: _Plan, frame: Frame) -> tuple[Var, int, Collection[str]]:
        best: tuple[Var, int, Collection[str]] | None = None
        for var, at, sources in plan.open:
            for source in sources:
                found = source(frame)
                if found is not None and (best is None or len(found) < len(best[2])):
                    best = (var, at, found)
        if best is not None:
            return best
        var, at, _ = min(plan.open, key=lambda entry: len(self._compiler.elements(entry[0].sort)))
        return var, at, self._compiler.elements(var.sort)

    def _planned(self, known: frozenset[Var], last: Var | None) -> _Plan:
        """Compile the plan for a set of chosen variables, of which ``last`` was chosen just now."""
        ready = [part for part in self._conditions if free_variables(part) <= known]
        now = [part for part in ready if last is None or last in free_variables(part)]
        later = [part for part in self._conditions if part not in ready]
        left = [var for var in self._variables if var not in known]
        plan = _Plan(
            tuple(self._compiler.term(part, self._scope) for part in now),
            tuple((var, self._scope[var], self._sources(later, var, known)) for var in left),
        )
        self._plans[known, last] = plan
        return plan

    def _sources(self, parts: Sequence[Term], var: Var, known: frozenset[Var]) -> tuple[Candidates, ...]:
        compiled = (self._compiler.candidates(part, var, self._scope, known) for part in parts)
        return tuple(source for source in compiled if source is not None)


def conjuncts(term: Term) -> Iterator[Term]:
    """Yield the parts of a conjunction, however it is nested."""
    if isinstance(term, And):
        for part in term.parts:
            yield from conjuncts(part)
    else:
        yield term
