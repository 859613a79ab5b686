"""Places: small instances in which mutants are explored, and the exploration of one.

What a mutant reads before it is written may be anything at first, so it is explored from each first value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from types import MappingProxyType

from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.searches import falls, reaches
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.errors import EngineError
from carnet_check.loading.families import Source, threat_of, violated_axioms
from carnet_check.semantics import Interpreter, Replays
from carnet_spec.language import Claim, Goal, Instance, Profile, Protocol
from carnet_spec.language.analysis.initialisation import early_reads

MOST_FIRST_VALUES = 36
"""How many first values are tried in one place."""
Values = Mapping[str, Mapping[tuple[str, ...], str]]
"""What variables and functions hold at first, as an instance says it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look: a variant in a size, under a threat model, with all parties or the honest ones alone."""

    variant: str
    profile: Profile
    threat: str
    honest: bool = False

    @property
    def words(self) -> str:
        """The place in words."""
        return f"{self.profile.name} under {self.threat}" + (", honest parties alone" if self.honest else "")

    def instance(self, source: Source, protocol: Protocol) -> Instance:
        """Return the instance."""
        instance = source.instance(protocol, self.threat, self.profile)
        return replace(instance, budget=0) if self.honest else instance

    def seen(self, protocol: Protocol) -> Protocol:
        """Return the protocol as far as it is looked at."""
        if not self.honest:
            return protocol
        return replace(protocol, actions=tuple(action for action in protocol.actions if action.by.honest))


def explored(
    source: Source,
    protocol: Protocol,
    place: Place,
    claims: Collection[Claim],
    goals: Collection[Goal],
    states: int,
    *,
    stop_at_first: bool = False,
    until_fallen: bool = False,
    first: Values = MappingProxyType({}),
) -> Exploration:
    """Visit the states of a place, from the first values that are given.

    With ``until_fallen`` the search is reduced, and ends when every claim fell.

    Raises:
        EngineError: the interpreter does not reproduce what is found, or the instance is none.
    """
    seen = place.seen(protocol)
    instance = place.instance(source, seen)
    instance = replace(instance, first={**instance.first, **first})
    if wrong := violated_axioms(Interpreter(seen, instance), threat_of(seen, place.threat)):
        raise EngineError("; ".join(wrong))
    invariants = [claim.checked for claim in claims]
    found = able(Explores).explore(
        seen,
        instance,
        invariants=invariants,
        goals=tuple(goals),
        caps=Caps(states=states),
        stop_at_first=stop_at_first,
        stop_when_fallen=until_fallen,
        reduction=until_fallen,
        threat=place.threat,
    )
    _require_reproduced(Replays(Interpreter(seen, instance)), found, claims, goals)
    return found


def _require_reproduced(
    replays: Replays, found: Exploration, claims: Collection[Claim], goals: Collection[Goal]
) -> None:
    problems = list(found.problems)
    invariants = {claim.checked.name: claim.checked for claim in claims}
    problems += [n for n, trace in found.violations.items() if not falls(replays, invariants[n], trace)]
    known = {goal.name: goal for goal in goals}
    problems += [name for name, trace in found.goals.items() if not reaches(replays, known[name], trace)]
    if problems:
        raise EngineError(f"the interpreter does not confirm an exploration: {'; '.join(problems)}")


def from_every_first_value(
    source: Source,
    protocol: Protocol,
    place: Place,
    claims: Collection[Claim],
    goals: Collection[Goal],
    states: int,
    *,
    until_fallen: bool = False,
) -> tuple[list[Exploration], bool]:
    """Explore a place from each first value that may be read; return too whether these are all.

    Raises:
        EngineError: as ``explored``.
    """
    values = first_values(protocol, place.instance(source, place.seen(protocol)))
    found = [
        explored(source, protocol, place, claims, goals, states, until_fallen=until_fallen, first=first)
        for first in values or [{}]
    ]
    return found, bool(values)


def first_values(protocol: Protocol, instance: Instance) -> list[Values]:
    """Return all that may be held at first by what is read before it is written; nothing if that is too much."""
    early = dict.fromkeys(read.symbol for read in early_reads(protocol))
    held = [(symbol.name, row) for symbol in early for row in product(*map(instance.of, symbol.domain))]
    domains = [instance.of(symbol.result) for symbol in early for _ in product(*map(instance.of, symbol.domain))]
    if prod(map(len, domains)) > MOST_FIRST_VALUES:
        return []
    return [_said(dict(zip(held, values, strict=True))) for values in product(*domains)]


def _said(values: Mapping[tuple[str, tuple[str, ...]], str]) -> Values:
    return {name: {row: value for (other, row), value in values.items() if other == name} for name, _ in values}
