"""What a solver says of one obligation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SolverOutcome(StrEnum):
    """What the solver said of one obligation. Only ``proved`` is a proof; ``unknown`` never is."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """What came of one question.

    Attributes:
        core: names of the hypotheses that the proof used; empty unless proved.
        attempt: which attempt decided, from 0; -1 where no solver was needed.
        reason: why the outcome is unknown.
    """

    id: str
    outcome: SolverOutcome
    core: tuple[str, ...] = ()
    seconds: float = 0.0
    attempt: int = -1
    reason: str = ""
