"""Running one search: over an instance, over all instances of a scope, or by names in a worker process.

Every trace that an engine finds is replayed in the interpreter before it is reported.
"""

import time
import typing
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from carnet_check.engines.exploration import Caps, Coverage, Exploration, Part, Search, premise_goals, trigger_of
from carnet_check.engines.interface import Plan
from carnet_check.loading import families
from carnet_check.loading.extent import Explored, available_memory
from carnet_check.loading.families import axiom_violations, threat_of
from carnet_check.loading.scope import Scope, scope_of
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter, Replays
from carnet_check.semantics.fairness import agree, objection, rules_as_steps, with_rules_as_steps
from carnet_command.text import join_words, plural
from carnet_spec.language import Eventually, Goal, Instance, Invariant, Profile, Protocol
from carnet_spec.language.printing import fair_steps
from carnet_spec.trace import Trace


class Visits(typing.Protocol):
    """The interface of exploration: implemented by engines, and by a cache in front of an engine."""

    def explore(self, protocol: Protocol, instance: Instance, *args: Any, **asked: Any) -> Exploration:
        """Search breadth first; see :meth:`~carnet_check.engines.interface.Explores.explore`."""


@typing.runtime_checkable
class FindsLassos(typing.Protocol):
    """The interface of deciding liveness: implemented by engines, and by a cache in front of an engine."""

    def lassos(self, protocol: Protocol, instance: Instance, *args: Any, **asked: Any) -> Exploration:
        """Look for lassos; see :meth:`~carnet_check.engines.interface.DecidesLiveness.lassos`."""


Watch = Callable[[int, int], None]  #: Called now and then with the states seen and the depth reached.


def search(explorer: Visits, task: Search, watch: Watch | None = None) -> Coverage:
    """Run ``task`` in this process."""
    source = families.load(task.reference)
    protocol = source.protocol(task.variant, task.without)
    if task.digest and protocol.digest != task.digest:
        return Coverage(task, failure=f"the specification changed while it was checked: it was {task.digest[:16]}")
    scope = instances_for(source, protocol, task)
    if (announced := task.explored) is not None and announced != (made := scope.explored):
        differ = [each.name for each in fields(Explored) if getattr(announced, each.name) != getattr(made, each.name)]
        told = f"{', '.join(differ)} differ; announced was {announced.words}, made is {made.words}"
        return Coverage(task, failure=f"the instances are not those that were announced: {told}")
    return search_scope(explorer, task, protocol, scope, watch)


def instances_for(source: families.Source, protocol: Protocol, task: Search) -> Scope:
    """Return the instances that a search explores."""
    scope = scope_of(source, protocol, task.threat, task.profile, task.liveness or task.claims)
    return scope.first_alone(protocol) if task.directed else scope


def search_scope(
    explorer: Visits, task: Search, protocol: Protocol, scope: Scope, watch: Watch | None = None
) -> Coverage:
    """Run ``task`` over every instance of ``scope``."""
    left = _Left(task)
    drawn = len(scope.instances) if scope.explored.shortfall else 1
    for place, (instance, claims) in enumerate(scope.instances):
        asked = left.asked(claims, max(1, drawn - place))
        if asked.liveness if task.liveness else claims is None or asked.claims:
            where = replace(instance, budget=0) if task.directed else instance
            found = search_in(explorer, asked, protocol, where, watch, reached=left.reached)
            left.take(Part(where, found, claims))
        if left.over:
            break
    return Coverage(task, scope, tuple(left.parts))


