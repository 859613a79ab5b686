"""One explicit search, as a task that a worker process can run from names alone.

A worker rebuilds protocol and instance from what the task says, explores, and replays every trace it found in the
interpreter before it reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.engines.explicit import Exploration, explore
from carnet_check.loading import families
from carnet_check.loading.scope import Scope, scope_of
from carnet_check.semantics import Interpreter
from carnet_command.text import counted
from carnet_spec.language import Goal, Instance, Invariant, Profile, Protocol, Threat
from carnet_spec.language.terms import And, Forall, Implies, Term, Var, conjunction
from carnet_spec.trace import Trace

PREMISE = "$premise "
"""Begins the name of the goal that a claim's premise is turned into: its number and the claim's name follow.

No goal of a specification is called so: the lint ``spelling`` sees to that.
"""

NO_THREAT = Threat("unrestricted", "nothing is assumed about anyone", ())
"""Stands in where a protocol declares no threat model."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Where a search stops although it is not complete."""

    states: int | None = None
    memory: int | None = None
    workers: int = 1
    """How many processes share the memory."""


@dataclass(frozen=True, slots=True)
class Search:
    """What to explore: a protocol by its names, a size, and what to look for."""

    reference: str
    variant: str
    without: tuple[str, ...]
    threat: str
    profile: Profile
    claims: tuple[str, ...]
    goals: tuple[str, ...] = ()
    directed: bool = False
    """Honest parties only, towards goals that need more rounds than the profile has."""
    stop_at_first: bool = False
    caps: Caps = Caps()
    reduction: bool = True
    digest: str = ""
    """Of the specification that is meant; empty: whatever the names stand for when the search begins."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search covered, and the traces it found, each replayed."""

    search: Search
    states: int
    transitions: int
    depth: int
    complete: bool
    stopped_by: str
    seconds: float
    peak_memory_bytes: int
    describes: str
    budget: int | None
    violations: Mapping[str, Trace]
    goals: Mapping[str, Trace]
    fired: Mapping[str, int]
    reduction: Mapping[str, int] = field(default_factory=dict)
    instances: Mapping[str, Instance] = field(default_factory=dict)
    """Where each violation was found and each goal reached."""
    extra_states: Mapping[str, int] = field(default_factory=dict)
    """For a claim that needed more instances than the others, the states of those."""
    fixes: Mapping[str, str] = field(default_factory=dict)
    """Which meaning was explored of what axioms leave open."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """For a claim that was not explored in all that it speaks of, why."""
    problems: tuple[str, ...] = ()
    """What is wrong with the instance or the engine; anything here is an error, not a verdict."""

    @property
    def covered(self) -> str:
        """What was covered, in words."""
        moves = "" if self.budget is None else f", at most {counted(self.budget, 'active adversary move')}"
        extent = f"{self.states:,} states, depth {self.depth}{moves}"
        return extent if self.complete else f"stopped by {self.stopped_by or 'its caps'} after {extent}"

    @property
    def exhaustive(self) -> bool:
        """Whether every reachable state of the instances was seen."""
        return self.complete and self.budget is None


def fixed(searches: Iterable[Found]) -> str:
    """Say which meanings were explored of what axioms leave open; nothing where all of them were."""
    told: dict[str, dict[str, None]] = {}
    for found in searches:
        for what, meaning in found.fixes.items():
            told.setdefault(what, {})[meaning] = None
    return "; ".join(f"{what}: {' or '.join(meanings)}" for what, meanings in told.items())


Watch = Callable[[int, int], None]
"""Called now and then with the states seen and the depth reached."""


def search(task: Search, watch: Watch | None = None) -> Found:
    """Run ``task`` here and now."""
    source = families.load(task.reference)
    protocol = source.protocol(task.variant, task.without)
    if task.digest and protocol.digest != task.digest:
        return failed(task, [f"the specification changed while it was checked: it was {task.digest[:16]}"])
    scope = scope_of(source, protocol, task.threat, task.profile, task.claims)
    return search_scope(task, protocol, scope, watch)


def search_scope(task: Search, protocol: Protocol, scope: Scope, watch: Watch | None = None) -> Found:
    """Run ``task`` over every instance of ``scope``, and put together what was found."""
    (first, _), *others = scope.instances
    found = replace(
        search_in(task, protocol, first, watch), describes=scope.describes, fixes=scope.fixes, left_out=scope.left_out
    )
    for instance, claims in () if task.directed else others:
        if not found.complete or found.problems or (task.stop_at_first and found.violations):
            break
        open_claims = tuple(name for name in claims or task.claims if name not in found.violations)
        part = replace(task, claims=open_claims, goals=_left(task.goals, found.goals), caps=_rest(task.caps, found))
        if claims is None or open_claims:
            found = _together(found, search_in(part, protocol, instance, watch), claims)
    return found


def _left(goals: Iterable[str], reached: Mapping[str, Trace]) -> tuple[str, ...]:
    return tuple(name for name in goals if name not in reached)


def _rest(caps: Caps, found: Found) -> Caps:
    """Return what is left of the states that a search may find."""
    return caps if caps.states is None else replace(caps, states=max(1, caps.states - found.states))


def _together(found: Found, more: Found, claims: tuple[str, ...] | None) -> Found:
    """Put what one more instance showed beside what the others did; it was explored for ``claims``, or for all."""
    extra = (
        found.extra_states
        if claims is None
        else {
            **found.extra_states,
            **{name: found.extra_states.get(name, 0) + more.states for name in claims},
        }
    )
    return replace(
        found,
        states=found.states + (more.states if claims is None else 0),
        transitions=found.transitions + (more.transitions if claims is None else 0),
        depth=max(found.depth, more.depth),
        complete=found.complete and more.complete,
        stopped_by=found.stopped_by or more.stopped_by,
        seconds=found.seconds + more.seconds,
        peak_memory_bytes=max(found.peak_memory_bytes, more.peak_memory_bytes),
        violations={**more.violations, **found.violations},
        goals={**more.goals, **found.goals},
        fired={name: count + more.fired.get(name, 0) for name, count in found.fired.items()},
        instances={**more.instances, **found.instances},
        extra_states=extra,
        problems=found.problems + more.problems,
    )


def search_in(task: Search, protocol: Protocol, instance: Instance, watch: Watch | None = None) -> Found:
    """Run ``task`` over a protocol and an instance that are there already."""
    judge = Interpreter(protocol, instance)
    wrong = violated_axioms(judge, threat_of(protocol, task.threat))
    if wrong:
        return failed(task, wrong, instance)
    invariants = [protocol.claim(name).checked for name in task.claims]
    goals = [goal for goal in protocol.goals if goal.name in task.goals]
    if task.directed:
        return _directed(task, protocol, instance, goals, watch)
    premises = [premise for name in task.claims for premise in premises_of(protocol.claim(name).checked)]
    explored = _explore(task, protocol, instance, invariants, [*goals, *premises], task.stop_at_first, watch)
    return _found(task, judge, explored, invariants)


def violated_axioms(judge: Interpreter, threat: Threat) -> list[str]:
    """Say which axioms the judge's instance violates."""
    names = [*judge.axioms_hold(), *judge.violated(threat.axioms)]
    return [f"the instance under {threat.id} violates axiom '{name}'" for name in names]


