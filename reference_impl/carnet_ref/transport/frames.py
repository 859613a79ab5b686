"""What roles exchange: frames, which the platform carries, and the events and effects of a state machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from carnet_spec.trace import TraceCheck, TraceStep

PLATFORM = "platform"


class FrameKind(Enum):
    """Which path a frame takes, as far as the platform can tell."""

    SESSION = 1
    """Between the device and its owner: the session's set-up, and what is sealed in it."""
    H2D = 2
    """Through a copy engine, to the device: engine, claimed counter, ciphertext."""
    D2H = 3
    """From a copy engine: ciphertext."""
    CHANNEL = 4
    """Between two hosts."""
    ROUTE = 5
    """To the platform: whom to route the device to."""
    RESET = 6
    """To the platform, and from it to the device: reset, into the mode named."""
    SEMAPHORE = 7
    """A plain host-visible word that says something is done; anyone on the bus can write it."""
    HOST_MEMORY = 8
    """What code on the device wrote to unprotected host memory."""
    FAULT = 9
    """The device is unusable until a reset; visible to everybody, authenticated by nobody."""
    REPORT = 10
    """A device's report and chain, shown outside any session."""
    WORK = 11
    """To the device: work, authenticated with the session's launch key and not encrypted."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message on its way; ``clock`` is the sender's logical clock."""

    source: str
    target: str
    kind: FrameKind
    body: bytes
    clock: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed; ``now`` is in seconds of a clock that never goes back."""

    now: float


@dataclass(frozen=True, slots=True)
class Proceed:
    """The role asked to go on without waiting for anybody; as an effect: the request."""


RoleEvent = Frame | Tick | Proceed


@dataclass(frozen=True, slots=True)
class Send:
    """Put a frame on the wire."""

    target: str
    kind: FrameKind
    body: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """Record a step in the words of the specification, after the checks made for it.

    ``sent`` are digests of the messages that it sends, for a party that says that they came from here. ``at`` has the
    instants that the step reads or sets, by the names that the specification's timed layer has for them.
    """

    step: TraceStep
    checks: tuple[TraceCheck, ...] = ()
    sent: tuple[str, ...] = ()
    at: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """Record checks that no step was made of: they failed, or nothing was to be done."""

    checks: tuple[TraceCheck, ...]


@dataclass(frozen=True, slots=True)
class Persist:
    """Write to the journal, durably, before any later effect."""

    kind: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Remark:
    """Tell the user what happened, in one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The role is done; ``failure`` says why it gave up, if it did."""

    failure: str = ""


RoleEffect = Send | Note | Checked | Persist | Remark | Ended | Proceed


class ProtocolError(Exception):
    """A peer did not do what the protocol says; the party that sees it stops."""
