"""The orchestrator's states, named by what they await: values that hold the job and what was established on the way.

What each state does about each input is the table in module `procedures`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from carnet_ref.systems.gpu_travelling.roles.facts import BufferScrubbed, ContextsFenced, KeyRotated, MemoryVerified
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.ports import Requester
from carnet_ref.transport.frames import RoleEffect

_CAPITAL: Final = re.compile("[A-Z]")


@dataclass(frozen=True, slots=True)
class OrchestratorState:
    """One state of the orchestrator."""

    job: Job

    def __str__(self) -> str:
        return _CAPITAL.sub(lambda found: " " + found[0].lower(), type(self).__name__).strip()


Transition = tuple[OrchestratorState, list[RoleEffect]]
"""The next state, and what is to be done on the way to it."""


@dataclass(frozen=True, slots=True)
class AwaitsSession(OrchestratorState):
    """Key exchange and handshake are under way; ``noted`` says that the session has a name, which is recorded."""

    session: Requester
    noted: bool = False


@dataclass(frozen=True, slots=True)
class AwaitsReport(OrchestratorState):
    """The GPU's report on ``nonce`` is asked for, inside the session."""

    nonce: bytes


@dataclass(frozen=True, slots=True)
class AwaitsHolder(OrchestratorState):
    """The next holder has not proved who it is yet."""

    clean: BufferScrubbed


@dataclass(frozen=True, slots=True)
class AwaitsRotationOut(OrchestratorState):
    """The key of the next holder's epoch is ordered."""


@dataclass(frozen=True, slots=True)
class AwaitsReturn(OrchestratorState):
    """The GPU is away; ``whole`` says that in a new session there is no more of the key to lend than was lent now."""

    whole: bool


@dataclass(frozen=True, slots=True)
class Back(OrchestratorState):
    """The GPU is back; what is done about it begins with the next turn."""


@dataclass(frozen=True, slots=True)
class Established:
    """The facts that were established since the GPU is back."""

    rotated: KeyRotated | None = None
    fenced: ContextsFenced | None = None
    verified: MemoryVerified | None = None


HomeStep = Callable[[Job, tuple[Any, ...], Established], Transition]
"""A step on the way home, which awaits an answer or goes on to the steps left, which it is given."""


@dataclass(frozen=True, slots=True)
class AwaitsAnswer(OrchestratorState):
    """The answer to a ``step`` is awaited, with others ``left`` after it."""

    step: HomeStep
    left: tuple[HomeStep, ...]
    so_far: Established


@dataclass(frozen=True, slots=True)
class AwaitsRotationIn(AwaitsAnswer):
    """A key of the orchestrator's own is ordered."""


@dataclass(frozen=True, slots=True)
class AwaitsFence(AwaitsAnswer):
    """Resident contexts are to be stopped."""


@dataclass(frozen=True, slots=True)
class AwaitsReadBack(AwaitsAnswer):
    """Code, model and receive counter are to be read back."""


@dataclass(frozen=True, slots=True)
class AwaitsTraining(OrchestratorState):
    """Training is under way, on what these facts are about; ``loss`` is what it logged, once that came home."""

    so_far: Established
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class AwaitsModel(OrchestratorState):
    """The model is ordered home; ``model`` is what came, once it did."""

    model: bytes | None = None


@dataclass(frozen=True, slots=True)
class AwaitsScrub(OrchestratorState):
    """Buffer and workspace are to be cleared."""


@dataclass(frozen=True, slots=True)
class Finished(OrchestratorState):
    """Every round is trained, or the job is given up."""


@dataclass(frozen=True, slots=True)
class Stopped(OrchestratorState):
    """Nothing is awaited any more: too many sessions failed, or none was begun."""