def threat_of(protocol: Protocol, id: str) -> Threat:
    """Return a threat model of the protocol, or the empty one that stands in where it declares none."""
    return NO_THREAT if id == NO_THREAT.id and not protocol.threats else protocol.threat(id)


def premises_of(invariant: Invariant) -> tuple[Goal, ...]:
    """Return what must be reachable for each implication in the invariant to say anything.

    Implications are looked for under "for every", in conjunctions and in what other implications conclude; a denied
    conjunction says everything by itself and has no premise.
    """
    found = tuple(dict.fromkeys(_premises(invariant.body, invariant.params, ())))
    return tuple(
        Goal(f"{PREMISE}{number} {invariant.name}", params, premise, "the premise can hold")
        for number, (params, premise) in enumerate(found, 1)
    )


def _premises(body: Term, params: tuple[Var, ...], given: tuple[Term, ...]) -> Iterator[tuple[tuple[Var, ...], Term]]:
    match body:
        case Forall(bound, inner):
            yield from _premises(inner, params + bound, given)
        case And(parts):
            for part in parts:
                yield from _premises(part, params, given)
        case Implies(premise, conclusion):
            inside = tuple(_premises(conclusion, params, (*given, premise)))
            yield from inside or [(params, conjunction((*given, premise)))]


def moves(protocol: Protocol, trace: Trace) -> int:
    """Count the steps that somebody takes; deductions are not among them."""
    deductions = {action.name for action in protocol.actions if action.deduction}
    return sum(step.action not in deductions for step in trace.steps)


