"""Choices: every assignment of variables under which some conditions hold, the most constrained variable first."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from carnet_check.conformance.formulas import Compiler, Evaluate, Frame, Restriction, Scope
from carnet_check.conformance.tables import CANDIDATE, CHOICE
from carnet_spec.language import Sort, Term
from carnet_spec.language.terms import And, Var, free_variables


@dataclass(frozen=True, slots=True)
class _OpenVariable:
    """A variable without a value: its bit, its place in the frame, and the sources of its candidates."""

    bit: int
    at: int
    domain: Collection[str]
    choosable: Choosable | None
    sources: tuple[Restriction, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to do once a set of variables is chosen: the conditions to check now, and the variables still open."""

    checks: tuple[Evaluate, ...]
    open: tuple[_OpenVariable, ...]


NOTHING_ALIKE: Final[Mapping[Sort, Candidates]] = MappingProxyType({})


class Choices:
    """The choices of ``variables`` for which all ``conditions`` hold.

    For a sort in ``candidates``, only as many interchangeable elements are tried as can make a difference; for another
    sort, all elements are.

    The variable with the fewest rows left is chosen next, and this is decided as late as possible. Plans are compiled
    when they are first needed, one for each set of chosen variables; such a set is a number with a bit for each.
    """

    def __init__(
        self,
        compiler: Compiler,
        variables: Sequence[Var],
        conditions: Sequence[Term],
        scope: Scope,
        candidates: Mapping[Sort, Candidates] = NOTHING_ALIKE,
    ) -> None:
        self._compiler = compiler
        sorts = Counter(var.sort for var in variables)
        self._choosable = {sort: candidates[sort].choosable(sorts[sort]) for sort in sorts if sort in candidates}
        self._variables = tuple(variables)
        self._conditions = [part for condition in conditions for part in conjuncts(condition)]
        self._scope = scope
        self._places = [scope[var] for var in variables]
        self._plans: dict[tuple[int, int], _Plan] = {}

    def mask_of(self, variables: Iterable[Var]) -> int:
        """Return the set of these variables as a number."""
        return sum(1 << self._variables.index(var) for var in set(variables))

    def each(self, frame: Frame, known: int) -> Iterator[tuple[str, ...]]:
        """Yield every choice; the variables in the set ``known`` are in the frame already and keep their values."""
        return (tuple([frame[at] for at in self._places]) for _ in self._choose(frame, known, 0))

    def _choose(self, frame: Frame, known: int, last: int) -> Iterator[None]:
        plan = self._plans.get((known, last)) or self._planned(known, last, frame)
        for check in plan.checks:
            if not check(frame):
                return
        if not plan.open:
            yield None
            return
        chosen, found = _most_constrained(plan.open, frame)
        work, tried = self._compiler.work, set()
        for element in found:
            work.spend(CANDIDATE)
            if element in tried or (chosen.choosable is not None and chosen.choosable.skips(element)):
                continue
            tried.add(element)
            work.spend(CHOICE)
            frame[chosen.at] = element
            after = self._plans.get((known | chosen.bit, chosen.bit))
            if after is None or after.open:
                yield from self._choose(frame, known | chosen.bit, chosen.bit)
            elif all(check(frame) for check in after.checks):
                yield None  # the last variable: most choices end here, without a recursive call

    def _planned(self, known: int, last: int, frame: Frame) -> _Plan:
        """Compile the plan for a set of chosen variables; ``last`` is the one chosen most recently, if any."""
        chosen = frozenset(var for number, var in enumerate(self._variables) if known >> number & 1)
        latest = frozenset(var for number, var in enumerate(self._variables) if last >> number & 1)
        ready = [part for part in self._conditions if free_variables(part) <= chosen]
        now = [part for part in ready if not last or latest & free_variables(part)]
        later = [part for part in self._conditions if part not in ready]
        plan = _Plan(
            tuple(self._compiler.term(part, self._scope) for part in now),
            tuple(
                self._open(number, var, self._sources(later, var, chosen))
                for number, var in enumerate(self._variables)
                if var not in chosen
            ),
        )
        self._plans[known, last] = plan
        frame.extend([""] * (self._compiler.room - len(frame)))
        return plan

    def _open(self, number: int, var: Var, sources: tuple[Restriction, ...]) -> _OpenVariable:
        choosable = self._choosable.get(var.sort)
        domain = self._compiler.elements(var.sort) if choosable is None else choosable
        return _OpenVariable(1 << number, self._scope[var], domain, choosable, sources)

    def _sources(self, parts: Sequence[Term], var: Var, known: frozenset[Var]) -> tuple[Restriction, ...]:
        places = frozenset(self._scope[var] for var in known)
        compiled = (self._compiler.candidates(part, var, self._scope, places) for part in parts)
        return tuple(source for source in compiled if source is not None)


