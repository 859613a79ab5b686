"""The state machine of both ends: the events that drive it, the effects that it asks for, and what states share.

Neither end does any input or output itself. A state is a value. It is named by what it awaits, and handling an event
returns the next state and what to do; the state that handled it is as it was. What the peer sends ends the session with
a typed error or is what was awaited. A call that does not fit the state raises, and changes nothing.
"""

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
    """Event: open a session."""


@dataclass(frozen=True, slots=True)
class Received:
    """Event: one message came from the peer, as bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Event: open a session with the device whose certificates were checked."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Event: ask for a report on a nonce of 32 bytes, inside the session if it is open, otherwise outside."""

    nonce: bytes


@dataclass(frozen=True, slots=True)
class SendApplication:
    """Event: send application data inside the session."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Beat:
    """Event: tell the peer that this end is alive."""


@dataclass(frozen=True, slots=True)
class UpdateKeys:
    """Event: derive and use the next keys of both directions, or of the requester's; no fresh entropy is added."""

    both: bool = True


@dataclass(frozen=True, slots=True)
class End:
    """Event: end the session."""


SessionEvent = Begin | OpenSession | Received | Measure | SendApplication | Beat | UpdateKeys | End


@dataclass(frozen=True, slots=True)
class Send:
    """Effect: send one message to the peer, after a delay if the peer asked for one."""

    data: bytes
    after: int = 0  #: Microseconds.


@dataclass(frozen=True, slots=True)
class Identified:
    """Effect: the device's certificates are trusted and, if it was challenged, it has their key now."""

    responder: Chain
    challenged: bool
    summary: bytes = b""  #: What the device says of its measurements, if it was asked in the challenge.


@dataclass(frozen=True, slots=True)
class Opened:
    """Effect: the session is open; its secret can be exported once."""

    session: GpuSession
    secret: OneTimeSecret


@dataclass(frozen=True, slots=True)
class Measured:
    """Effect: the requested report came inside the session."""

    report: SessionReport


@dataclass(frozen=True, slots=True)
class MeasuredOutside:
    """Effect: the requested report came outside a session, and its signature was checked."""

    report: DeviceReport


@dataclass(frozen=True, slots=True)
class ApplicationData:
    """Effect: application data came inside the session."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class KeysUpdated:
    """Effect: the directions that were to be updated use their next keys."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Effect: the session is over, as agreed or because of an error."""

    error: Exception | None


SessionEffect = Send | Identified | Opened | Measured | MeasuredOutside | ApplicationData | KeysUpdated | Closed


REFUSALS: Final = (SpdmError, MalformedError, CryptoError)  #: Every error that a peer can cause.
_PSK: Final = (PskExchange, PskExchangeRsp, PskFinish, PskFinishRsp)

_Expected = TypeVar("_Expected", bound=Message)
_State = TypeVar("_State", bound="SessionState")
SessionStep = tuple["SessionState", tuple[SessionEffect, ...]]


@dataclass(frozen=True, slots=True)
class SessionState:
    """Base class of the states of an end of a session."""

    awaits: ClassVar[str]

    def handle(self, event: SessionEvent) -> SessionStep:
        """Return the next state and the effects of an event.

        Raises SpdmError if the event is a call that does not fit this state.
        """
        if not isinstance(event, Received):
            return self.call(event)
        try:
            return self.receive(event.data)
        except REFUSALS as error:
            return Ended(), (*self.refusal(error), Closed(error))

    def call(self, event: SessionEvent) -> SessionStep:
        """Handle an event from this end's owner."""
        raise UnexpectedMessageError(self.awaits, type(event).__name__)

    def receive(self, data: bytes) -> SessionStep:
        """Handle a message of the peer; a state that accepts none overrides ``handle``."""
        raise NotImplementedError  # no default would be right for a state that takes messages

    def refusal(self, error: Exception) -> tuple[SessionEffect, ...]:
        """Return the effects that report an error to the peer; by default none."""
        del error
        return ()


@dataclass(frozen=True, slots=True)
class Ended(SessionState):
    """State: the session is over, for good."""

    awaits: ClassVar[str] = "nothing: the session is over"

    def handle(self, event: SessionEvent) -> SessionStep:
        """Refuse every event."""
        raise SessionOverError(f"{type(event).__name__} in a session that is over")


