"""Base classes of engines that search small instances: a search for each threat model, and a row for each claim.

A subclass defines how one instance is searched, and which searches there are.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

from carnet_check.cache import AnswerCache, CacheStatistics, NotAnAnswerError
from carnet_check.engines.exploration import (
    NO_CAPS,
    Caps,
    Coverage,
    Exploration,
    Search,
    WalkCoverage,
    Walks,
    premise_goals,
    trigger_of,
)
from carnet_check.engines.exploring.searches import (
    DIRECTED_CAPS,
    MOST_STATES_DRAWN,
    SOUGHT_CAPS,
    Visits,
    adversary,
    caps_of,
    decided_together,
    detail_of,
    instances_for,
    search,
    verdict_of,
    within,
)
from carnet_check.engines.interface import DecidesLiveness, EngineResult, Explores, Plan, RunsInBackground, Shares, Task
from carnet_check.engines.runner import Listener, Shard, ShardReport
from carnet_check.errors import InvalidSpecificationError, UsageError
from carnet_check.loading.extent import Explored, available_memory, fixed_in_words, refuse_instance, sizes_in_words
from carnet_check.loading.families import axiom_violations
from carnet_check.results import Kind, Result, Verdict
from carnet_check.semantics import Interpreter
from carnet_command.text import join_words, plural
from carnet_command.worker import Lost, tell
from carnet_command.workers import WorkerPool
from carnet_spec.language import Goal, Instance, Invariant, Profile, Protocol
from carnet_spec.language.instance import InLine
from carnet_spec.trace import Trace, TraceStep


class Searcher(Explores):
    """An engine that searches small instances."""

    refutes: ClassVar = True

    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Return the words for the explored instances, and for the interpretations that they fix."""
        judging = [found for found in outcome.searches if not (found.search.sought or found.search.directed)]
        explored = [found.scope.explored for found in judging if found.scope]
        fixes = fixed_in_words(explored)
        told = f"{self.name}: {_instances_in_words(explored)}, {adversary(task.profile)}"
        return (told, f"fixed interpretations: {fixes}") if fixes else (told,)

    def require_runnable(self, task: Task) -> None:
        """Build every instance once, so that an impossible size is reported before anything runs.

        Raises UsageError if a requirement is not installed, or an instance is too large; InvalidSpecificationError if
        an instance of the profile does not satisfy the axioms.
        """
        if self.lacks:
            raise UsageError(self.lacks)
        memory = available_memory() if task.limits.memory is None else task.limits.memory
        for plan in task.plans:
            for threat in plan.threats:
                instance = task.source.instance(plan.protocol, threat.id, task.profile)
                refuse_instance(plan.protocol, instance, memory)
                wrong = axiom_violations(Interpreter(plan.protocol, instance), threat)
                if wrong:
                    raise InvalidSpecificationError(f"profile {task.profile.name}: {'; '.join(wrong)}")

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Search every variant under every threat model, in parallel worker processes."""
        before = self._known_before(task)
        found, sought = self._found(task, self._announced(task), listener, before)
        rows = tuple(row for each in found for row in self._judged(task, each, sought))
        known = before.used.notes if before else ()
        return EngineResult(self.name, rows, (*found, *sought), notes=(*known, *self._remarks(task, found)))

    def instances_in_words(self, task: Task) -> str:
        """Return the words for the instances to explore, and for what they lack of what the profile promises."""
        judging = [search for search in self._announced(task) if not search.directed]
        explored = [search.explored for search in judging if search.explored]
        short = dict.fromkeys(each.shortfall for each in explored if each.shortfall)
        lacks = "".join(f"; profile {task.profile.name} is not met: {why}" for why in short)
        return f"{_instances_in_words(explored)}, {adversary(task.profile)}{lacks}"

    # -- defined by a subclass ---------------------------------------------------------------------

    @abstractmethod
    def _every(self, task: Task) -> list[Search]:
        """Return all searches, the longest first, so that no worker waits at the end."""

    @abstractmethod
    def _limited(self, caps: Caps) -> Caps:
        """Return the caps of a search, restricted by the engine's own limit."""

    def _known_before(self, task: Task) -> AnswerCache | None:
        return None

    def _remarks(self, task: Task, found: Sequence[Coverage]) -> Iterator[str]:
        yield from ()

    # -- searches ----------------------------------------------------------------------------------

    def _found(
        self, task: Task, searches: Sequence[Search], listener: Listener, before: AnswerCache | None
    ) -> tuple[list[Coverage], list[Coverage]]:
        """Return the coverage of the searches, and that of the searches for expected violations after them."""
        found = sorted(self._explored(task, searches, listener, before), key=lambda each: _order(task, each))
        return found, self._sought(task, found, listener, before)

    def _sought(
        self, task: Task, found: Sequence[Coverage], listener: Listener, before: AnswerCache | None
    ) -> list[Coverage]:
        """Look in larger instances for expected violations that those of the profile did not show."""
        sought: list[Coverage] = []
        place = 0
        while searches := [
            more for each in found if (more := self._more(task, each, [each, *_beside(each, sought)], place))
        ]:
            sought += self._explored(task, searches, listener, before)
            place += 1
        return sought

    def _more(self, task: Task, found: Coverage, seen: Sequence[Coverage], place: int) -> Search | None:
        """Return the search for the remaining expected violations in the next size for attack searches, or None."""
        search, plan = found.search, task.plan(found.search.variant)
        fallen = {name for each in seen for name in each.violations}
        falling = (name for name in search.judged_properties if plan.expects_violation(name, search.threat))
        standing = tuple(name for name in falling if name not in fallen)
        sizes = task.source.family.sizes_to_hunt(search.variant)
        if search.directed or found.problems or not standing or place >= len(sizes):
            return None
        caps = self._limited(within(SOUGHT_CAPS, task.jobs, task.limits))
        more = replace(search, profile=sizes[place], goals=(), sought=True, caps=caps, explored=None)
        return replace(more, claims=standing) if search.claims else replace(more, liveness=standing)

    def _explored(
        self, task: Task, searches: Sequence[Search], listener: Listener, before: AnswerCache | None
    ) -> Iterator[Coverage]:

        def progress(running: Sequence[tuple[Search, int, int]]) -> None:
            parts = [f"{s.variant} · {s.threat}: {states:,} states, depth {depth}" for s, states, depth in running]
            if parts:
                listener.status("; ".join(parts))

        listener.status(plural(len(searches), "exploration"))
        for each, found in self.search_all(searches, task.jobs, progress, before):
            where = "directed run" if each.directed else each.threat
            where += f", {', '.join(each.liveness)}" if each.liveness else ""
            where += f" in {each.profile.name}" if each.sought else ""
            fallen = f"; violated: {', '.join(found.violations)}" if found.violations else ""
            listener.line(f"{each.variant} · {where}: {found.description} in {found.seconds:.1f} s{fallen}")
            yield found

    def search_all(
        self,
        searches: Sequence[Search],
        jobs: int,
        progress: OnProgress,
        before: AnswerCache | None = None,
    ) -> Iterator[tuple[Search, Coverage]]:
        """Yield the coverage of each search when it ends; ``progress`` is called with the running ones."""
        return run_all(self, searches, jobs, progress, before)

    def _announced(self, task: Task) -> list[Search]:
        return [self._with_instances(task, search) for search in self._every(task)]

    def _with_instances(self, task: Task, search: Search) -> Search:
        protocol = task.plan(search.variant).protocol
        explored = instances_for(task.source, protocol, search).explored
        caps = search.caps
        if explored.shortfall and task.limits.states is None:
            caps = self._limited(replace(caps, states=min(caps.states or MOST_STATES_DRAWN, MOST_STATES_DRAWN)))
        return replace(search, explored=explored, caps=caps)

    def _whole(self, task: Task, plan: Plan) -> Search:
        """Return a search of the whole variant, without claims and goals yet."""
        return Search(
            reference=task.source.reference,
            variant=plan.protocol.variant,
            without=(),
            threat="",
            profile=task.profile,
            claims=(),
            caps=self._limited(caps_of(task.profile.name, task.jobs, task.limits)),
            digest=plan.protocol.digest,
        )

    # -- rows --------------------------------------------------------------------------------------

    def _judged(self, task: Task, found: Coverage, sought: Sequence[Coverage]) -> Iterator[Result]:
        """Yield a row for each claim; a search for goals alone has rows only if it failed."""
        if not (found.search.judged_properties or found.problems):
            return
        beside = [] if found.search.directed else _beside(found, sought)
        elsewhere = {
            name: more
            for more in beside
            for name in (more.search.judged_properties if more.problems else more.violations)
        }
        plan = task.plan(found.search.variant)
        assumptions = plan.protocol.resting_on(axiom.states for axiom in plan.protocol.axioms)
        for claim in found.search.judged_properties or found.search.goals:
            row = self._row(task, plan, elsewhere.get(claim, found), claim)
            yield replace(row, assumptions=assumptions)

    def _row(self, task: Task, plan: Plan, found: Coverage, claim: str) -> Result:
        search, trace = found.search, found.violations.get(claim)
        verdict, bound = verdict_of(found, claim)
        falls = plan.expects_violation(claim, search.threat)
        return Result(
            protocol=task.source.family.id,
            variant=search.variant,
            claim=claim,
            threat=search.threat,
            engine=self.name,
            verdict=verdict,
            expected=Verdict.VIOLATED if falls else self.expected_verdict(task.profile),
            bound=bound,
            detail=detail_of(plan, found, claim),
            seconds=found.seconds,
            kind=Kind.CLAIM if search.claims else Kind.LIVENESS if search.liveness else Kind.GOAL,
            steps=trace.steps if trace else (),
            loop=trace.loop if trace else None,
        )


