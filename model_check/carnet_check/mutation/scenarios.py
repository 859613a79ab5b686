"""Scenarios: small instances of the original, completely explored, with which mutants are compared.

A scenario is kept if every state was visited, and if it shows something that no other scenario does: a goal that is
reached, or an action that is taken. A mutant loses this if a complete exploration of the instance does not show it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from types import MappingProxyType

from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.searches import reaches, violates
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.errors import EngineError, UsageError
from carnet_check.loading.families import NO_THREAT, Source, axiom_violations, threat_of
from carnet_check.semantics import Interpreter, NotEnabled, Replays, State
from carnet_check.verification.checks import enabling_goal
from carnet_spec.language import Action, Claim, Goal, Instance, Profile, Protocol
from carnet_spec.language.analysis.initialisation import early_reads
from carnet_spec.trace import Trace, TraceStep

MOST_FIRST_VALUES = 36  #: The most choices of first values that are tried in one place.
#: The first values of variables and functions, in the form that instances have.
Values = Mapping[str, Mapping[tuple[str, ...], str]]


@dataclass(frozen=True, slots=True)
class Place:
    """What to explore: a variant in a size, under a threat model, with all parties or only the honest ones."""

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

    def explored_part(self, protocol: Protocol) -> Protocol:
        """Return the part of the protocol that is explored."""
        if not self.honest:
            return protocol
        return replace(protocol, actions=tuple(action for action in protocol.actions if action.by.honest))


def explore_place(
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
    """Explore the states of a place, from the given first values.

    With ``until_fallen`` the search uses reductions, and ends when every claim was violated.

    Raises EngineError if the interpreter does not reproduce a result, or the instance violates the axioms.
    """
    seen = place.explored_part(protocol)
    instance = place.instance(source, seen)
    instance = replace(instance, first={**instance.first, **first})
    if wrong := axiom_violations(Interpreter(seen, instance), threat_of(seen, place.threat)):
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
    problems += [n for n, trace in found.violations.items() if not violates(replays, invariants[n], trace)]
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
    """Explore a place from each choice of first values that may be read; return also whether these are all.

    Raises EngineError as ``explore_place``.
    """
    values = first_values(protocol, place.instance(source, place.explored_part(protocol)))
    found = [
        explore_place(source, protocol, place, claims, goals, states, until_fallen=until_fallen, first=first)
        for first in values or [{}]
    ]
    return found, bool(values)


def first_values(protocol: Protocol, instance: Instance) -> list[Values]:
    """Return all first values of the symbols that may be read before they are written; empty if they are too many."""
    early = dict.fromkeys(read.symbol for read in early_reads(protocol))
    held = [(symbol.name, row) for symbol in early for row in product(*map(instance.of, symbol.domain))]
    domains = [instance.of(symbol.result) for symbol in early for _ in product(*map(instance.of, symbol.domain))]
    if prod(map(len, domains)) > MOST_FIRST_VALUES:
        return []
    return [_tables(dict(zip(held, values, strict=True))) for values in product(*domains)]


def _tables(values: Mapping[tuple[str, tuple[str, ...]], str]) -> Values:
    return {name: {row: value for (other, row), value in values.items() if other == name} for name, _ in values}


GOAL, STEP = "goal ", "step "
MOST_STATES = 100_000  #: The most states of a scenario.
ROOM = 10  #: The most states of a mutant, as a multiple of the scenario's.
LEAST_ROOM = 20_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """The result of a complete exploration of the original in one place."""

    place: Place
    states: int
    taken: frozenset[str]  #: The actions that are taken, and the rules whose premises hold.
    #: A shortest run to each goal, and to a state in which each action is enabled, by the names in :attr:`shows`.
    ways: Mapping[str, Trace]

    @property
    def shows(self) -> frozenset[str]:
        """The names of goals and actions, with a prefix that distinguishes the two."""
        return frozenset(name for name in self.ways if name.startswith(GOAL)) | {STEP + name for name in self.taken}


def places(source: Source, variant: str, threats: Collection[str] = ()) -> tuple[Place, ...]:
    """Return the places in which scenarios of a variant are looked for, small sizes first."""
    protocol = source.protocol(variant)
    known = [threat.id for threat in protocol.threats if not threats or threat.id in threats] or [NO_THREAT.id]
    default = source.family.default_threat if source.family.default_threat in known else known[-1]
    sizes = source.family.sizes_to_hunt(variant)
    found = [Place(variant, size, default, honest) for size in sizes for honest in (False, True)]
    return (*found, *(Place(variant, sizes[0], threat) for threat in known if threat != default))


def scenario(source: Source, place: Place) -> Scenario | None:
    """Explore a place; return None if it has too many states, or no valid instance."""
    protocol = source.protocol(place.variant)
    try:
        found = explore_place(source, protocol, place, (), _sought(place.explored_part(protocol)), MOST_STATES)
    except UsageError:
        return None
    if not found.complete:
        return None
    taken = frozenset(name for name, count in found.fired.items() if count)
    return Scenario(place, found.states, taken, dict(sorted(found.goals.items())))


def _sought(protocol: Protocol) -> tuple[Goal, ...]:
    """Return the protocol's goals, and a goal for each action: that it is enabled."""
    goals = (replace(goal, name=GOAL + goal.name) for goal in protocol.goals)
    return (*goals, *(replace(enabling_goal(action), name=STEP + action.name) for action in protocol.actions))