def _most_constrained(left: Sequence[_OpenVariable], frame: Frame) -> tuple[_OpenVariable, Collection[str]]:
    best: tuple[_OpenVariable, Collection[str]] | None = None
    for entry in left:
        for source in entry.sources:
            found = source(frame)
            if found is not None and (best is None or len(found) < len(best[1])):
                best = (entry, found)
    if best is not None:
        return best
    smallest = min(left, key=lambda entry: len(entry.domain))
    return smallest, smallest.domain


def conjuncts(term: Term) -> Iterator[Term]:
    """Yield the parts of a conjunction, nested ones included."""
    if isinstance(term, And):
        for part in term.parts:
            yield from conjuncts(part)
    else:
        yield term


# --------------------------------------------------------------------------------------------------
# Candidates for an argument that a trace leaves out: of interchangeable values, as many as can make a difference.
#
# A value of a sort that is drawn fresh is *spare* as long as the trace does not name it and it was not chosen for an
# argument. All spare values of a sort are alike: any renaming of them leaves the state and the rest of the trace as
# they are. So a choice of one argument has to try one of them, and a choice of n arguments n of them.

Undo = Callable[[], None]


class Candidates:
    """The elements of one sort: those that the trace or an earlier choice names, and the spare ones."""

    def __init__(self, known: Iterable[str], spare: Iterable[str] = ()) -> None:
        self.known = dict.fromkeys(known)
        self._spare = [element for element in dict.fromkeys(spare) if element not in self.known]
        self._spare.reverse()
        self._is_spare = set(self._spare)

    def front(self, count: int) -> Sequence[str]:
        """Return the first ``count`` spare elements."""
        return self._spare[: -count - 1 : -1]

    def choosable(self, count: int) -> Choosable:
        """Return the elements that a choice of ``count`` arguments has to try."""
        return Choosable(self, count)

    def skips(self, element: str, count: int) -> bool:
        """Whether a choice of ``count`` arguments need not try an element, as it tries interchangeable ones."""
        return element in self._is_spare and element not in self.front(count)

    def draw(self, element: str) -> Undo | None:
        """Mark an element as named from now on; return how to undo that, or None if it was named before."""
        if element not in self._is_spare:
            return None
        self._is_spare.remove(element)
        at = len(self._spare) - 1
        while self._spare[at] != element:
            at -= 1
        del self._spare[at]
        self.known[element] = None
        return lambda: self._return(element)

    def _return(self, element: str) -> None:
        del self.known[element]
        self._spare.append(element)
        self._is_spare.add(element)


class Choosable(Collection[str]):
    """The elements of a sort that a choice of ``count`` arguments has to try."""

    __slots__ = ("_candidates", "_count")

    def __init__(self, candidates: Candidates, count: int) -> None:
        self._candidates = candidates
        self._count = count

    def __len__(self) -> int:
        return len(self._candidates.known) + len(self._candidates.front(self._count))

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self._candidates.known, self._candidates.front(self._count))

    def __contains__(self, element: object) -> bool:
        return element in self._candidates.known or element in self._candidates.front(self._count)

    def skips(self, element: str) -> bool:
        """Whether an element need not be tried, as interchangeable ones are."""
        return self._candidates.skips(element, self._count)
