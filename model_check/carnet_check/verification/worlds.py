"""Whether there is any world that a proof speaks of: one in which the axioms hold, with those of a threat model."""

from __future__ import annotations

from collections.abc import Callable

from carnet_check.engines.interface import DecidesPossibility, Possibilities, Unsure
from carnet_check.engines.registry import able
from carnet_check.loading.families import NO_THREAT
from carnet_check.loading.meanings import has_model
from carnet_check.verification.evidence import Evidence
from carnet_check.verification.planning import Campaign
from carnet_spec.language import Goal, Protocol, Threat
from carnet_spec.language.terms import TRUE

NO_MODEL = "no small structure was found in which what is assumed under {} holds, so the proof may be about nothing: {}"
"""Why a proof is no verdict if nobody knows of a world."""
ASK = "ask a solver, as `--engine {}` does"
NO_ANSWER = "the solver does not answer whether there is any"
ANYTHING = Goal("anything", (), TRUE, "")


class Worlds:
    """The worlds of one protocol; ``asked`` tells what may happen under a threat model, or under none."""

    def __init__(
        self,
        campaign: Campaign,
        protocol: Protocol,
        evidence: Evidence,
        asked: Callable[[Threat | None], Possibilities],
    ) -> None:
        self._campaign = campaign
        self._protocol = protocol
        self._evidence = evidence
        self._possibilities = asked
        self._asked: dict[str, tuple[bool, Possibilities]] = {}

    def are_none(self, threat: Threat) -> bool:
        """Whether the axioms contradict one another; what was explored is a world."""
        return not self._was_explored(threat) and not self._may_be(threat)[0]

    def are_unknown(self, threat: Threat) -> str:
        """Say why nobody knows of a world, if nobody does: no solver says that there is one, and none was found."""
        if self._was_explored(threat):
            return ""
        _, asked = self._may_be(threat)
        source, profile = self._campaign.request.source, self._campaign.profile
        if asked.answered(ANYTHING) or has_model(source, self._protocol, threat, profile):
            return ""
        able_to_tell = able(DecidesPossibility).name
        return NO_MODEL.format(threat.id, ASK.format(able_to_tell) if isinstance(asked, Unsure) else NO_ANSWER)

    def _may_be(self, threat: Threat) -> tuple[bool, Possibilities]:
        """Return whether there may be a world, and who says so."""
        if threat.id not in self._asked:
            asked = self._possibilities(None if threat == NO_THREAT else threat)
            self._asked[threat.id] = asked.may(ANYTHING, None), asked
        return self._asked[threat.id]

    def _was_explored(self, threat: Threat) -> bool:
        return any(found.states for found in self._evidence.broad if found.search.threat == threat.id)