def telling_scenarios(found: Iterable[Scenario]) -> tuple[Scenario, ...]:
    """Return the smallest scenario and few others, smallest first.

    Together they reach every goal, and take every action, that any of the scenarios does.
    """
    left = sorted(found, key=lambda each: each.states)
    kept, shown = left[:1], set[str]()
    while left:
        shown |= kept[-1].shows
        left = [each for each in left if not each.shows <= shown]
        kept += sorted(left, key=lambda each: -len(each.shows - shown))[:1]
    return tuple(sorted(kept, key=lambda each: each.states))


# -- what a mutant loses --------------------------------------------------------------------------


def lost_scenarios(
    source: Source, mutated: Protocol, known: Collection[Scenario], action: str
) -> Iterator[tuple[str, bool]]:
    """Yield, for each scenario with a loss, what is lost and whether the loss is established.

    A change of ``action`` can only cause losses in scenarios in which it is taken. Symbols that are read before they
    are written may have any first value, so something counts as lost if it is lost for each first value.
    """
    seen: set[str] = set()
    for each in known:
        new = each.shows - seen
        if action not in each.taken or not new:
            continue
        seen |= each.shows
        asked = new - _still_there(source, mutated, each, new, action)
        if not asked:
            continue
        most = max(LEAST_ROOM, ROOM * each.states)
        runs, every = from_every_first_value(source, mutated, each.place, (), _goals(mutated), most)
        there = {name for found in runs for name in found.goals}
        there |= {STEP + name for found in runs for name, count in found.fired.items() if count}
        if missing := sorted(asked - there):
            told = f"{', '.join(missing)} in {each.place.words}, {sum(found.states for found in runs):,} states"
            yield told, every and all(found.complete for found in runs)


def _goals(protocol: Protocol) -> tuple[Goal, ...]:
    return tuple(replace(goal, name=GOAL + goal.name) for goal in protocol.goals)


def _still_there(
    source: Source, mutated: Protocol, known: Scenario, names: frozenset[str], action: str
) -> frozenset[str]:
    """Return the goals and actions to which the recorded runs still lead in the mutant."""
    seen = known.place.explored_part(mutated)
    runs = _Runs(Interpreter(seen, known.place.instance(source, seen)))
    ends = {goal.name: goal for goal in _sought(seen)}
    same = {name for name in names & known.ways.keys() if _untouched(name, known.ways[name], mutated.action(action))}
    rest = (name for name in names - same if name in known.ways and runs.reach(ends[name], known.ways[name]))
    return frozenset([*same, *rest])


def _untouched(name: str, run: Trace, action: Action) -> bool:
    """Whether a change of ``action`` cannot affect a run; it can if it is a deduction, as runs do not list these."""
    taken = (step.action for step in run.steps)
    return not action.deduction and name != STEP + action.name and action.name not in taken


class _Runs:
    """Replays runs; a common prefix of several runs is taken once, and deductions only if a step needs them."""

    def __init__(self, judge: Interpreter) -> None:
        self._judge = judge
        self._states: dict[tuple[TraceStep, ...], State | None] = {(): judge.start()}

    def reach(self, goal: Goal, run: Trace) -> bool:
        """Whether all steps of a run can be taken and lead to a goal."""
        state = self._after(run.steps)
        return state is not None and (self._holds(goal, state) or self._holds(goal, self._judge.saturate(state)))

    def _holds(self, goal: Goal, state: State) -> bool:
        return self._judge.witness(goal.params, goal.body, state) is not None

    def _after(self, steps: tuple[TraceStep, ...]) -> State | None:
        """Return the state after some steps, or None if they cannot be taken."""
        longest = next(number for number in range(len(steps), -1, -1) if steps[:number] in self._states)
        state = self._states[steps[:longest]]
        for number in range(longest, len(steps)):
            state = self._taken(state, steps[number])
            self._states[steps[: number + 1]] = state
        return state

    def _taken(self, state: State | None, step: TraceStep) -> State | None:
        return None if state is None else self._fired(state, step) or self._fired(self._judge.saturate(state), step)

    def _fired(self, state: State, step: TraceStep) -> State | None:
        try:
            return self._judge.fire(state, self._judge.protocol.action(step.action), step.env)
        except NotEnabled:
            return None
