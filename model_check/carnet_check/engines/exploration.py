"""Searches and their coverage: of one instance, and of all instances in the scope of a claim.

Every engine that visits states takes a :class:`Search` and returns :class:`Coverage`. These values are passed unchanged
from the engine, through worker processes, to the reports.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Required, TypedDict

from carnet_check.loading.extent import Explored, fixed_in_words
from carnet_check.loading.scope import Scope
from carnet_command.text import plural
from carnet_spec.language import Eventually, Goal, Instance, Invariant, Profile
from carnet_spec.language.terms import And, Forall, Implies, Not, Or, Term, Truth, Var, conjunction, disjunction
from carnet_spec.trace import Trace


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits at which a search stops although it is not complete."""

    states: int | None = None
    memory: int | None = None
    workers: int = 1  # how many processes share the memory
    seconds: float | None = None


NO_CAPS = Caps()  #: The caps of a search without limits.


class SearchOptions(TypedDict, total=False):
    """The keyword arguments of :meth:`~carnet_check.engines.interface.Explores.explore`, which explains them."""

    invariants: Required[Sequence[Invariant]]
    goals: Sequence[Goal]
    caps: Caps
    stop_at_first: bool
    stop_when_fallen: bool
    reduction: bool
    threat: str
    watch: Callable[[int, int], None] | None


class LassoOptions(TypedDict, total=False):
    """The keyword arguments of :meth:`~carnet_check.engines.interface.DecidesLiveness.lassos`, beside ``liveness``."""

    caps: Caps
    reduction: bool
    threat: str
    watch: Callable[[int, int], None] | None


@dataclass(frozen=True, slots=True)
class Search:
    """What to explore: a protocol by its names, a size, and the claims and goals to check."""

    reference: str
    variant: str
    without: tuple[str, ...]
    threat: str
    profile: Profile
    claims: tuple[str, ...]
    goals: tuple[str, ...] = ()
    directed: bool = False  # honest parties only, towards goals that need more rounds than the profile has
    stop_at_first: bool = False
    liveness: tuple[str, ...] = ()  # liveness properties to decide, instead of claims
    #: Liveness properties of which the search only checks whether their triggers are reached.
    triggers: tuple[str, ...] = ()
    #: Whether the search is for expected violations that the profile did not show; it ends when all are found.
    sought: bool = False
    #: Whether it is a single run that a solver chose, which shows nothing about goals and actions not on it.
    alone: bool = False
    caps: Caps = Caps()
    reduction: bool = True
    digest: str = ""  # of the expected specification; empty: any
    explored: Explored | None = None  # the announced instances; a search that has others fails

    @property
    def judged_properties(self) -> tuple[str, ...]:
        """The claims, or otherwise the liveness properties, that the search judges."""
        return self.claims or self.liveness


