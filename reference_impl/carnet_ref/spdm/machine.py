"""What the states of both ends share: how an event is handled, how messages are read, and how a session fails.

A state is a value. It is named by what it awaits, and handling an event returns the next state and what to do; the
state that handled it is as it was. What the peer sends ends the session with a typed error or is what was awaited.
A call that does not fit the state raises, and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

from carnet_ref.crypto.primitives import CryptoError, Random
from carnet_ref.spdm.errors import (
    PeerError,
    PskRefusedError,
    SessionOverError,
    SpdmError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.events import ApplicationData, Closed, Received, Send, SendApplication, SessionEffect, SessionEvent
from carnet_ref.spdm.messages import (
    Error,
    Layout,
    Message,
    PskExchange,
    PskExchangeRsp,
    PskFinish,
    PskFinishRsp,
    parse_message,
)
from carnet_ref.spdm.records import SECURED, SPDM, VENDOR, RecordKeys, SecuredRecord
from carnet_ref.wire.reader import MalformedError

REFUSALS: Final = (SpdmError, MalformedError, CryptoError)
"""Every error that a peer can cause."""
_PSK: Final = (PskExchange, PskExchangeRsp, PskFinish, PskFinishRsp)

_Expected = TypeVar("_Expected", bound=Message)
SessionStep = tuple["SessionState", tuple[SessionEffect, ...]]


@dataclass(frozen=True, slots=True)
class SessionState:
    """One state of an end of a session."""

    awaits: ClassVar[str]

    def handle(self, event: SessionEvent) -> SessionStep:
        """Return the next state, and what to do.

        Raises:
            SpdmError: the event is a call that does not fit this state.
        """
        if not isinstance(event, Received):
            return self.call(event)
        try:
            return self.receive(event.data)
        except REFUSALS as error:
            return Ended(), (*self.refusal(error), Closed(error))

    def call(self, event: SessionEvent) -> SessionStep:
        """Do what this end's owner asks for."""
        raise UnexpectedMessageError(self.awaits, type(event).__name__)

    def receive(self, data: bytes) -> SessionStep:
        """Take a message of the peer."""
        raise NotImplementedError

    def refusal(self, error: Exception) -> tuple[SessionEffect, ...]:
        """Return what to tell the peer about an error: nothing, unless a state says otherwise."""
        del error
        return ()


@dataclass(frozen=True, slots=True)
class Ended(SessionState):
    """The session is over, for good."""

    awaits: ClassVar[str] = "nothing: the session is over"

    def handle(self, event: SessionEvent) -> SessionStep:
        """Refuse everything."""
        raise SessionOverError(f"{type(event).__name__} in a session that is over")


def plain(message: Message) -> Send:
    """Return a message as it goes outside a session."""
    return Send(bytes([SPDM]) + message.encode())


def read_plain(data: bytes, layout: Layout, awaited: str) -> Message:
    """Return the message that came outside a session.

    Raises:
        MalformedError: it is none.
        UnexpectedMessageError: it belongs inside a session.
    """
    if data[:1] == bytes([SECURED]):
        raise UnexpectedMessageError(awaited, "a secured record")
    if data[:1] != bytes([SPDM]):
        raise MalformedError("message", f"type {SPDM:#04x}", data[:1].hex() or "nothing", 0)
    return parse_message(data[1:], layout)


def expect(kind: type[_Expected], message: Message) -> _Expected:
    """Return the message if it is of the kind that was awaited.

    Raises:
        PeerError: it is an ERROR.
        PskRefusedError: it belongs to a session by pre-shared key.
        UnexpectedMessageError: it is another.
    """
    if isinstance(message, kind):
        return message
    if isinstance(message, Error):
        raise PeerError(message.code, message.data)
    if isinstance(message, _PSK):
        raise PskRefusedError(f"{type(message).__name__} came, and no session is opened by pre-shared key")
    raise UnexpectedMessageError(kind.__name__, type(message).__name__)


@dataclass(frozen=True, slots=True)
class Secured(SessionState):
    """A state inside a session: both directions of records, and what every such state does alike."""

    layout: Layout
    sending: RecordKeys
    receiving: RecordKeys
    random: Random

    def receive(self, data: bytes) -> SessionStep:
        """Open the record that has to come next; the application's own messages are passed on."""
        if data[:1] != bytes([SECURED]):
            raise UnexpectedMessageError("a secured record", "a message outside the session")
        receiving, kind, payload = self.receiving.open(SecuredRecord.parse(data))
        opened = replace(self, receiving=receiving)
        if kind == VENDOR and opened.carries_applications:
            return opened, (ApplicationData(payload),)
        if kind != SPDM:
            raise UnexpectedMessageError(self.awaits, f"a message of type {kind:#04x}")
        return opened.message(parse_message(payload, self.layout), payload)

    def call(self, event: SessionEvent) -> SessionStep:
        """Send bytes of the application's own."""
        if isinstance(event, SendApplication) and self.carries_applications:
            return self.sealed(VENDOR, event.payload)
        raise UnexpectedMessageError(self.awaits, type(event).__name__)

    @property
    def carries_applications(self) -> bool:
        """Whether the application may send and receive in this state."""
        return True

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Take an SPDM message that came inside the session, with its bytes."""
        raise NotImplementedError

    def sealed(self, kind: int, payload: bytes) -> SessionStep:
        """Return this state after sending, and the record to send."""
        sending, record = self.sending.seal(kind, payload, self.padding())
        return replace(self, sending=sending), (Send(record),)

    def padding(self) -> bytes:
        """Return random padding of random length, which hides lengths a little.

        Source: DMTF DSP0277 1.2.0: "RandomData".
        """
        return self.random(self.random(1)[0] % 16 + 1)


def becoming(kind: type[Any], state: Secured, **fields: object) -> Any:
    """Return a state of another kind inside the same session."""
    shared = {name: getattr(state, name) for name in ("layout", "sending", "receiving", "random")}
    return kind(**shared, **fields)
