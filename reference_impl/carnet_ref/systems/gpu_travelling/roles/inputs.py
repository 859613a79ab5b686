"""What can happen to the orchestrator, once frames are opened: the columns of its table of transitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from carnet_ref.systems.gpu_travelling.roles.channel_messages import Decline, Return


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
