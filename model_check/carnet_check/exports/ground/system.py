"""A protocol on an instance, written out: its places, and every step, deduction and claim without a variable.

This is what an export that knows no sorts starts from. What never changes is worked in. A caller may say which
places ever change; that is believed where a step is simplified, and everything that would contradict it is listed
among the ``strays``, so that another tool can check it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace

from carnet_check.exports.ground.conditions import (
    Condition,
    Fact,
    Known,
    Place,
    Value,
    assuming,
    conjuncts,
    denied,
    every,
    known_from,
    some,
)
from carnet_check.exports.ground.excluding import Change, Move, Pairs
from carnet_check.exports.ground.reaching import Reaching
from carnet_check.semantics import Env, Interpreter
from carnet_spec.language import Action, GuardKind, Instance, Invariant, Protocol


@dataclass(frozen=True, slots=True)
class Step:
    """An action with elements for its parameters.

    Attributes:
        guards: each condition that must hold, after the name of the guard that asks for it.
        changes: what it writes, each after the names of the updates that write it.
    """

    action: Action
    env: Env
    guards: tuple[tuple[str, Condition], ...]
    changes: tuple[tuple[tuple[str, ...], Change], ...]

    @property
    def when(self) -> Condition:
        """When it can be taken."""
        return every(condition for _, condition in self.guards)

    @property
    def title(self) -> str:
        """The name of the action, and the elements."""
        return f"{self.action.name}({', '.join(self.env.values())})"


@dataclass(frozen=True, slots=True)
class Clause:
    """A deduction with elements for its parameters: when it is taken, it inserts one fact."""

    rule: str
    when: Condition


@dataclass(frozen=True, slots=True)
class Ground:
    """An instance written out.

    Attributes:
        values: for each place that changes, the values that it may hold; the first one is that of the first state.
        clauses: for each fact that deductions insert, what it follows from.
        strays: steps and deductions that would write what was said never to change, and when they would.
        claims: when each claim holds.
    """

    values: Mapping[Place, tuple[Value, ...]]
    steps: tuple[Step, ...]
    clauses: Mapping[Place, tuple[Clause, ...]]
    strays: tuple[tuple[Step, Condition], ...]
    claims: Mapping[str, Condition]


def ground(
    protocol: Protocol, instance: Instance, claims: Iterable[Invariant], changing: Set[Place] | None = None
) -> Ground:
    """Write an instance out.

    Args:
        protocol: what is written out.
        instance: the elements, rigid facts, pools and budget.
        claims: formulas that should hold in every state.
        changing: the places that ever change in a saturated state, if somebody says so.

    Raises:
        SpecificationError: the instance does not fit the protocol.
    """
    writer = _Writer(Reaching(protocol, instance, Interpreter(protocol, instance).initial(), changing))
    return writer.written(claims)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A step before it is known which values exclude each other."""

    step: Step
    when: Condition
    stray: Condition


class _Writer:
    def __init__(self, reaching: Reaching) -> None:
        self._reaching = reaching
        self._protocol = reaching.protocol

    def written(self, claims: Iterable[Invariant]) -> Ground:
        pairs = Pairs(self._reaching.possible, [_move(taken) for taken in self._taken()])
        self._reaching.restrict(pairs.possible)
        taken = [each for each in self._taken() if pairs.may_hold(each.when)]
        steps = [each for each in taken if pairs.may_hold(every((each.when, denied(each.stray))))]
        values = {place: tuple(held) for place, held in self._reaching.possible.items() if len(held) > 1}
        strays = [(each.step, every((each.when, each.stray))) for each in taken]
        return Ground(
            values=values,
            steps=tuple(each.step for each in steps if not each.step.action.deduction),
            clauses=_clauses(each.step for each in steps if each.step.action.deduction),
            strays=tuple((step, when) for step, when in strays if pairs.may_hold(when)),
            claims={each.name: self._reaching.reading.condition(each.formula, {}) for each in claims},
        )

    def _taken(self) -> Iterator[_Taken]:
        for action in self._protocol.actions:
            for env, when in self._reaching.steps(action):
                changes, stray = self._changes(action, env, known_from(when))
                yield _Taken(Step(action, env, tuple(self._guards(action, env, when)), tuple(changes)), when, stray)

    def _guards(self, action: Action, env: Env, when: Condition) -> Iterator[tuple[str, Condition]]:
        """Yield the parts of the guards, each fact once, and simplified by all facts."""
        known = known_from(when)
        told: set[Condition] = set()
        for guard in action.guards:
            if guard.kind is not GuardKind.FRESH:
                for part in conjuncts(self._reaching.reading.condition(guard.formula, env)):
                    left = part if isinstance(part, Fact) else assuming(part, known)
                    if left is not True and left not in told and not _follows(left, known):
                        told.add(left)
                        yield guard.name, left
        fresh = [guard.name for guard in action.guards if guard.kind is GuardKind.FRESH]
        drawn = every(self._reaching.drawn(action, env))
        yield from ((", ".join(fresh), part) for part in conjuncts(drawn) if part not in told)

    def _changes(
        self, action: Action, env: Env, known: Known
    ) -> tuple[list[tuple[tuple[str, ...], Change]], Condition]:
        """Return what a step changes, and when it would write what never changes."""
        names: dict[Place, list[str]] = {}
        found: dict[Place, Change] = {}
        for update in action.updates:
            for place, value, condition in self._reaching.written(update, env):
                when = assuming(condition, known)
                if when is not False:
                    names.setdefault(place, []).append(update.name)
                    found[place] = _after(found.get(place, Change(place, (), True)), value, when)
        possible = self._reaching.possible
        strays = [when for each in found.values() for value, when in each.cases if value not in possible[each.place]]
        changes = [
            (tuple(dict.fromkeys(names[place])), replace(change, cases=kept))
            for place, change in found.items()
            if (kept := tuple(case for case in change.cases if case[0] in possible[place])) and len(possible[place]) > 1
        ]
        return [each for each in changes if not _idle(each[1], known)], some(strays)


def _follows(condition: Condition, known: Known) -> bool:
    """Whether a fact says less than what is known of its place."""
    other = known.get(condition.place) if isinstance(condition, Fact) else None
    return other is not None and other.wanted and other != condition


def _after(change: Change, value: Value, when: Condition) -> Change:
    """Return a change followed by a write."""
    kept = ((held, every((before, denied(when)))) for held, before in change.cases)
    cases = [*((held, before) for held, before in kept if before is not False), (value, when)]
    return replace(change, cases=tuple(cases), keeps=every((change.keeps, denied(when))))


def _idle(change: Change, known: Known) -> bool:
    """Whether a change leaves a place as it is known to be."""
    fact = known.get(change.place)
    if fact is None:
        return False
    held = fact.value if fact.wanted else False if fact.value is True else None
    return all(value == held for value, _ in change.cases)


def _move(taken: _Taken) -> Move:
    return Move(taken.when, tuple(change for _, change in taken.step.changes))


def _clauses(steps: Iterable[Step]) -> dict[Place, tuple[Clause, ...]]:
    """Return what each fact follows from; a deduction that needs the fact itself adds nothing."""
    found: dict[Place, list[Clause]] = {}
    for step in steps:
        for _, change in step.changes:
            for _, condition in change.cases:
                when = assuming(every((step.when, condition)), {change.place: Fact(change.place, True, wanted=False)})
                if when is not False:
                    found.setdefault(change.place, []).append(Clause(step.action.name, when))
    return {place: tuple(clauses) for place, clauses in found.items()}
