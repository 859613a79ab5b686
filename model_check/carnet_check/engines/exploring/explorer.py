"""Engines that visit every state of small instances.

A subclass says how one instance is explored; everything else that makes an engine of it is here and in
:mod:`carnet_check.engines.exploring.searching`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from carnet_check.cache import Answers
from carnet_check.engines.exploration import NO_CAPS, Caps, Coverage, Search, Walked, Walks
from carnet_check.engines.exploring import searching
from carnet_check.engines.exploring.searches import DIRECTED_CAPS, alike, caps_of, within
from carnet_check.engines.exploring.searching import Searcher
from carnet_check.engines.interface import Begins, DecidesLiveness, Outcome, Plan, Shares, Task
from carnet_check.engines.runner import Listener, Portion, Shard
from carnet_check.results import Verdict
from carnet_check.wording import listed
from carnet_command.text import counted
from carnet_spec.language import Profile


@dataclass(frozen=True)
class Explorer(Searcher, Begins, Shares):
    """An engine that visits every state of small instances.

    ``most_states`` is where each exploration stops; by default the profile says so. What has ``begun`` already is not
    done again.
    """

    verdicts: ClassVar = (Verdict.EXHAUSTED, Verdict.HOLDS_TO)
    most_states: int | None = None
    has_begun: searching.Begun | None = field(default=None, repr=False, compare=False)

    def limited(self, most: int) -> Self:
        """Return the engine with explorations that stop after ``most`` states."""
        return replace(self, most_states=most)

    def expected(self, profile: Profile) -> Verdict:
        """Return EXHAUSTED, or HOLDS-TO where the profile limits the adversary."""
        return Verdict.EXHAUSTED if profile.budget is None else Verdict.HOLDS_TO

    def intention(self, task: Task) -> str:
        """Name the profile, its instances and what the adversary may do in them."""
        return f"every state of profile {task.profile.name}: {self.instances_in_words(task)}"

    def budget(self, profile: Profile) -> str:
        """Say how many states an exploration may have."""
        states = self._limited(caps_of(profile.name, 1, NO_CAPS)).states
        return "no cap on states" if states is None else f"{states:,} states to an exploration"

    @contextmanager
    def begun(self, task: Task) -> Iterator[Self]:
        """Return the same engine, whose searches run in processes already."""
        with searching.Begun(self, self._announced(task), task.jobs, self._known_before(task)) as begun:
            yield replace(self, has_begun=begun)

    def searched(
        self,
        searches: Sequence[Search],
        jobs: int,
        progress: searching.OnProgress,
        before: Answers | None = None,
    ) -> Iterator[tuple[Search, Coverage]]:
        """Yield what each search covered as it ends, those that have begun among them if they are what is asked."""
        begun = self.has_begun
        if begun is not None and list(map(_asked_for, begun.tasks)) == list(map(_asked_for, searches)):
            return searching.results(begun, progress, before)
        if begun is not None:
            begun.end()
        return searching.run_all(replace(self, has_begun=None), searches, jobs, progress, before)

    def share(self, task: Task, shard: Shard, listener: Listener) -> Portion:
        """Run the searches that fall to ``shard``, and those in larger instances that follow from them."""
        before = self._known_before(task)
        every = self._announced(task)
        found, sought = self._found(task, shard.share(every), listener, before)
        named = {_named(each.search): each for each in found}
        open_ = {name: each.covered for name, each in named.items() if not (each.complete or each.problems)}
        problems = tuple(problem for each in (*found, *sought) for problem in each.problems)
        notes = before.used.notes if before else ()
        return Portion(self.name, "exploration", len(found), len(every), open_, problems, notes)

    def _known_before(self, task: Task) -> Answers | None:
        return task.runner.answers(self.name)

    def _every(self, task: Task) -> list[Search]:
        searches = [search for plan in task.plans for search in self._searches(task, plan)]
        if isinstance(self, DecidesLiveness):
            searches += [search for plan in task.plans for search in self._lively(task, plan)]
        return sorted(searches, key=lambda search: not search.directed)

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

    def _limited(self, caps: Caps) -> Caps:
        return caps if self.most_states is None else replace(caps, states=self.most_states)


def _asked_for(search: Search) -> Search:
    """Return what a search is asked; how much memory was free when it was planned is no part of that."""
    return replace(search, caps=replace(search.caps, memory=None))


def _named(search: Search) -> str:
    """Name a search among those of a task."""
    what = f" · {', '.join(search.liveness)}" if search.liveness else ""
    return f"{search.variant} · {search.threat} · {search.profile.name}{what}"


# --------------------------------------------------------------------------------------------------
# Engines that take random walks through small instances, where others of the same name visit every state.
#
# A subclass says how the walks through one instance are taken. No answer is kept or believed, no part of the work
# shared out, and no liveness judged.


@dataclass(frozen=True)
class Walker(Searcher):
    """An engine that takes random walks.

    All of them are taken in each instance, whatever falls, and nothing is left out of a state: so which walks these are
    depends on the protocol, the instance, the seed and the depth alone.
    """

    verdicts: ClassVar = (Verdict.SAMPLED,)
    walks: Walks

    def limited(self, most: int) -> Self:
        """Return the engine for ``most`` walks at most."""
        return replace(self, walks=replace(self.walks, number=min(most, self.walks.number)))

    def expected(self, profile: Profile) -> Verdict:
        """Return SAMPLED, also where the profile limits the adversary."""
        return Verdict.SAMPLED

    def intention(self, task: Task) -> str:
        """Name the walks, the profile, its instances and what the adversary may do in them."""
        where = f"profile {task.profile.name}: {self.instances_in_words(task)}"
        return f"{self.walks.described}, seed {self.walks.seed}, in {where}"

    def strength(self, task: Task, outcome: Outcome) -> tuple[str, ...]:
        """Name the instances, what they fix, and how many walks went through each."""
        where, *fixes = super().strength(task, outcome)
        return (f"{where}, {self.walks.described} in each", *fixes)

    def budget(self, profile: Profile) -> str:
        """Say how many walks are taken, and how long they are."""
        return f"{self.walks.described} to an instance"

    def _every(self, task: Task) -> list[Search]:
        return [search for plan in task.plans for search in self._searches(task, plan)]

    def _searches(self, task: Task, plan: Plan) -> Iterator[Search]:
        """Yield a search for each threat model."""
        near = tuple(goal.name for goal in plan.protocol.goals if task.source.family.is_within(goal, task.profile))
        for threat in plan.threats:
            if task.every_claim or plan.claims(threat):
                yield replace(self._whole(task, plan), threat=threat.id, claims=plan.claims(threat), goals=near)

    def _limited(self, caps: Caps) -> Caps:
        """Return caps without one on states: how many steps are taken is said by the walks."""
        return replace(caps, states=None)

    def _remarks(self, task: Task, found: Sequence[Coverage]) -> Iterator[str]:
        yield from map(_left_open, found)
        for plan in task.plans:
            if plan.stated:
                told = f"random walks judge no liveness, so they say nothing of {listed(plan.stated)}"
                yield f"{plan.protocol.variant}: {told}"


def _left_open(found: Coverage) -> str:
    """Say how much walks saw of what may happen, and name the goals and actions that they missed."""
    missed = [name for name in found.search.goals if name not in found.goals]
    walked = found.walked or Walked()
    guards = [seen for _, _, seen in walked.guards if not seen.decided]
    held, failed = (sum(getattr(seen, how) for seen in guards) for how in ("held", "failed"))
    told = (
        f"{found.search.variant} · {found.search.threat}: {found.covered}",
        f"goals not reached: {', '.join(missed) or 'none'}",
        f"never taken: {', '.join(walked.idle) or 'none'}",
        f"of {counted(len(guards), 'guard')} {held} seen to hold and {failed} to fail",
    )
    return "; ".join(told)