class _Left:
    """The remaining work of a search that goes from instance to instance."""

    def __init__(self, task: Search) -> None:
        self.task = task
        self.parts: list[Part] = []
        self.over = False
        self._fallen: set[str] = set()
        self.reached: set[str] = set()  #: the names of the goals, premises and triggers that some instance showed.
        self._states = 0
        self._shared = False
        self._began = time.monotonic()

    def asked(self, claims: tuple[str, ...] | None, among: int = 1) -> Search:
        """Return the search of one more instance: claims not violated, goals not reached, and the remaining caps.

        The remaining states are divided evenly ``among`` that number of instances.
        """
        return replace(
            self.task,
            claims=tuple(name for name in claims or self.task.claims if name not in self._fallen),
            liveness=tuple(
                name for name in self.task.liveness if name not in self._fallen and (claims is None or name in claims)
            ),
            goals=tuple(name for name in self.task.goals if name not in self.reached),
            caps=self._caps_left(among),
        )

    def _caps_left(self, among: int) -> Caps:
        caps = self.task.caps
        self._shared = among > 1 and caps.states is not None
        states = None if caps.states is None else max(1, (caps.states - self._states) // among)
        spent = time.monotonic() - self._began
        seconds = None if caps.seconds is None else max(0.0, caps.seconds - spent)
        return replace(caps, states=states, seconds=seconds)

    def take(self, part: Part) -> None:
        found = part.exploration
        self.parts.append(part)
        self._fallen |= found.violations.keys()
        self.reached |= found.goals.keys()
        self._states += found.states if part.claims is None else 0
        fallen = self.task.stop_at_first and bool(found.violations)
        only_its_share = self._shared and found.stopped_by == "states"
        self.over = fallen or bool(found.problems) or (found.stopped_by is not None and not only_its_share)


def search_in(
    explorer: Visits,
    task: Search,
    protocol: Protocol,
    instance: Instance,
    watch: Watch | None = None,
    reached: Container[str] = (),
) -> Exploration:
    """Run ``task`` over a built protocol and a built instance; premises and triggers ``reached`` are not sought."""
    judge = Interpreter(protocol, instance)
    wrong = axiom_violations(judge, threat_of(protocol, task.threat))
    if wrong:
        return Exploration(stopped_by="an error", problems=tuple(wrong))
    goals = [goal for goal in protocol.goals if goal.name in task.goals]
    if task.directed:
        return _directed(explorer, task, protocol, instance, goals, watch)
    if task.liveness:
        return _lively(explorer, task, protocol, instance, watch)
    invariants = [protocol.claim(name).checked for name in task.claims]
    premises = [] if task.sought else [premise for each in invariants for premise in premise_goals(each)]
    triggers = [trigger_of(live) for live in protocol.liveness if live.name in task.triggers]
    wanted = [*goals, *(goal for goal in (*premises, *triggers) if goal.name not in reached)]
    found = explorer.explore(
        protocol,
        instance,
        invariants=invariants,
        goals=wanted,
        caps=task.caps,
        stop_at_first=task.stop_at_first,
        stop_when_fallen=task.sought,
        reduction=task.reduction,
        threat=task.threat,
        watch=watch,
    )
    return replay_traces(judge, found, invariants, wanted)


def _lively(explorer: Visits, task: Search, protocol: Protocol, instance: Instance, watch: Watch | None) -> Exploration:
    if not isinstance(explorer, FindsLassos):
        return Exploration(stopped_by="an error", problems=("the engine decides no liveness",))
    liveness = [live for live in protocol.liveness if live.name in task.liveness]
    found = explorer.lassos(
        protocol,
        instance,
        liveness=liveness,
        caps=task.caps,
        reduction=task.reduction,
        threat=task.threat,
        watch=watch,
    )
    judge = Interpreter(with_rules_as_steps(protocol, liveness), instance)
    problems = (*found.problems, *_objections(judge, found, liveness))
    accepted = replace(found, violations={}, problems=problems)
    reached = replay_traces(judge, accepted, (), [trigger_of(live) for live in liveness])
    return replace(reached, violations=found.violations)


def _directed(
    explorer: Visits,
    task: Search,
    protocol: Protocol,
    instance: Instance,
    goals: Sequence[Goal],
    watch: Watch | None,
) -> Exploration:
    """Look for goals with honest steps alone, and for the remaining ones with passive adversary steps, too."""
    honest = replace(protocol, actions=tuple(action for action in protocol.actions if action.by.honest))

    def look(part: Protocol) -> Exploration:
        found = explorer.explore(
            part,
            instance,
            invariants=(),
            goals=goals,
            caps=task.caps,
            reduction=task.reduction,
            threat=task.threat,
            watch=watch,
        )
        return replay_traces(Interpreter(part, instance), found, (), goals)

    found = look(honest)
    if all(goal.name in found.goals for goal in goals) or honest.actions == protocol.actions:
        return found
    more = look(protocol)
    return replace(
        more,
        goals={**more.goals, **found.goals},
        seconds=found.seconds + more.seconds,
        problems=found.problems + more.problems,
    )


def violates(replays: Replays, invariant: Invariant, trace: Trace) -> bool:
    """Whether the interpreter's replay of ``trace`` ends in a state that violates ``invariant``."""
    return not replays.interpreter.holds(invariant.formula, replays.end(trace.steps))


def reaches(replays: Replays, goal: Goal, trace: Trace) -> bool:
    """Whether the interpreter's replay of ``trace`` ends in a state that satisfies ``goal``."""
    return replays.interpreter.witness(goal.params, goal.body, replays.end(trace.steps)) is not None


def replay_traces(
    judge: Interpreter, found: Exploration, invariants: Sequence[Invariant], goals: Sequence[Goal]
) -> Exploration:
    """Return the exploration, with the interpreter's objections to its traces added to its problems."""
    problems = [*found.problems]
    if found.stopped_by is None and not found.states:
        problems.append("the search calls itself complete, and saw no state")
    replays = Replays(judge)
    breaking = {each.name: partial(violates, replays, each) for each in invariants}
    reaching = {goal.name: partial(reaches, replays, goal) for goal in goals}
    problems += _unreproduced("the counterexample to", found.violations, breaking, "the claim still holds")
    problems += _unreproduced("the way to", found.goals, reaching, "the goal is not reached")
    return replace(found, problems=tuple(problems))


def _unreproduced(
    what: str, traces: Mapping[str, Trace], tests: Mapping[str, Callable[[Trace], bool]], otherwise: str
) -> Iterator[str]:
    for name, trace in traces.items():
        try:
            reproduced = tests[name](trace)
        except Exception as error:  # whatever the judge says against it, the trace is not shown
            yield f"the interpreter cannot replay {what} {name}: {error}"
        else:
            if not reproduced:
                yield f"the interpreter replays {what} {name}, and {otherwise}"


def moves(protocol: Protocol, trace: Trace) -> int:
    """Count the steps of a trace without deductions."""
    deductions = {action.name for action in protocol.actions if action.deduction}
    return sum(step.action not in deductions for step in trace.steps)


def describe_length(protocol: Protocol, trace: Trace) -> str:
    """Return the words for the length of a violation: the number of steps, or that the run is a lasso."""
    if trace.loop is None:
        return f"{plural(moves(protocol, trace), 'step')} to the violation"
    way, rest = (replace(trace, steps=part) for part in (trace.steps[: trace.loop], trace.steps[trace.loop :]))
    for_ever = f"then {plural(moves(protocol, rest), 'step')} again and again" if rest.steps else "then none any more"
    return f"{plural(moves(protocol, way), 'step')}, {for_ever}"


# -- The caps of explorations ----------------------------------------------------------------------

GIBIBYTE = 1 << 30
#: The caps of the explorations of a profile; the workers share the memory.
CAPS = {
    "tiny": Caps(states=3_000_000, memory=4 * GIBIBYTE),
    "ci": Caps(states=100_000_000, memory=7 * GIBIBYTE),
}
DIRECTED_CAPS = Caps(states=2_000_000, memory=4 * GIBIBYTE)
#: The most states if interpretations are drawn at random, as only violations can be established then.
MOST_STATES_DRAWN = 3_000_000
#: The caps of a search for expected violations in one size, after which the next size is tried.
SOUGHT_CAPS = Caps(states=250_000, memory=4 * GIBIBYTE)


def caps_of(profile: str, jobs: int, limits: Caps) -> Caps:
    """Return the caps of the explorations of a profile; the workers share the memory, at most the free memory."""
    return within(CAPS.get(profile, Caps()), jobs, limits)


def within(caps: Caps, jobs: int, limits: Caps) -> Caps:
    """Return ``limits``, with missing ones taken from ``caps``; ``jobs`` workers share the free memory."""
    free = available_memory()
    memory = limits.memory or min(caps.memory or free, free)
    return Caps(limits.states or caps.states, memory, jobs, limits.seconds or caps.seconds)


# -- The verdict of a search on a claim, with its number and its basis in words --------------------


def adversary(profile: Profile) -> str:
    """Return the words for the adversary's budget in a profile."""
    budget = profile.budget
    return "unbounded adversary" if budget is None else f"at most {plural(budget, 'active adversary move')}"


def verdict_of(found: Coverage, claim: str) -> tuple[Verdict, int | None]:
    """Return the verdict on a claim and its number.

    An incomplete search is UNKNOWN, and a complete one with an adversary budget HOLDS-TO. Finished random walks are
    SAMPLED, and never more, whatever they covered.
    """
    if found.problems:
        return Verdict.ERROR, None
    if claim in found.violations:
        return Verdict.VIOLATED, None
    if found.walk_coverage is not None:
        return Verdict.SAMPLED if found.walked_all else Verdict.UNKNOWN, found.walks(claim)
    states = found.represented + found.extra_states(claim)
    if not found.complete or claim in found.left_out or claim in found.undecided:
        return Verdict.UNKNOWN, states
    if found.budget is not None:
        return Verdict.HOLDS_TO, found.budget
    return Verdict.EXHAUSTED, states


def detail_of(plan: Plan, found: Coverage, claim: str) -> str:
    """Return the words for the basis of a verdict on ``claim``: what was visited, or the length of the violation."""
    if found.problems:
        return "; ".join(found.problems)
    trace = found.violations.get(claim)
    name = found.search.profile.name
    size = f"{name}: {found.instances}" if found.instances else name
    extra = 0 if found.walk_coverage else found.extra_states(claim)
    more = f", and {extra:,} from other first values" if extra else ""
    told = (
        describe_length(plan.protocol, trace) if trace else "",
        size,
        found.description + more,
        "" if trace else found.left_out.get(claim, ""),
        found.undecided.get(claim, ""),
    )
    detail = "; ".join(filter(None, told))
    if not found.search.liveness:
        return detail
    live = next(live for live in plan.liveness if live.name == claim)
    verb = "is" if len(live.fair) == 1 else "are"
    fair = f"if {join_words(fair_steps(live))} {verb} taken fairly" if live.fair else "with no fairness assumption"
    return f"{live.sentence} ({fair}; {detail})"


# --------------------------------------------------------------------------------------------------
# Checking an engine's lassos: each is replayed, and its fairness is checked, before it is reported.


def decided_together(protocol: Protocol, liveness: Iterable[Eventually]) -> list[tuple[str, ...]]:
    """Return the names of liveness properties in groups that one search decides.

    For all properties of a group the same rules are steps, and a fair action of several has the same fair steps.
    """
    groups: list[list[Eventually]] = []
    for live in liveness:
        rules, own = rules_as_steps(protocol, live), live.at(live.variables)
        for group in groups:
            stated = (each.at(each.variables) for each in group)
            if rules_as_steps(protocol, group[0]) == rules and all(agree(protocol, own, each) for each in stated):
                group.append(live)
                break
        else:
            groups.append([live])
    return [tuple(live.name for live in group) for group in groups]


def _objections(judge: Interpreter, found: Exploration, liveness: Sequence[Eventually]) -> Iterator[str]:
    for live in liveness:
        if live.name in found.violations:
            try:
                why = objection(judge, live, found.violations[live.name])
            except Exception as error:  # whatever the judge says against it, the trace is not shown
                why = str(error)
            if why:
                yield f"the interpreter does not accept the lasso of {live.name}: {why}"
