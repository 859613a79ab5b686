"""The orchestrator's states, and what can happen to it: the rows and the columns of its table of transitions.

States are named by what they await: values that hold the job and what was established on the way. Inputs are what
happens once frames are opened. What each state does about each input is the table in module `orchestrator`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from carnet_ref.systems.gpu_travelling.roles.attestation import Requester
from carnet_ref.systems.gpu_travelling.roles.facts import BufferScrubbed, ContextsFenced, KeyRotated, MemoryVerified
from carnet_ref.systems.gpu_travelling.roles.job import Job
from carnet_ref.systems.gpu_travelling.roles.messages import Decline, Return
from carnet_ref.transport.frames import RoleEffect


@dataclass(frozen=True, slots=True)
class Input:
    """One thing that happens; ``noun`` says what."""

    noun: ClassVar[str] = ""

    @property
    def left_aside(self) -> str:
        """What is remarked where it means nothing."""
        return f"ignored: {self.noun}"


@dataclass(frozen=True, slots=True)
class SessionMessage(Input):
    """A message of the session came, of the attempt that is under way."""

    noun = "a session message"
    body: bytes


@dataclass(frozen=True, slots=True)
class Reported(Input):
    """A report of the firmware came, still sealed."""

    noun = "a report of the firmware"
    sealed: bytes


@dataclass(frozen=True, slots=True)
class LinkMessage(Input):
    """A message from a copy engine came, still sealed."""

    noun = "a message from a copy engine"
    sealed: bytes


@dataclass(frozen=True, slots=True)
class ReportOutside(Input):
    """Somebody showed a GPU's report that did not come through the session."""

    noun = "a report from outside the session"
    body: bytes


@dataclass(frozen=True, slots=True)
class Semaphore(Input):
    """A plain word said that something is done; it proves nothing."""

    noun = "a plain semaphore"
    name: str


@dataclass(frozen=True, slots=True)
class Admitted(Input):
    """A holder proved its enrolment key in its channel."""

    noun = "a holder that was admitted"
    holder: str


@dataclass(frozen=True, slots=True)
class Returned(Input):
    """A holder says that it gives the GPU back."""

    noun = "a return"
    holder: str
    given: Return

    @property
    def left_aside(self) -> str:
        """It is late, or a lie."""
        return f"{self.holder} returned what it does not have"


@dataclass(frozen=True, slots=True)
class Declined(Input):
    """A holder does not take a grant."""

    noun = "the refusal of a grant"
    holder: str
    said: Decline

    @property
    def left_aside(self) -> str:
        """It is late, or a lie."""
        return f"{self.holder} declined what it does not have"


@dataclass(frozen=True, slots=True)
class TimePassed(Input):
    """The clock was read; the job says what it showed."""

    noun = "a tick of the clock"


@dataclass(frozen=True, slots=True)
class OwnTurn(Input):
    """The orchestrator goes on by itself, as it asked to."""

    noun = "its own turn"


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
