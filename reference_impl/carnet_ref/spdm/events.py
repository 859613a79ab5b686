"""What drives a session's state machines, and what they ask for: neither end does any input or output itself."""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.keys.h100 import OneTimeSecret
from carnet_ref.spdm.session import GpuSession, SessionReport


@dataclass(frozen=True, slots=True)
class Begin:
    """Open a session."""


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came from the peer: one message."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Measure:
    """Ask, inside the session, for a report on a nonce of 32 bytes."""

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
    """Move both directions to the keys that follow; no fresh entropy enters."""


@dataclass(frozen=True, slots=True)
class End:
    """End the session."""


SessionEvent = Begin | Received | Measure | SendApplication | Beat | UpdateKeys | End


@dataclass(frozen=True, slots=True)
class Send:
    """Send one message to the peer."""

    data: bytes


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
class ApplicationData:
    """Bytes of the application's own came inside the session."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class KeysUpdated:
    """Both directions use the keys that followed."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The session is over: as agreed, or because of an error."""

    error: Exception | None


SessionEffect = Send | Opened | Measured | ApplicationData | KeysUpdated | Closed
