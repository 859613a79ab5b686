"""What the explorations of one variant saw, all engines and threat models together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from carnet_check.engines.exploration import Coverage
from carnet_check.engines.interface import LivenessAnswer, Outcome


@dataclass(frozen=True)
class Evidence:
    """The searches of one variant; ``engine`` is the first engine that explored it, none if nobody did.

    ``liveness`` is what each engine that proves such things could prove of each liveness property.
    """

    engine: str = ""
    searches: tuple[Coverage, ...] = ()
    liveness: Mapping[tuple[str, str], LivenessAnswer] = field(default_factory=dict)

    @staticmethod
    def of(variant: str, answers: Sequence[Outcome]) -> Evidence:
        """Collect what was seen of a variant; from random walks nothing follows about what they did not see."""
        found = [(answer.engine, each) for answer in answers for each in answer.searches]
        found = [(by, each) for by, each in found if not each.search.alone and each.walked is None]
        mine = [(by, each) for by, each in found if each.search.variant == variant]
        lively = {
            (answer.engine, name): said
            for answer in answers
            for (about, name), said in answer.liveness.items()
            if about == variant
        }
        return Evidence(mine[0][0] if mine else "", tuple(each for _, each in mine), lively)

    @property
    def broad(self) -> tuple[Coverage, ...]:
        """The searches for claims that were neither directed at goals nor for claims that fall elsewhere."""
        searches = ((found, found.search) for found in self.searches)
        return tuple(found for found, search in searches if not (search.directed or search.sought or search.liveness))

    @property
    def exhaustive(self) -> bool:
        """Whether every reachable state of the instances was seen under every threat model asked for."""
        return all(found.exhaustive for found in self.broad)

    def fired(self, action: str) -> bool:
        """Whether some search took the step."""
        return any(found.fired.get(action, 0) for found in self.searches)

    def took(self, threat: str, action: str) -> bool:
        """Whether some search of every claim took the step under a threat model."""
        return any(found.fired.get(action, 0) for found in self.broad if found.search.threat == threat)

    def taken(self, threat: str) -> frozenset[str]:
        """Return the actions that were taken under a threat model."""
        searches = (found for found in self.searches if found.search.threat == threat)
        return frozenset(name for found in searches for name, count in found.fired.items() if count)

    def reached(self, goal: str) -> Coverage | None:
        """Return the search that reached the goal in the fewest steps."""
        with_goal = [found for found in self.searches if goal in found.goals]
        return min(with_goal, key=lambda f: (len(f.goals[goal].steps), f.search.threat), default=None)

    def decides(self, live: str) -> bool:
        """Whether some search decided about a liveness property, or looked whether anything waits for it."""
        return any(live in (*found.search.liveness, *found.search.triggers) for found in self.searches)

    def tried(self, goal: str) -> tuple[Coverage, ...]:
        """Return the searches that looked for the goal."""
        return tuple(found for found in self.searches if goal in found.search.goals)
