"""Engines that take random walks through small instances, where others of the same name visit every state.

A subclass says how the walks through one instance are taken. No answer is kept or believed, no part of the work shared
out, and no liveness judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.exploration import Caps, Coverage, Search
from carnet_check.engines.exploring.searching import Searcher
from carnet_check.engines.interface import Outcome, Plan, Task
from carnet_check.engines.walks import Walked, Walks
from carnet_check.results import Verdict
from carnet_check.wording.sentences import listed
from carnet_command.text import counted
from carnet_spec.language import Profile


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
