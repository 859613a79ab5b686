"""What drives a session's state machines, and what they ask for: neither end does any input or output itself."""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.keys.h100 import OneTimeSecret
from carnet_ref.spdm.chain import Chain
from carnet_ref.spdm.session import DeviceReport, GpuSession, SessionReport


@dataclass(frozen=True, slots=True)
class Begin:
    """Open a session."""


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came from the peer: one message."""

    data: bytes


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Open a session with the device whose certificates were checked."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Ask for a report on a nonce of 32 bytes, inside the session or, where there is none yet, outside of it."""

    nonce: bytes


@dataclass(frozen=True, slots=True)
class SendApplication:
    """Send bytes of the application's own inside the session."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Beat:
    """Tell the peer that this end is alive."""


@dataclass(frozen=True, slots=True)
class UpdateKeys:
    """Move both directions, or the requester's alone, to the keys that follow; no fresh entropy enters."""

    both: bool = True


@dataclass(frozen=True, slots=True)
class End:
    """End the session."""


SessionEvent = Begin | OpenSession | Received | Measure | SendApplication | Beat | UpdateKeys | End


@dataclass(frozen=True, slots=True)
class Send:
    """Send one message to the peer, after a while if the peer asked for one."""

    data: bytes
    after: int = 0
    """Microseconds."""


@dataclass(frozen=True, slots=True)
class Identified:
    """The device's certificates are trusted; if it was challenged, it has their key now."""

    responder: Chain
    challenged: bool
    summary: bytes = b""
    """What the device says of its measurements, if it was asked in the challenge."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The session is open; its secret can be exported once."""

    session: GpuSession
    secret: OneTimeSecret


@dataclass(frozen=True, slots=True)
class Measured:
    """The report that was asked for came inside the session."""

    report: SessionReport


@dataclass(frozen=True, slots=True)
class MeasuredOutside:
    """The report that was asked for came outside a session; its signature was checked."""

    report: DeviceReport


@dataclass(frozen=True, slots=True)
class ApplicationData:
    """Bytes of the application's own came inside the session."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class KeysUpdated:
    """The directions that were to be updated use the keys that followed."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The session is over: as agreed, or because of an error."""

    error: Exception | None


SessionEffect = Send | Identified | Opened | Measured | MeasuredOutside | ApplicationData | KeysUpdated | Closed