def _beside(found: Coverage, sought: Iterable[Coverage]) -> list[Coverage]:
    """Return the later searches of ``sought`` that belong to the search ``found``."""
    where = (found.search.variant, found.search.threat)
    return [more for more in sought if (more.search.variant, more.search.threat) == where]


def _instances_in_words(explored: Sequence[Explored]) -> str:
    """Return the instances of searches in words; a protocol without sorts has exactly one."""
    if not explored:
        return "nothing was explored"
    return sizes_in_words(explored) or "one instance, as there are no sorts"


def _order(task: Task, found: Coverage) -> tuple[int, ...]:
    variants = [plan.protocol.variant for plan in task.plans]
    threats = [threat.id for plan in task.plans for threat in plan.threats]
    search = found.search
    last = int(search.directed) + 2 * bool(search.liveness)
    return (variants.index(search.variant), last, threats.index(search.threat))


# --------------------------------------------------------------------------------------------------
# Worker processes for searches: they can be killed, report their progress, and leave Ctrl-C to their parent.

#: Seconds without progress after which a search counts as stuck; its budget is counted in states and bytes.
PATIENCE = 3600.0


#: Called with each running search and its numbers of states and levels.
OnProgress = Callable[[Sequence[tuple[Search, int, int]]], None]


class Progress(NamedTuple):
    """The progress of a search."""

    states: int
    depth: int