def falls(judge: Interpreter, invariant: Invariant, trace: Trace) -> bool:
    """Whether the interpreter, replaying ``trace``, ends in a state that breaks ``invariant``."""
    states = judge.replay(trace)
    return not judge.holds(invariant.formula, states[-1])


def _explore(
    task: Search,
    protocol: Protocol,
    instance: Instance,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal],
    stop_at_first: bool,
    watch: Watch | None,
) -> Exploration:
    return explore(
        protocol,
        instance,
        invariants=invariants,
        goals=goals,
        max_states=task.caps.states,
        max_memory=task.caps.memory,
        workers=task.caps.workers,
        stop_at_first=stop_at_first,
        reduction=task.reduction,
        threat=task.threat,
        progress=None if watch is None else lambda seen: watch(seen.states, seen.depth),
    )


def _directed(
    task: Search, protocol: Protocol, instance: Instance, goals: Sequence[Goal], watch: Watch | None
) -> Found:
    """Look for goals with honest steps alone, and for those not reached with passive adversary steps too."""
    passive = replace(instance, budget=0)
    honest = replace(protocol, actions=tuple(action for action in protocol.actions if action.by.honest))
    found = _found(task, Interpreter(protocol, passive), _explore(task, honest, passive, (), goals, False, watch), ())
    missing = [goal for goal in goals if goal.name not in found.goals]
    if missing and honest.actions != protocol.actions:
        more = _found(
            task, Interpreter(protocol, passive), _explore(task, protocol, passive, (), goals, False, watch), ()
        )
        return replace(more, goals={**more.goals, **found.goals}, seconds=found.seconds + more.seconds)
    return found


def _found(task: Search, judge: Interpreter, explored: Exploration, invariants: Sequence[Invariant]) -> Found:
    named = {invariant.name: invariant for invariant in invariants}
    return Found(
        search=task,
        states=explored.states,
        transitions=explored.transitions,
        depth=explored.depth,
        complete=explored.complete,
        stopped_by=explored.stopped_by or "",
        seconds=explored.seconds,
        peak_memory_bytes=explored.peak_memory_bytes,
        describes=judge.instance.describes,
        budget=judge.instance.budget,
        violations=dict(explored.violations),
        goals=dict(explored.goals),
        fired=dict(explored.fired),
        reduction=dict(explored.reduction),
        instances=dict.fromkeys((*explored.violations, *explored.goals), judge.instance),
        problems=tuple(_unreproduced(judge, named, explored.violations)),
    )


def _unreproduced(
    judge: Interpreter, invariants: Mapping[str, Invariant], violations: Mapping[str, Trace]
) -> Iterator[str]:
    for name, trace in violations.items():
        try:
            reproduced = falls(judge, invariants[name], trace)
        except Exception as error:  # whatever the judge says against it, the trace is not shown
            yield f"the interpreter cannot replay the counterexample to {name}: {error}"
        else:
            if not reproduced:
                yield f"the interpreter replays the counterexample to {name}, and the claim still holds"


def failed(task: Search, problems: Iterable[str], instance: Instance | None = None) -> Found:
    """Return what a search amounts to that could not be made."""
    size, budget = (instance.describes, instance.budget) if instance else ("", None)
    return Found(task, 0, 0, 0, False, "an error", 0.0, 0, size, budget, {}, {}, {}, problems=tuple(problems))