@dataclass(frozen=True, slots=True)
class MessageState(SessionState):
    """Base class of states that exchange messages: they handle whole messages, ``transfer`` handles chunks."""

    layout: Layout
    transfer: RequesterTransfer | ResponderTransfer

    def receive(self, data: bytes) -> SessionStep:
        """Handle a message of the peer, or a chunk of one."""
        return self.after_transfer(self.transfer.take(self.unwrap(data)))

    def after_transfer(self, crossing: TransferStep[RequesterTransfer | ResponderTransfer]) -> SessionStep:
        """Continue after a message or a chunk was transferred."""
        state = replace(self, transfer=crossing.transfer)
        if crossing.whole is not None:
            return state.take(crossing.whole)
        assert crossing.send is not None
        return state.send_message(crossing.send, crossing.after)

    def say(self, message: bytes) -> SessionStep:
        """Return this state after sending a message, and the effect that sends it."""
        return self.after_transfer(self.transfer.put(message))

    def take(self, raw: bytes) -> SessionStep:
        """Handle a whole message of the peer, as bytes."""
        return self.message(parse_message(raw, self.layout), raw)

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Handle a whole message of the peer, parsed and as bytes."""
        raise NotImplementedError  # a state without its own could only lose the message

    def unwrap(self, data: bytes) -> bytes:
        """Return the message in unprotected bytes.

        Raises MalformedError if it is no message of SPDM; UnexpectedMessageError if it belongs inside a session.
        """
        if data[:1] == bytes([SECURED]):
            raise UnexpectedMessageError(self.awaits, "a secured record")
        if data[:1] != bytes([SPDM]):
            raise MalformedError("message", f"type {SPDM:#04x}", data[:1].hex() or "nothing", 0)
        return data[1:]

    def send_message(self, message: bytes, after: int = 0) -> SessionStep:
        """Return this state after sending an unprotected message, and the effect that sends it."""
        return self, (Send(bytes([SPDM]) + message, after),)


def expect(kind: type[_Expected], message: Message) -> _Expected:
    """Return ``message`` if it is of the expected kind.

    Raises PeerError if it is an ERROR; PskRefusedError if it belongs to a session by pre-shared key;
    UnexpectedMessageError if it is another.
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
    """Base class of states inside a session, with the records of both directions."""

    carries_applications: ClassVar[bool] = True  #: Whether the application may send and receive in this state.

    sending: RecordKeys
    receiving: RecordKeys
    random: Random

    def receive(self, data: bytes) -> SessionStep:
        """Open the next record; application data is passed on."""
        if data[:1] != bytes([SECURED]):
            raise UnexpectedMessageError("a secured record", "a message outside the session")
        receiving, kind, payload = self.receiving.open(SecuredRecord.parse(data))
        opened = replace(self, receiving=receiving)
        if kind == VENDOR and opened.takes_applications:
            return opened, (ApplicationData(payload),)
        if kind != SPDM:
            raise UnexpectedMessageError(self.awaits, f"a message of type {kind:#04x}")
        return opened.handle_message(payload)

    def handle_message(self, raw: bytes) -> SessionStep:
        """Handle an SPDM message, or a chunk of one, from an authenticated record."""
        return self.after_transfer(self.transfer.take(raw))

    def call(self, event: SessionEvent) -> SessionStep:
        """Handle an event from this end's owner: send application data."""
        if isinstance(event, SendApplication) and self.carries_applications:
            return self.send_record(VENDOR, event.payload)
        raise UnexpectedMessageError(self.awaits, type(event).__name__)

    @property
    def takes_applications(self) -> bool:
        """Whether application data may arrive in this state; the peer may have sent it before it knew."""
        return self.carries_applications

    def send_message(self, message: bytes, after: int = 0) -> SessionStep:
        """Return this state after sending a message inside the session, and the effect that sends it."""
        return self.send_record(SPDM, message, after)

    def send_record(self, kind: int, payload: bytes, after: int = 0) -> SessionStep:
        """Return this state after sending a record, and the effect that sends it."""
        sending, record = self.sending.seal(kind, payload, self.padding())
        return replace(self, sending=sending), (Send(record, after),)

    def padding(self) -> bytes:
        """Return random padding of random length, which hides lengths a little.

        Source: DMTF DSP0277 1.2.0: "RandomData".
        """
        return self.random(self.random(1)[0] % 16 + 1)


def next_state(kind: type[_State], state: SessionState, **changes: object) -> _State:
    """Return a state of class ``kind`` with the shared attributes of ``state``, except for ``changes``."""
    kept = {each.name: getattr(state, each.name) for each in fields(kind) if hasattr(state, each.name)}
    return kind(**{**kept, **changes})