@dataclass(frozen=True, slots=True)
class Exploration:
    """The coverage and the results of a search of one instance."""

    #: the number of distinct states reached, each saturated with deductions; with symmetry reduction, a state may
    #: represent others that result from renaming interchangeable elements.
    states: int = 0
    #: the number of steps taken between them, including steps that change nothing or lead to a known state.
    transitions: int = 0
    depth: int = 0  #: the number of steps to the farthest state reached.
    #: what ended the search before it was complete: "violation", "states", "memory", "disk", "time", "interrupt" or "an
    #: error".
    stopped_by: str | None = None
    seconds: float = 0.0
    peak_memory_bytes: int = 0  #: the peak memory of the whole process.
    #: for each violated invariant, a shortest trace to a state that violates it.
    violations: Mapping[str, Trace] = field(default_factory=dict)
    goals: Mapping[str, Trace] = field(default_factory=dict)  #: for each goal that was reached, a shortest trace to it.
    #: for each action, the number of its transitions; for each rule, 1 if its premises held in some state reached and 0
    #: otherwise.
    fired: Mapping[str, int] = field(default_factory=dict)
    #: for each liveness property that limits of the instance leave undecided, why.
    undecided: Mapping[str, str] = field(default_factory=dict)
    #: what was left out because it cannot matter, by name of the reduction; ``states_stood_for`` counts the states
    #: reached and all that they represent, if they represent any.
    reduction: Mapping[str, int] = field(default_factory=dict)
    #: what is wrong with the instance or the engine; a problem makes the result an error, not a verdict.
    problems: tuple[str, ...] = ()
    #: the coverage of random walks, if they were requested: states and transitions are then counted with repetitions,
    #: and ``depth`` is that of the longest walk.
    walked: WalkCoverage | None = None

    @property
    def complete(self) -> bool:
        """Whether every reachable state of the instance was visited and every step from it taken."""
        return self.stopped_by is None and self.walked is None

    @property
    def represented(self) -> int:
        """The number of states reached, counting all that they represent."""
        return self.reduction.get("states_stood_for", self.states)

    @property
    def states_per_second(self) -> float:
        """States found per second of the whole search."""
        return self.states / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """The exploration of one instance: for some claims alone, or for all requested ones."""

    instance: Instance
    exploration: Exploration
    claims: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Coverage:
    """The coverage of a search, instance by instance, and the traces that it found, each replayed.

    ``failure`` says why nothing could be explored; there are no scope and no parts then.
    """

    search: Search
    scope: Scope | None = None
    parts: tuple[Part, ...] = ()
    failure: str = ""

    # -- what was explored ------------------------------------------------------------------------

    @property
    def instances(self) -> str:
        """The instances in words."""
        return self.scope.explored.words if self.scope else ""

    @property
    def strength(self) -> str:
        """The instances in words, and which interpretations were chosen among those that the axioms allow."""
        fixes = fixed_in_words([self.scope.explored] if self.scope else [])
        instances = f"{self.instances}{self._gone_through}"
        return f"{instances} · fixes {fixes}" if fixes else instances

    @property
    def left_out(self) -> Mapping[str, str]:
        """For each claim whose scope was not explored in full, why."""
        return self.scope.left_out if self.scope else {}

    @property
    def budget(self) -> int | None:
        """The most active adversary moves; ``None`` if they are unbounded."""
        return self.parts[0].instance.budget if self.parts else None

    # -- coverage ---------------------------------------------------------------------------------

    @cached_property
    def walk_coverage(self) -> WalkCoverage | None:
        """The coverage of random walks in all instances, or None."""
        every = [found.walked for found in self._all() if found.walked]
        return WalkCoverage.together(every) if every else None

    def walks(self, claim: str) -> int:
        """Return the number of finished random walks that checked a claim."""
        mine = (part.exploration.walked for part in self.parts if part.claims is None or claim in part.claims)
        return sum(each.walks for each in mine if each)

    @property
    def walked_all(self) -> bool:
        """Whether random walks were requested, and all of them were finished in every instance."""
        return bool(self.parts) and all(found.walked and found.stopped_by is None for found in self._all())

    @cached_property
    def states(self) -> int:
        """The number of states of the instances that all claims share; for random walks, with repetitions."""
        return sum(found.states for found in self._counted())

    @cached_property
    def represented(self) -> int:
        """The number of states of the instances that all claims share, counting all that they represent."""
        return sum(found.represented for found in self._counted())

    @cached_property
    def transitions(self) -> int:
        """The number of transitions of the instances that all claims share; for random walks, of all steps."""
        return sum(found.transitions for found in self._counted())

    def extra_states(self, claim: str) -> int:
        """Return the number of states of the instances that were explored for a claim besides the shared ones."""
        return sum(part.exploration.represented for part in self.parts if claim in (part.claims or ()))

    @property
    def beside(self) -> int:
        """The number of states of the instances for some claims alone, counting all that they represent."""
        return sum(part.exploration.represented for part in self.parts if part.claims is not None)

    @property
    def states_per_second(self) -> float:
        """States found per second, in all instances."""
        return sum(found.states for found in self._all()) / self.seconds if self.seconds > 0 else 0.0

    @property
    def depth(self) -> int:
        """The number of steps to the farthest state reached."""
        return max((found.depth for found in self._all()), default=0)

    @property
    def seconds(self) -> float:
        """How long the search took."""
        return sum(found.seconds for found in self._all())

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the process held."""
        return max((found.peak_memory_bytes for found in self._all()), default=0)

    @property
    def complete(self) -> bool:
        """Whether every instance was explored, and each of them completely."""
        return bool(self.parts) and all(part.exploration.complete for part in self.parts)

    @property
    def stopped_by(self) -> str:
        """What ended the search before it was complete."""
        first = next((found.stopped_by for found in self._all() if found.stopped_by), "")
        return first if self.parts else "an error"

    @property
    def exhaustive(self) -> bool:
        """Whether every reachable state of the instances was seen."""
        return self.complete and self.budget is None

    @property
    def description(self) -> str:
        """The coverage in words."""
        moves = "" if self.budget is None else f", at most {plural(self.budget, 'active adversary move')}"
        visited = "" if self.represented == self.states else f" ({self.states:,} up to symmetry)"
        extent = f"{self.represented:,} states{visited}, depth {self.depth}{moves}"
        if self.walk_coverage:
            walks, steps = plural(self.walk_coverage.walks, "random walk"), plural(self.walk_coverage.steps, "step")
            extent = f"{walks}, {steps} in all, {self.depth} in the longest{moves}"
        if self.complete or self.walked_all:
            return extent
        return f"stopped by {self.stopped_by or 'its caps'} after {extent}{self._gone_through}"

    @property
    def _gone_through(self) -> str:
        """Return the words for how many interpretations an incomplete search explored."""
        shared = sum(part.claims is None for part in self.parts)
        every = self.scope.explored.interpretations if self.scope else shared
        return f", in {shared:,} of {every:,} interpretations" if shared < every else ""

    # -- results ----------------------------------------------------------------------------------

    @cached_property
    def violations(self) -> Mapping[str, Trace]:
        """For each violated claim, the trace of the first instance in which it was violated."""
        return {name: trace for found in reversed(self._all()) for name, trace in found.violations.items()}

    @property
    def undecided(self) -> Mapping[str, str]:
        """For each liveness property that an instance did not decide, why."""
        return {name: why for found in reversed(self._all()) for name, why in found.undecided.items()}

    @cached_property
    def goals(self) -> Mapping[str, Trace]:
        """For each goal that was reached, the trace of the first instance in which it was."""
        return {name: trace for found in reversed(self._all()) for name, trace in found.goals.items()}

    @cached_property
    def fired(self) -> Mapping[str, int]:
        """How often each action was taken, in all instances."""
        total: dict[str, int] = {}
        for found in self._all():
            for name, count in found.fired.items():
                total[name] = total.get(name, 0) + count
        return total

    @property
    def reduction(self) -> Mapping[str, int]:
        """What was left out because it cannot matter: states of all instances that all claims share, and most bits."""
        every = [found.reduction for found in self._counted()]
        most = {name: max(each.get(name, 0) for each in every) for name in dict.fromkeys(itertools.chain(*every))}
        counts = {
            "states_dominated": sum(each.get("states_dominated", 0) for each in every),
            "states_stood_for": self.represented,
        }
        return most | {name: count for name, count in counts.items() if name in most}

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with an instance or the engine; a problem makes the result an error, not a verdict."""
        failure = (self.failure,) if self.failure else ()
        return (*failure, *(problem for found in self._all() for problem in found.problems))

    def instance_of(self, claim: str) -> Instance:
        """Return the instance in which a claim was violated."""
        return next(part.instance for part in self.parts if claim in part.exploration.violations)

    def _all(self) -> tuple[Exploration, ...]:
        return tuple(part.exploration for part in self.parts)

    def _counted(self) -> Iterator[Exploration]:
        return (part.exploration for part in self.parts if part.claims is None or part.exploration.walked)


