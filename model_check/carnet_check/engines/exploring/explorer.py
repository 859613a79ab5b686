"""Engines that visit states: one search for each threat model, and a row for each claim that it judged.

A subclass says how one instance is explored; everything else that makes an engine of it is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.cache import Answers
from carnet_check.engines.exploration import NO_CAPS, Caps, Coverage, Search, fixed
from carnet_check.engines.exploring import pools
from carnet_check.engines.exploring.caps import DIRECTED_CAPS, SOUGHT_CAPS, caps_of, within
from carnet_check.engines.exploring.lassos import alike
from carnet_check.engines.exploring.searches import length
from carnet_check.engines.interface import DecidesLiveness, Explores, Outcome, Plan, Shares, Task
from carnet_check.engines.runner import Listener, Portion, Shard
from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.extent import available_memory, refuse_instance
from carnet_check.loading.threats import violated_axioms
from carnet_check.results import Kind, Result, Verdict
from carnet_check.semantics import Interpreter
from carnet_check.wording.sentences import listed
from carnet_command.text import counted
from carnet_spec.language import Profile
from carnet_spec.language.printing import fair_steps


@dataclass(frozen=True)
class Explorer(Explores, Shares):
    """An engine that visits every state of small instances.

    ``most_states`` is where each exploration stops; by default the profile says so.
    """

    verdicts: ClassVar = (Verdict.EXHAUSTED, Verdict.HOLDS_TO)
    refutes: ClassVar = True
    most_states: int | None = None

    def limited(self, most: int) -> Self:
        """Return the engine with explorations that stop after ``most`` states."""
        return replace(self, most_states=most)

    def expected(self, profile: Profile) -> Verdict:
        """Return EXHAUSTED, or HOLDS-TO where the profile limits the adversary."""
        return Verdict.EXHAUSTED if profile.budget is None else Verdict.HOLDS_TO

    def intention(self, task: Task) -> str:
        """Name the profile and what the adversary may do in it."""
        title = f" ({task.profile.title})" if task.profile.title else ""
        return f"every state of profile {task.profile.name}{title}, {adversary(task.profile)}"

    def strength(self, task: Task, outcome: Outcome) -> tuple[str, ...]:
        """Name the instances that were explored, and what they fix."""
        searches = [found for found in outcome.searches if not found.search.sought]
        sizes = dict.fromkeys(found.describes for found in searches if found.describes)
        instances = "; ".join(sizes) or "the instances of the profile"
        fixes = fixed(searches)
        explored = f"{self.name}: {instances}, {adversary(task.profile)}"
        return (explored, f"these instances fix {fixes}") if fixes else (explored,)

    def budget(self, profile: Profile) -> str:
        """Say how many states an exploration may have."""
        states = self._caps(profile, 1, NO_CAPS).states
        return "no cap on states" if states is None else f"{states:,} states to an exploration"

    def require_runnable(self, task: Task) -> None:
        """Build every instance once, so that a size that makes none is known before anything runs."""
        memory = available_memory() if task.limits.memory is None else task.limits.memory
        for plan in task.plans:
            for threat in plan.threats:
                instance = task.source.instance(plan.protocol, threat.id, task.profile)
                refuse_instance(plan.protocol, instance, memory)
                wrong = violated_axioms(Interpreter(plan.protocol, instance), threat)
                if wrong:
                    raise InvalidSpecificationError(f"profile {task.profile.name}: {'; '.join(wrong)}")

    def run(self, task: Task, listener: Listener) -> Outcome:
        """Explore every variant under every threat model, the searches shared among the workers."""
        before = task.runner.answers(self.name)
        found, sought = self._found(task, self._every(task), listener, before)
        rows = tuple(row for each in found for row in self._judged(task, each, sought))
        return Outcome(self.name, rows, (*found, *sought), notes=before.used.notes if before else ())

    def share(self, task: Task, shard: Shard, listener: Listener) -> Portion:
        """Run the searches that fall to ``shard``, and those in larger instances that follow from them."""
        before = task.runner.answers(self.name)
        every = self._every(task)
        found, sought = self._found(task, shard.share(every), listener, before)
        named = {_named(each.search): each for each in found}
        open_ = {name: each.covered for name, each in named.items() if not (each.complete or each.problems)}
        problems = tuple(problem for each in (*found, *sought) for problem in each.problems)
        notes = before.used.notes if before else ()
        return Portion(self.name, "exploration", len(found), len(every), open_, problems, notes)

    def _every(self, task: Task) -> list[Search]:
        """Return all searches, the longest first, so that no worker waits at the end."""
        searches = [search for plan in task.plans for search in self._searches(task, plan)]
        if isinstance(self, DecidesLiveness):
            searches += [search for plan in task.plans for search in self._lively(task, plan)]
        return sorted(searches, key=lambda search: not search.directed)

    def _found(
        self, task: Task, searches: Sequence[Search], listener: Listener, before: Answers | None
    ) -> tuple[list[Coverage], list[Coverage]]:
        """Return what searches covered, and those that followed from them."""
        found = sorted(self._explored(task, searches, listener, before), key=lambda each: _order(task, each))
        return found, self._sought(task, found, listener, before)

    def _sought(
        self, task: Task, found: Sequence[Coverage], listener: Listener, before: Answers | None
    ) -> list[Coverage]:
        """Look in larger instances for what is expected to fall, and did not fall in those of the profile."""
        sought: list[Coverage] = []
        place = 0
        while searches := [
            more for each in found if (more := self._more(task, each, [each, *_beside(each, sought)], place))
        ]:
            sought += self._explored(task, searches, listener, before)
            place += 1
        return sought

    def _more(self, task: Task, found: Coverage, seen: Sequence[Coverage], place: int) -> Search | None:
        """Return the search for what still stands of it, in the next of the sizes that an attack is looked for in."""
        search, plan = found.search, task.plan(found.search.variant)
        fallen = {name for each in seen for name in each.violations}
        falling = (name for name in search.claims if plan.falls(name, search.threat))
        standing = tuple(name for name in falling if name not in fallen)
        sizes = task.source.family.sizes_to_hunt(search.variant)
        if search.directed or found.problems or not standing or place >= len(sizes):
            return None
        caps = self._limited(within(SOUGHT_CAPS, task.jobs, task.limits))
        return replace(search, profile=sizes[place], claims=standing, goals=(), sought=True, caps=caps)

    def _explored(
        self, task: Task, searches: Sequence[Search], listener: Listener, before: Answers | None
    ) -> Iterator[Coverage]:

        def progress(running: Sequence[tuple[Search, int, int]]) -> None:
            parts = [f"{s.variant} · {s.threat}: {states:,} states, depth {depth}" for s, states, depth in running]
            if parts:
                listener.status("; ".join(parts))

        listener.status(counted(len(searches), "exploration"))
        for search, found in self.searched(searches, task.jobs, progress, before):
            where = "directed run" if search.directed else search.threat
            where += f", {', '.join(search.liveness)}" if search.liveness else ""
            where += f" in {search.profile.name}" if search.sought else ""
            fallen = f"; falls: {', '.join(found.violations)}" if found.violations else ""
            listener.line(f"{search.variant} · {where}: {found.covered} in {found.seconds:.1f} s{fallen}")
            yield found

    def searched(
        self,
        searches: Sequence[Search],
        jobs: int,
        progress: Callable[[Sequence[tuple[Search, int, int]]], None],
        before: Answers | None = None,
    ) -> Iterator[tuple[Search, Coverage]]:
        """Yield what each search covered as it ends; ``progress`` is told of those that run."""
        return pools.run_all(self, searches, jobs, progress, before)

    def _searches(self, task: Task, plan: Plan) -> Iterator[Search]:
        """Yield a search for each threat model, and one directed at the goals that need more rounds."""
        protocol, family, every = plan.protocol, task.source.family, self._whole(task, plan)
        near = tuple(goal.name for goal in protocol.goals if family.is_within(goal, task.profile))
        for threat in plan.threats:
            if task.every_claim or plan.claims(threat) or plan.proved:
                yield replace(every, threat=threat.id, claims=plan.claims(threat), goals=near, triggers=plan.stated)
        far = [goal for goal in protocol.goals if goal.name not in near]
        if far and plan.threats and task.every_claim:
            yield replace(
                every,
                threat=plan.threats[0].id,
                profile=family.directed(task.profile, far),
                goals=tuple(goal.name for goal in far),
                directed=True,
                caps=self._limited(within(DIRECTED_CAPS, task.jobs, task.limits)),
            )

    def _lively(self, task: Task, plan: Plan) -> Iterator[Search]:
        """Yield the searches that decide what happens in the end."""
        for names in alike(plan.protocol, plan.liveness):
            for threat in plan.threats:
                yield replace(self._whole(task, plan), threat=threat.id, liveness=names)

    def _whole(self, task: Task, plan: Plan) -> Search:
        """Return a search that has yet to be told what to look for."""
        return Search(
            reference=task.source.reference,
            variant=plan.protocol.variant,
            without=(),
            threat="",
            profile=task.profile,
            claims=(),
            caps=self._caps(task.profile, task.jobs, task.limits),
            digest=plan.protocol.digest,
        )

    def _caps(self, profile: Profile, jobs: int, limits: Caps) -> Caps:
        return self._limited(caps_of(profile.name, jobs, limits))

    def _limited(self, caps: Caps) -> Caps:
        return caps if self.most_states is None else replace(caps, states=self.most_states)

    def _judged(self, task: Task, found: Coverage, sought: Sequence[Coverage]) -> Iterator[Result]:
        """Yield a row for each claim; a search that judges none, for goals alone, has rows only if it failed."""
        if not (found.search.claims or found.search.liveness or found.problems):
            return
        beside = [] if found.search.directed else _beside(found, sought)
        elsewhere = {name: more for more in beside for name in _told(more)}
        plan = task.plan(found.search.variant)
        assumptions = plan.protocol.resting_on(axiom.states for axiom in plan.protocol.axioms)
        for claim in found.search.claims or found.search.liveness or found.search.goals:
            row = self._row(task, plan, elsewhere.get(claim, found), claim)
            yield replace(row, assumptions=assumptions)

    def _row(self, task: Task, plan: Plan, found: Coverage, claim: str) -> Result:
        """Return what a search says of a claim."""
        search, trace = found.search, found.violations.get(claim)
        verdict, bound = verdict_of(found, claim)
        falls = plan.falls(claim, search.threat)
        return Result(
            protocol=task.source.family.id,
            variant=search.variant,
            claim=claim,
            threat=search.threat,
            engine=self.name,
            verdict=verdict,
            expected=Verdict.VIOLATED if falls else self.expected(task.profile),
            bound=bound,
            detail=_detail(plan, found, claim),
            seconds=found.seconds,
            kind=Kind.CLAIM if search.claims else Kind.LIVENESS if search.liveness else Kind.GOAL,
            steps=trace.steps if trace else (),
            loop=trace.loop if trace else None,
        )


def _beside(found: Coverage, sought: Iterable[Coverage]) -> list[Coverage]:
    """Return the searches for what fell neither in a search nor in those before."""
    where = (found.search.variant, found.search.threat)
    return [more for more in sought if (more.search.variant, more.search.threat) == where]


def _told(sought: Coverage) -> Iterable[str]:
    """Return the claims of which a search for what falls has anything to say: that they fell, or that it failed."""
    return sought.search.claims if sought.problems else sought.violations


def _named(search: Search) -> str:
    """Name a search among those of a task."""
    what = f" · {', '.join(search.liveness)}" if search.liveness else ""
    return f"{search.variant} · {search.threat} · {search.profile.name}{what}"


def adversary(profile: Profile) -> str:
    """Say what a profile lets the adversary do."""
    budget = profile.budget
    return "unbounded adversary" if budget is None else f"at most {counted(budget, 'active adversary move')}"


def verdict_of(found: Coverage, claim: str) -> tuple[Verdict, int | None]:
    """A search with an adversary budget is HOLDS-TO however small it was; an incomplete one is UNKNOWN."""
    if found.problems:
        return Verdict.ERROR, None
    if claim in found.violations:
        return Verdict.VIOLATED, None
    states = found.states + found.extra_states(claim)
    if not found.complete or claim in found.left_out or claim in found.undecided:
        return Verdict.UNKNOWN, states
    if found.budget is not None:
        return Verdict.HOLDS_TO, found.budget
    return Verdict.EXHAUSTED, states


def _detail(plan: Plan, found: Coverage, claim: str) -> str:
    if found.problems:
        return "; ".join(found.problems)
    trace = found.violations.get(claim)
    name = found.search.profile.name
    size = f"{name}: {found.describes}" if found.describes else name
    extra = found.extra_states(claim)
    more = f", and {extra:,} from other first values" if extra else ""
    told = (
        length(plan.protocol, trace) if trace else "",
        size,
        found.covered + more,
        found.left_out.get(claim, ""),
        found.undecided.get(claim, ""),
    )
    detail = "; ".join(filter(None, told))
    return _lively(plan, claim, detail) if found.search.liveness else detail


def _lively(plan: Plan, name: str, detail: str) -> str:
    """Say what should happen in the end, and by whose fairness."""
    live = next(live for live in plan.liveness if live.name == name)
    verb = "is" if len(live.fair) == 1 else "are"
    fair = f"if {listed(fair_steps(live))} {verb} taken fairly" if live.fair else "though nobody has to act"
    return f"{live.sentence} ({fair}; {detail})"


def _order(task: Task, found: Coverage) -> tuple[int, ...]:
    """By variant, a directed search and those for liveness last, by threat model."""
    variants = [plan.protocol.variant for plan in task.plans]
    threats = [threat.id for plan in task.plans for threat in plan.threats]
    search = found.search
    last = int(search.directed) + 2 * bool(search.liveness)
    return (variants.index(search.variant), last, threats.index(search.threat))