class RunningSearches:
    """A context manager for searches that other processes run while this process does something else."""

    def __init__(
        self, explorer: Explores, tasks: Sequence[Search], jobs: int, before: AnswerCache | None = None
    ) -> None:
        visits = CachedExplorer(explorer, before) if before is not None else explorer
        parts = [(visits, task, slot) for slot, task in enumerate(tasks)]
        pool = WorkerPool(max(1, min(jobs, len(tasks))), patience=PATIENCE, memory=None, keep=False)
        self.tasks = list(tasks)  #: the searches.
        #: the searches in the form in which the processes run them.
        self.parts = pool.begun(_run, parts, lambda _, said: isinstance(said, Coverage))

    def __enter__(self) -> Self:
        self.parts.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the searches that are still running."""
        self.parts.end()


def run_all(
    explorer: Explores,
    tasks: Sequence[Search],
    jobs: int,
    on_progress: OnProgress,
    before: AnswerCache | None = None,
) -> Iterator[tuple[Search, Coverage]]:
    """Run every task in one of ``jobs`` processes, and yield the coverage of each when it ends.

    ``on_progress`` is called with the states and the depth of each running task, whenever one of them reports progress.
    ``before`` is the cache of earlier explorations.
    """
    with RunningSearches(explorer, tasks, jobs, before) as begun:
        yield from results(begun, on_progress, before)


def results(
    begun: RunningSearches, on_progress: OnProgress, before: AnswerCache | None = None
) -> Iterator[tuple[Search, Coverage]]:
    """Yield the coverage of each search that was started; see :func:`run_all`."""
    running: dict[int, tuple[Search, int, int]] = {}
    for (_, task, slot), said in begun.parts.results():
        if isinstance(said, CacheStatistics):
            if before is not None:
                before.used.add(said)
        elif isinstance(said, Progress):
            running[slot] = (task, said.states, said.depth)
        else:
            running.pop(slot, None)
            yield task, Coverage(task, failure=said.reason) if isinstance(said, Lost) else said
        on_progress([running[slot] for slot in sorted(running)])


def failed_search(task: Search, error: Exception) -> Coverage:
    """Return the coverage of a search that ended with an error."""
    return Coverage(task, failure=f"{type(error).__name__}: {error}")


def _run(part: tuple[Visits, Search, int]) -> Iterator[Progress | CacheStatistics | Coverage]:
    explorer, task, _ = part
    try:
        yield search(explorer, task, lambda states, depth: tell(Progress(states, depth)))
    except MemoryError:
        raise
    except Exception as error:  # a failed search becomes an error of its claims and stops no other
        yield failed_search(task, error)


# -- Cached explorations: what is stored, and what is trusted --------------------------------------
#
# Every trace from the cache is replayed in the interpreter, like a newly found one. That there are no other violations
# is trusted.

ENDED = (None, "violation")  #: The ends of explorations that are stored: complete, or every claim was violated.


@dataclass(frozen=True)
class CachedExplorer:
    """Explores with an engine, or answers from the cache; in a worker, it reports the number of cache hits."""

    explorer: Explores
    before: AnswerCache

    def explore(self, protocol: Protocol, instance: Instance, *, caps: Caps, **asked: Any) -> Exploration:
        """Return the cached exploration, or explore now and store the result."""
        text = question(protocol, instance, **asked)
        if text is None:
            return self.explorer.explore(protocol, instance, caps=caps, **asked)
        here = AnswerCache(self.before.folder, self.before.who)
        found = here.get(text, str(caps.states), lambda kept: _read(kept, protocol, **asked))
        if found is None:
            found = self.explorer.explore(protocol, instance, caps=caps, **asked)
            if found.stopped_by in ENDED and not found.problems:
                here.keep(text, str(caps.states), _written(found))
        tell(here.used)
        return found

    def lassos(self, protocol: Protocol, instance: Instance, **asked: Any) -> Exploration:
        """Look for lassos; these results are not cached."""
        assert isinstance(self.explorer, DecidesLiveness)
        return self.explorer.lassos(protocol, instance, **asked)


def question(
    protocol: Protocol,
    instance: Instance,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    **asked: Any,
) -> str | None:
    """Return a text of all that an exploration depends on; None if a name of an invariant or goal is ambiguous."""
    premises = (premise for each in invariants for premise in premise_goals(each))
    known = {*protocol.goals, *premises, *map(trigger_of, protocol.liveness)}
    if not (set(invariants) <= set(protocol.invariants) and set(goals) <= known):
        return None
    options = {name: asked[name] for name in sorted(asked.keys() - {"watch"})}
    named = [[each.name for each in listed] for listed in (invariants, goals)]
    return json.dumps([protocol.digest, plain(vars(instance)), named, options], sort_keys=True)


def plain(value: Any) -> Any:
    """Return a value as JSON values; different values have different JSON values."""
    match value:
        case InLine():
            return {"in line": list(value.elements)}
        case Mapping():
            return sorted([plain(key), plain(each)] for key, each in value.items())
        case Set():
            return sorted(map(plain, value))
        case tuple():
            return [plain(each) for each in value]
    return value


def _written(found: Exploration) -> dict[str, Any]:
    traces = {"violations": found.violations, "goals": found.goals}
    return {
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "stopped_by": found.stopped_by,
        "fired": [*found.fired.items()],
        "reduction": [*found.reduction.items()],
        **{name: [(each, [*map(astuple, kept[each].steps)]) for each in kept] for name, kept in traces.items()},
    }


def _read(
    kept: Mapping[str, Any],
    protocol: Protocol,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    threat: str = "",
    **_: Any,
) -> Exploration:
    asked = {"violations": {each.name for each in invariants}, "goals": {each.name for each in goals}}
    asked |= {"fired": {each.name for each in protocol.actions}}
    for name, names in asked.items():
        if not names.issuperset(each for each, _ in kept[name]):
            raise NotAnAnswerError("it speaks of what was not asked")
    if kept["stopped_by"] not in ENDED:
        raise NotAnAnswerError("it is not definite")

    def traces(name: str) -> dict[str, Trace]:
        steps = {each: tuple(map(_step, listed)) for each, listed in kept[name]}
        return {
            each: Trace(protocol.id, protocol.variant, protocol.without, threat, found) for each, found in steps.items()
        }

    return Exploration(
        states=_count(kept["states"]),
        transitions=_count(kept["transitions"]),
        depth=_count(kept["depth"]),
        stopped_by=kept["stopped_by"],
        violations=traces("violations"),
        goals=traces("goals"),
        fired={name: _count(each) for name, each in kept["fired"]},
        reduction={str(name): _count(each) for name, each in kept["reduction"]},
    )


def _step(written: Sequence[Any]) -> TraceStep:
    action, by, args = written
    return TraceStep.from_json({"action": action, "by": by, "args": dict(args)})


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise NotAnAnswerError("a count in it is none")
    return value


@dataclass(frozen=True)
class Explorer(Searcher, RunsInBackground, Shares):
    """The base of the engines that visit every state of small instances.

    ``most_states`` is the limit of each exploration; by default that of the profile. Searches in ``has_begun`` already
    run in the background and are not started again.
    """

    verdicts: ClassVar = (Verdict.EXHAUSTED, Verdict.HOLDS_TO)
    most_states: int | None = None
    has_begun: RunningSearches | None = field(default=None, repr=False, compare=False)

    def with_limit(self, most: int) -> Self:
        """Return the engine with explorations that stop after ``most`` states."""
        return replace(self, most_states=most)

    def expected_verdict(self, profile: Profile) -> Verdict:
        """Return EXHAUSTED, or HOLDS-TO if the profile limits the adversary."""
        return Verdict.EXHAUSTED if profile.budget is None else Verdict.HOLDS_TO

    def intention(self, task: Task) -> str:
        """Return the words for the profile, its instances and the adversary's budget."""
        return f"every state of profile {task.profile.name}: {self.instances_in_words(task)}"

    def budget(self, profile: Profile) -> str:
        """Return the cap on states per exploration in words."""
        states = self._limited(caps_of(profile.name, 1, NO_CAPS)).states
        return "no cap on states" if states is None else f"{states:,} states per exploration"

    @contextmanager
    def begun(self, task: Task) -> Iterator[Self]:
        """Return the same engine, with its searches running in the background."""
        with RunningSearches(self, self._announced(task), task.jobs, self._known_before(task)) as begun:
            yield replace(self, has_begun=begun)

    def search_all(
        self,
        searches: Sequence[Search],
        jobs: int,
        progress: OnProgress,
        before: AnswerCache | None = None,
    ) -> Iterator[tuple[Search, Coverage]]:
        """Yield the coverage of each search when it ends; searches that already run are used if they are the same."""
        begun = self.has_begun
        if begun is not None and list(map(_asked_for, begun.tasks)) == list(map(_asked_for, searches)):
            return results(begun, progress, before)
        if begun is not None:
            begun.end()
        return run_all(replace(self, has_begun=None), searches, jobs, progress, before)

    def share(self, task: Task, shard: Shard, listener: Listener) -> ShardReport:
        """Run the searches of ``shard``, and the searches in larger instances that follow from them."""
        before = self._known_before(task)
        every = self._announced(task)
        found, sought = self._found(task, shard.share(every), listener, before)
        named = {_named(each.search): each for each in found}
        open_ = {name: each.description for name, each in named.items() if not (each.complete or each.problems)}
        problems = tuple(problem for each in (*found, *sought) for problem in each.problems)
        notes = before.used.notes if before else ()
        return ShardReport(self.name, "exploration", len(found), len(every), open_, problems, notes)

    def _known_before(self, task: Task) -> AnswerCache | None:
        return task.runner.answers(self.name)

    def _every(self, task: Task) -> list[Search]:
        searches = [search for plan in task.plans for search in self._searches(task, plan)]
        if isinstance(self, DecidesLiveness):
            searches += [search for plan in task.plans for search in self._lively(task, plan)]
        return sorted(searches, key=lambda search: (not search.directed, -len(search.claims)))

    def _searches(self, task: Task, plan: Plan) -> Iterator[Search]:
        protocol, family, every = plan.protocol, task.source.family, self._whole(task, plan)
        near = tuple(goal.name for goal in protocol.goals if family.is_within(goal, task.profile))
        for threat in plan.threats:
            if task.every_claim or plan.claims(threat) or plan.proved:
                yield replace(
                    every, threat=threat.id, claims=plan.claims(threat), goals=near, triggers=plan.liveness_properties
                )
        far = [goal for goal in protocol.goals if goal.name not in near]
        if far and plan.threats and task.every_claim:
            yield replace(
                every,
                threat=plan.threats[0].id,
                profile=family.directed_profile(task.profile, far),
                goals=tuple(goal.name for goal in far),
                directed=True,
                caps=self._limited(within(DIRECTED_CAPS, task.jobs, task.limits)),
            )

    def _lively(self, task: Task, plan: Plan) -> Iterator[Search]:
        for names in decided_together(plan.protocol, plan.liveness):
            for threat in plan.threats:
                yield replace(self._whole(task, plan), threat=threat.id, liveness=names)

    def _limited(self, caps: Caps) -> Caps:
        return caps if self.most_states is None else replace(caps, states=self.most_states)