# -- Random walks through one instance: their parameters and their coverage ------------------------
#
# A walk begins in the first state and takes steps that change the state, chosen uniformly among the enabled ones. The
# seed decides every choice. Decided in docs/adr/0035-a-sample-of-walks.md.

DEFAULT_DEPTH = 100
DEFAULT_SEED = 0
MOST_SEED = (1 << 64) - 1  #: The largest seed, of 64 bits.


@dataclass(frozen=True, slots=True)
class Walks:
    """How many random walks to take, of how many steps at most, and with which seed."""

    number: int
    depth: int = DEFAULT_DEPTH
    seed: int = DEFAULT_SEED

    @property
    def description(self) -> str:
        """The walks in words, without the seed."""
        return f"{plural(self.number, 'random walk')} of at most {plural(self.depth, 'step')}"


@dataclass(frozen=True, slots=True)
class GuardCoverage:
    """The values of an action's guard in the states that walks left, over all arguments that the instance allows."""

    held: bool = False  #: whether it was true for some arguments.
    failed: bool = False  #: whether it was false for some arguments.
    alone: bool = False  #: whether, for some arguments, it was the only false guard of its action.
    decided: bool = False  #: whether its value depends on the instance alone, not on the state.

    def union(self, other: GuardCoverage) -> GuardCoverage:
        """Return the union of two coverages."""
        held, failed = self.held or other.held, self.failed or other.failed
        return GuardCoverage(held, failed, self.alone or other.alone, self.decided and other.decided)


