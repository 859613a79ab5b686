"""Scenarios: small instances of the original, explored once, against which mutants are explored.

A scenario is kept if every state was visited, and if it shows what no smaller one does: a goal that is reached, or a
step that is taken. What it shows is lost in a mutant if a complete exploration of the same instance does not show it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.searches import falls, reaches
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.errors import EngineError, UsageError
from carnet_check.loading.families import Source
from carnet_check.loading.threats import NO_THREAT
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_spec.language import Claim, Goal, Instance, Profile, Protocol
from carnet_spec.trace import Trace

MOST_STATES = 100_000
"""A scenario with more states is none."""
ROOM = 10
"""How many times as many states a mutant may have."""
LEAST_ROOM = 20_000
GIBIBYTE = 1 << 30


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


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the original shows in one place, explored completely."""

    place: Place
    states: int
    goals: tuple[tuple[str, Trace], ...]
    taken: frozenset[str]

    @property
    def shows(self) -> frozenset[str]:
        """The names of goals and actions, told apart."""
        return frozenset(f"goal {name}" for name, _ in self.goals) | {f"step {name}" for name in self.taken}


def places(source: Source, variant: str, threats: Collection[str] = ()) -> tuple[Place, ...]:
    """Return where scenarios of a variant are looked for: small sizes first."""
    protocol = source.protocol(variant)
    known = [threat.id for threat in protocol.threats if not threats or threat.id in threats] or [NO_THREAT.id]
    default = source.family.default_threat if source.family.default_threat in known else known[-1]
    sizes = source.family.sizes_to_hunt(variant)
    found = [Place(variant, size, default, honest) for size in sizes for honest in (False, True)]
    return (*found, *(Place(variant, sizes[0], threat) for threat in known if threat != default))


def scenario(source: Source, place: Place) -> Scenario | None:
    """Explore a place; nothing if it has too many states, or is none."""
    protocol = source.protocol(place.variant)
    try:
        found = explored(source, protocol, place, (), protocol.goals, MOST_STATES)
    except UsageError:
        return None
    if not found.complete:
        return None
    taken = frozenset(name for name, count in found.fired.items() if count)
    return Scenario(place, found.states, tuple(sorted(found.goals.items())), taken)


def telling(found: Iterable[Scenario]) -> tuple[Scenario, ...]:
    """Return the scenarios that show something that no smaller one does, smallest first."""
    shown: set[str] = set()
    kept = []
    for each in sorted(found, key=lambda each: each.states):
        if not each.shows <= shown:
            kept.append(each)
            shown |= each.shows
    return tuple(kept)


def explored(
    source: Source, protocol: Protocol, place: Place, claims: Collection[Claim], goals: Collection[Goal], states: int
) -> Exploration:
    """Visit the states of a place; the first violation of a claim ends it.

    Raises:
        EngineError: the interpreter does not reproduce what is found, or the instance is none.
    """
    seen = place.seen(protocol)
    instance = place.instance(source, seen)
    invariants = [claim.checked for claim in claims]
    found = able(Explores).explore(
        seen,
        instance,
        invariants=invariants,
        goals=tuple(goals),
        caps=Caps(states=states, memory=GIBIBYTE),
        stop_at_first=True,
        reduction=False,
        threat=place.threat,
    )
    _require_reproduced(Interpreter(seen, instance), found, claims, goals)
    return found


def _require_reproduced(
    judge: Interpreter, found: Exploration, claims: Collection[Claim], goals: Collection[Goal]
) -> None:
    problems = list(found.problems)
    invariants = {claim.checked.name: claim.checked for claim in claims}
    problems += [n for n, trace in found.violations.items() if not falls(judge, invariants[n], trace)]
    known = {goal.name: goal for goal in goals}
    problems += [name for name, trace in found.goals.items() if not reaches(judge, known[name], trace)]
    if problems:
        raise EngineError(f"the interpreter does not confirm an exploration: {'; '.join(problems)}")


# -- what a mutant loses --------------------------------------------------------------------------


def lost(source: Source, mutated: Protocol, known: Collection[Scenario], action: str) -> Iterator[tuple[str, bool]]:
    """Yield what is lost, scenario by scenario, and whether that is established; nothing where nothing is lost.

    Only scenarios in which ``action`` is taken can lose anything by a change of it.
    """
    seen: set[str] = set()
    for each in known:
        new = each.shows - seen
        if action not in each.taken or not new:
            continue
        seen |= each.shows
        if all(name.startswith("goal ") for name in new) and _still_there(source, mutated, each, new):
            continue
        found = explored(source, mutated, each.place, (), mutated.goals, max(LEAST_ROOM, ROOM * each.states))
        taken = {f"step {name}" for name, count in found.fired.items() if count}
        missing = sorted(each.shows - taken - {f"goal {name}" for name in found.goals})
        if missing:
            yield f"{', '.join(missing)} in {each.place.words}, {found.states:,} states", found.complete


def _still_there(source: Source, mutated: Protocol, known: Scenario, names: Collection[str]) -> bool:
    """Whether the recorded ways to these goals are ways to them in the mutant, too."""
    seen = known.place.seen(mutated)
    judge = Interpreter(seen, known.place.instance(source, seen))
    goals = {goal.name: goal for goal in mutated.goals}
    wanted = [(goals[name], trace) for name, trace in known.goals if f"goal {name}" in names]
    return all(replays_to(judge, goal, trace) for goal, trace in wanted)


def replays_to(judge: Interpreter, goal: Goal, trace: Trace) -> bool:
    """Whether a recorded run can be taken, and reaches a goal."""
    try:
        return reaches(judge, goal, trace)
    except NotEnabled:
        return False