def _asked_for(search: Search) -> Search:
    """Return a search without its memory limit, which depends on the free memory at planning time."""
    return replace(search, caps=replace(search.caps, memory=None))


def _named(search: Search) -> str:
    what = f" · {', '.join(search.liveness)}" if search.liveness else ""
    return f"{search.variant} · {search.threat} · {search.profile.name}{what}"


# --------------------------------------------------------------------------------------------------
# Engines that take random walks through small instances; exploring engines of the same names visit every state.
#
# A subclass defines how the walks through one instance are taken. There is no cache, no sharding and no liveness.


@dataclass(frozen=True)
class Walker(Searcher):
    """An engine that takes random walks.

    All walks are taken in each instance, even after violations, and without reductions. So the walks depend on the
    protocol, the instance, the seed and the depth alone.
    """

    verdicts: ClassVar = (Verdict.SAMPLED,)
    walks: Walks

    def with_limit(self, most: int) -> Self:
        """Return the engine for ``most`` walks at most."""
        return replace(self, walks=replace(self.walks, number=min(most, self.walks.number)))

    def expected_verdict(self, profile: Profile) -> Verdict:
        """Return SAMPLED, even if the profile limits the adversary."""
        return Verdict.SAMPLED

    def intention(self, task: Task) -> str:
        """Return the words for the walks, the profile, its instances and the adversary's budget."""
        where = f"profile {task.profile.name}: {self.instances_in_words(task)}"
        return f"{self.walks.description}, seed {self.walks.seed}, in {where}"

    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Return the words for the instances, the interpretations that they fix, and the number of walks in each."""
        where, *fixes = super().strength(task, outcome)
        return (f"{where}, {self.walks.description} in each", *fixes)

    def budget(self, profile: Profile) -> str:
        """Return the words for the number and the length of walks."""
        return f"{self.walks.description} to an instance"

    def _every(self, task: Task) -> list[Search]:
        return [search for plan in task.plans for search in self._searches(task, plan)]

    def _searches(self, task: Task, plan: Plan) -> Iterator[Search]:
        near = tuple(goal.name for goal in plan.protocol.goals if task.source.family.is_within(goal, task.profile))
        for threat in plan.threats:
            if task.every_claim or plan.claims(threat):
                yield replace(self._whole(task, plan), threat=threat.id, claims=plan.claims(threat), goals=near)

    def _limited(self, caps: Caps) -> Caps:
        return replace(caps, states=None)

    def _remarks(self, task: Task, found: Sequence[Coverage]) -> Iterator[str]:
        yield from map(_left_open, found)
        for plan in task.plans:
            if plan.liveness_properties:
                told = f"random walks judge no liveness, so they say nothing of {join_words(plan.liveness_properties)}"
                yield f"{plan.protocol.variant}: {told}"


def _left_open(found: Coverage) -> str:
    """Return the words for the coverage of walks, with the goals and actions that they missed."""
    missed = [name for name in found.search.goals if name not in found.goals]
    walked = found.walk_coverage or WalkCoverage()
    guards = [seen for _, _, seen in walked.guards if not seen.decided]
    held, failed = (sum(getattr(seen, how) for seen in guards) for how in ("held", "failed"))
    told = (
        f"{found.search.variant} · {found.search.threat}: {found.description}",
        f"goals not reached: {', '.join(missed) or 'none'}",
        f"never taken: {', '.join(walked.idle) or 'none'}",
        f"of {plural(len(guards), 'guard')} {held} seen to hold and {failed} to fail",
    )
    return "; ".join(told)
