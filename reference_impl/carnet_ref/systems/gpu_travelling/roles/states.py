"""The orchestrator's states and inputs, the rows and columns of its table of transitions.

States are named by what they await: values that hold the job and what was established on the way. Inputs are what
happens once frames are opened. What each state does about each input is the table in module `orchestrator`.
"""

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
    """One kind of input; ``noun`` names it."""

    noun: ClassVar[str] = ""

    @property
    def left_aside(self) -> str:
        """The remark if the input has no effect."""
        return f"ignored: {self.noun}"


@dataclass(frozen=True, slots=True)
class SessionMessage(Input):
    """Input: a message of the session's current attempt."""

    noun = "a session message"
    body: bytes


@dataclass(frozen=True, slots=True)
class Reported(Input):
    """Input: a sealed report of the firmware."""

    noun = "a report of the firmware"
    sealed: bytes


@dataclass(frozen=True, slots=True)
class LinkMessage(Input):
    """Input: a sealed message from a copy engine."""

    noun = "a message from a copy engine"
    sealed: bytes


@dataclass(frozen=True, slots=True)
class ReportOutside(Input):
    """Input: a GPU's report that did not come through the session."""

    noun = "a report from outside the session"
    body: bytes


@dataclass(frozen=True, slots=True)
class Semaphore(Input):
    """Input: an unauthenticated message that something is done; it proves nothing."""

    noun = "a plain semaphore"
    name: str


@dataclass(frozen=True, slots=True)
class Admitted(Input):
    """Input: a holder proved its enrolment key in its channel."""

    noun = "a holder that was admitted"
    holder: str


@dataclass(frozen=True, slots=True)
class Returned(Input):
    """Input: a holder returns the GPU."""

    noun = "a return"
    holder: str
    given: Return

    @property
    def left_aside(self) -> str:
        """The remark for a late or false return."""
        return f"{self.holder} returned what it does not have"


@dataclass(frozen=True, slots=True)
class Declined(Input):
    """Input: a holder declines a grant."""

    noun = "the refusal of a grant"
    holder: str
    said: Decline

    @property
    def left_aside(self) -> str:
        """The remark for a late or false refusal."""
        return f"{self.holder} declined what it does not have"


@dataclass(frozen=True, slots=True)
class TimePassed(Input):
    """Input: the clock was read; the time is in the job."""

    noun = "a tick of the clock"


@dataclass(frozen=True, slots=True)
class OwnTurn(Input):
    """Input: the orchestrator continues by itself, as it requested."""

    noun = "its own turn"


_CAPITAL: Final = re.compile("[A-Z]")


@dataclass(frozen=True, slots=True)
class OrchestratorState:
    """Base class of the orchestrator's states."""

    job: Job

    def __str__(self) -> str:
        return _CAPITAL.sub(lambda found: " " + found[0].lower(), type(self).__name__).strip()


Transition = tuple[OrchestratorState, list[RoleEffect]]  #: The next state, and what is to be done on the way to it.


@dataclass(frozen=True, slots=True)
class AwaitsSession(OrchestratorState):
    """State: key exchange and handshake are under way; ``noted`` says that the session's name was recorded."""

    session: Requester
    noted: bool = False


@dataclass(frozen=True, slots=True)
class AwaitsReport(OrchestratorState):
    """State: the GPU's report on ``nonce`` was requested inside the session."""

    nonce: bytes


@dataclass(frozen=True, slots=True)
class AwaitsHolder(OrchestratorState):
    """State: the next holder has not authenticated yet."""

    clean: BufferScrubbed


@dataclass(frozen=True, slots=True)
class AwaitsRotationOut(OrchestratorState):
    """State: the key of the next holder's epoch was ordered."""


@dataclass(frozen=True, slots=True)
class AwaitsReturn(OrchestratorState):
    """State: a holder has the GPU; ``whole`` says that a new session would have no larger key budget."""

    whole: bool


@dataclass(frozen=True, slots=True)
class Back(OrchestratorState):
    """State: the GPU is back; the steps at home begin with the next input."""


@dataclass(frozen=True, slots=True)
class Established:
    """The facts established since the return of the GPU."""

    rotated: KeyRotated | None = None
    fenced: ContextsFenced | None = None
    verified: MemoryVerified | None = None


#: A step on the way home, which awaits an answer or goes on to the steps left, which it is given.
HomeStep = Callable[[Job, tuple[Any, ...], Established], Transition]


@dataclass(frozen=True, slots=True)
class AwaitsAnswer(OrchestratorState):
    """State: the answer to ``step`` is awaited; the steps ``left`` follow."""

    step: HomeStep
    left: tuple[HomeStep, ...]
    so_far: Established


@dataclass(frozen=True, slots=True)
class AwaitsRotationIn(AwaitsAnswer):
    """State: a key of the orchestrator's was ordered."""


@dataclass(frozen=True, slots=True)
class AwaitsFence(AwaitsAnswer):
    """State: the fence of resident contexts was ordered."""


@dataclass(frozen=True, slots=True)
class AwaitsReadBack(AwaitsAnswer):
    """State: the read-back of code, model and receive counter was ordered."""


@dataclass(frozen=True, slots=True)
class AwaitsTraining(OrchestratorState):
    """State: training was ordered; ``loss`` is the logged loss, once it arrived."""

    so_far: Established
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class AwaitsModel(OrchestratorState):
    """State: the model was ordered home; ``model`` is what arrived."""

    model: bytes | None = None


@dataclass(frozen=True, slots=True)
class AwaitsScrub(OrchestratorState):
    """State: the scrub of buffer and workspace was ordered."""


@dataclass(frozen=True, slots=True)
class Finished(OrchestratorState):
    """State: every round is trained, or the job was given up."""


@dataclass(frozen=True, slots=True)
class Stopped(OrchestratorState):
    """State: nothing is awaited: too many sessions failed, or none was opened."""