@dataclass(frozen=True, slots=True)
class ActionCoverage:
    """How often walks took an action, whether it was enabled in a state that they left, and its guards' coverage.

    Guards that only draw an unused element are not included.
    """

    taken: int = 0
    enabled: bool = False
    guards: Mapping[str, GuardCoverage] = field(default_factory=dict)

    def union(self, other: ActionCoverage) -> ActionCoverage:
        """Return the union of two coverages."""
        guards = {
            name: seen.union(other.guards[name]) if name in other.guards else seen for name, seen in self.guards.items()
        }
        return ActionCoverage(self.taken + other.taken, self.enabled or other.enabled, guards)


@dataclass(frozen=True, slots=True)
class WalkCoverage:
    """The coverage of random walks."""

    walks: int = 0  #: the number of finished walks.
    steps: int = 0  #: the number of steps of all walks.
    stuck: int = 0  #: the number of walks that ended early, because no step would have changed the state.
    #: the coverage of each action that is no deduction.
    actions: Mapping[str, ActionCoverage] = field(default_factory=dict)

    @property
    def idle(self) -> tuple[str, ...]:
        """The actions that no walk took."""
        return tuple(name for name, seen in self.actions.items() if not seen.taken)

    @property
    def guards(self) -> Iterator[tuple[str, str, GuardCoverage]]:
        """Yield the action, name and coverage of every guard, in the protocol's order."""
        for action, seen in self.actions.items():
            for guard, each in seen.guards.items():
                yield action, guard, each

    @staticmethod
    def together(every: Iterable[WalkCoverage]) -> WalkCoverage:
        """Return the union of the coverage in several instances."""
        walks = steps = stuck = 0
        actions: dict[str, ActionCoverage] = {}
        for each in every:
            walks, steps, stuck = walks + each.walks, steps + each.steps, stuck + each.stuck
            for name, seen in each.actions.items():
                actions[name] = actions[name].union(seen) if name in actions else seen
        return WalkCoverage(walks, steps, stuck, actions)


# --------------------------------------------------------------------------------------------------
# The premises of a claim, each as a goal: it must be reachable, or else the claim is vacuous.

#: The prefix of the name of a premise's goal; the premise's number and the claim's name follow.
#:
#: No goal of a specification has this prefix: the lint ``spelling`` refuses it.
PREMISE = "$premise "


def premise_goals(invariant: Invariant) -> tuple[Goal, ...]:
    """Return a goal for the premise of each implication in the invariant.

    Implications are looked for under "for every", in conjunctions and in conclusions of other implications. ``~p | q``
    is one. A negation has no premise, and neither has an implication of ``false`` or ``~p | ~q``, which are negations.
    """
    found = tuple(dict.fromkeys(_premises(invariant.body, invariant.params, ())))
    return tuple(
        Goal(f"{PREMISE}{number} {invariant.name}", params, premise, "the premise can hold")
        for number, (params, premise) in enumerate(found, 1)
    )


def trigger_of(live: Eventually) -> Goal:
    """Return the goal for the trigger of a liveness property."""
    return Goal(f"{PREMISE}1 {live.name}", live.params, live.trigger, "what is answered can happen")


def _premises(body: Term, params: tuple[Var, ...], given: tuple[Term, ...]) -> Iterator[tuple[tuple[Var, ...], Term]]:
    match body:
        case Forall(bound, inner):
            yield from _premises(inner, params + bound, given)
        case And(parts):
            for part in parts:
                yield from _premises(part, params, given)
        case Implies(_, Truth(False)):
            return  # that the premise never holds is all that is claimed
        case Implies(premise, conclusion):
            inside = tuple(_premises(conclusion, params, (*given, premise)))
            yield from inside or [(params, conjunction((*given, premise)))]
        case Or(parts):
            denied = tuple(part.body for part in parts if isinstance(part, Not))
            asserted = disjunction(tuple(part for part in parts if not isinstance(part, Not)))
            if denied:
                yield from _premises(Implies(conjunction(denied), asserted), params, given)
