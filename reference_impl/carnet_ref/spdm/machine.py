"""What drives both ends' state machines, what these ask for, and what their states share.

Neither end does any input or output itself. A state is a value. It is named by what it awaits, and handling an event
returns the next state and what to do; the state that handled it is as it was. What the peer sends ends the session with
a typed error or is what was awaited. A call that does not fit the state raises, and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Final, TypeVar

from carnet_ref.crypto.primitives import CryptoError, Random
from carnet_ref.keys import OneTimeSecret
from carnet_ref.spdm.errors import PeerError, PskRefusedError, SessionOverError, SpdmError, UnexpectedMessageError
from carnet_ref.spdm.layout import Layout, Message
from carnet_ref.spdm.messages import Error, PskExchange, PskExchangeRsp, PskFinish, PskFinishRsp, parse_message
from carnet_ref.spdm.secured import SECURED, SPDM, VENDOR, RecordKeys, SecuredRecord
from carnet_ref.spdm.session import Chain, DeviceReport, GpuSession, SessionReport
from carnet_ref.spdm.transfer import RequesterTransfer, ResponderTransfer, TransferStep
from carnet_ref.wire import MalformedError


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


REFUSALS: Final = (SpdmError, MalformedError, CryptoError)
"""Every error that a peer can cause."""
_PSK: Final = (PskExchange, PskExchangeRsp, PskFinish, PskFinishRsp)

_Expected = TypeVar("_Expected", bound=Message)
_State = TypeVar("_State", bound="SessionState")
SessionStep = tuple["SessionState", tuple[SessionEffect, ...]]


@dataclass(frozen=True, slots=True)
class SessionState:
    """One state of an end of a session."""

    awaits: ClassVar[str]

    def handle(self, event: SessionEvent) -> SessionStep:
        """Return the next state, and what to do.

        Raises SpdmError if the event is a call that does not fit this state.
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
        """Take a message of the peer; a state that takes none has its own ``handle``."""
        raise NotImplementedError  # no default would be right for a state that takes messages

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


@dataclass(frozen=True, slots=True)
class MessageState(SessionState):
    """A state in which messages cross: whole ones are the state's business, the rest is that of ``transfer``."""

    layout: Layout
    transfer: RequesterTransfer | ResponderTransfer

    def receive(self, data: bytes) -> SessionStep:
        """Take a message of the peer, or a part of one."""
        return self.crossed(self.transfer.take(self.unwrap(data)))

    def crossed(self, crossing: TransferStep[RequesterTransfer | ResponderTransfer]) -> SessionStep:
        """Go on after a message, or a part of one, crossed."""
        state = replace(self, transfer=crossing.transfer)
        if crossing.whole is not None:
            return state.take(crossing.whole)
        assert crossing.send is not None
        return state.wrapped(crossing.send, crossing.after)

    def say(self, message: bytes) -> SessionStep:
        """Return this state after sending a message, and what to send."""
        return self.crossed(self.transfer.put(message))

    def take(self, raw: bytes) -> SessionStep:
        """Take a whole message of the peer."""
        return self.message(parse_message(raw, self.layout), raw)

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Take a whole message of the peer, with its bytes."""
        raise NotImplementedError  # a state without its own could only lose the message

    def unwrap(self, data: bytes) -> bytes:
        """Return the message that came in the clear.

        Raises MalformedError if it is none; UnexpectedMessageError if it belongs inside a session.
        """
        if data[:1] == bytes([SECURED]):
            raise UnexpectedMessageError(self.awaits, "a secured record")
        if data[:1] != bytes([SPDM]):
            raise MalformedError("message", f"type {SPDM:#04x}", data[:1].hex() or "nothing", 0)
        return data[1:]

    def wrapped(self, message: bytes, after: int = 0) -> SessionStep:
        """Return this state after a message went out in the clear, and what to send."""
        return self, (Send(bytes([SPDM]) + message, after),)


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
class SecuredState(MessageState):
    """A state inside a session: both directions of records, and what every such state does alike."""

    carries_applications: ClassVar[bool] = True
    """Whether the application may send and receive in this state."""

    sending: RecordKeys
    receiving: RecordKeys
    random: Random

    def receive(self, data: bytes) -> SessionStep:
        """Open the record that has to come next; the application's own messages are passed on."""
        if data[:1] != bytes([SECURED]):
            raise UnexpectedMessageError("a secured record", "a message outside the session")
        receiving, kind, payload = self.receiving.open(SecuredRecord.parse(data))
        opened = replace(self, receiving=receiving)
        if kind == VENDOR and opened.takes_applications:
            return opened, (ApplicationData(payload),)
        if kind != SPDM:
            raise UnexpectedMessageError(self.awaits, f"a message of type {kind:#04x}")
        return opened.opened(payload)

    def opened(self, raw: bytes) -> SessionStep:
        """Take an SPDM message, or a part of one, whose record authenticated."""
        return self.crossed(self.transfer.take(raw))

    def call(self, event: SessionEvent) -> SessionStep:
        """Send bytes of the application's own."""
        if isinstance(event, SendApplication) and self.carries_applications:
            return self.sealed(VENDOR, event.payload)
        raise UnexpectedMessageError(self.awaits, type(event).__name__)

    @property
    def takes_applications(self) -> bool:
        """Whether the application may receive in this state; what the peer sent before it knew may be under way."""
        return self.carries_applications

    def wrapped(self, message: bytes, after: int = 0) -> SessionStep:
        """Return this state after a message went out inside the session, and what to send."""
        return self.sealed(SPDM, message, after)

    def sealed(self, kind: int, payload: bytes, after: int = 0) -> SessionStep:
        """Return this state after sending, and the record to send."""
        sending, record = self.sending.seal(kind, payload, self.padding())
        return replace(self, sending=sending), (Send(record, after),)

    def padding(self) -> bytes:
        """Return random padding of random length, which hides lengths a little.

        Source: DMTF DSP0277 1.2.0: "RandomData".
        """
        return self.random(self.random(1)[0] % 16 + 1)


def next_state(kind: type[_State], state: SessionState, **changes: object) -> _State:
    """Return a state of another kind that keeps what both kinds have, but for ``changes``."""
    kept = {each.name: getattr(state, each.name) for each in fields(kind) if hasattr(state, each.name)}
    return kind(**{**kept, **changes})
