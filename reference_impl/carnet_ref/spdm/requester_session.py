"""The requester inside an open session: what it asks, and what it takes for an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from carnet_ref.spdm.errors import (
    RecordError,
    SequenceError,
    SpdmError,
    UnexpectedMessageError,
)
from carnet_ref.spdm.events import (
    ApplicationData,
    Beat,
    Closed,
    End,
    KeysUpdated,
    Measure,
    Measured,
    SessionEffect,
    SessionEvent,
    UpdateKeys,
)
from carnet_ref.spdm.machine import Ended, Secured, SessionStep, becoming, expect
from carnet_ref.spdm.messages import (
    EndSession,
    EndSessionAck,
    GetMeasurements,
    Heartbeat,
    HeartbeatAck,
    KeyUpdate,
    KeyUpdateAck,
    Measurements,
    Message,
    UpdateOperation,
    Version,
)
from carnet_ref.spdm.messages.common import CONTEXT_BYTES, RANDOM_BYTES
from carnet_ref.spdm.messages.identity import ALL_MEASUREMENTS, SIGNATURE_REQUESTED, SLOT_MASK
from carnet_ref.spdm.records import VENDOR, RecordKeys, SecuredRecord
from carnet_ref.spdm.session import MINT, GpuSession, SessionReport


def measure(version: Version, nonce: bytes, slot: int) -> GetMeasurements:
    """Return the request for a signed report of everything.

    Raises:
        SpdmError: the nonce has another size.
    """
    if len(nonce) != RANDOM_BYTES:
        raise SpdmError(f"a measurement nonce of {len(nonce)} bytes, not {RANDOM_BYTES}")
    context = bytes(CONTEXT_BYTES) if version >= Version.V1_3 else b""
    return GetMeasurements(version, SIGNATURE_REQUESTED, ALL_MEASUREMENTS, nonce, slot, context)


def check_measurements(found: Measurements, request: GetMeasurements) -> None:
    """Check that a response is to this request.

    Raises:
        UnexpectedMessageError: it is signed by another slot, or to another context.
    """
    if (found.slot & SLOT_MASK, found.context) != (request.slot, request.context):
        raise UnexpectedMessageError(
            f"measurements of slot {request.slot}, context {request.context.hex()}",
            f"slot {found.slot & SLOT_MASK}, context {found.context.hex()}",
        )


@dataclass(frozen=True, slots=True)
class _Inside(Secured):
    """The session is open; ``slot`` is where the device's chain is, ``vca`` what was negotiated."""

    session: GpuSession
    slot: int
    vca: bytes


@dataclass(frozen=True, slots=True)
class Established(_Inside):
    """The session is open and nothing was asked."""

    awaits: ClassVar[str] = "a call"

    def call(self, event: SessionEvent) -> SessionStep:
        """Ask for a report, update keys, send, or end."""
        version = self.layout.version
        match event:
            case Measure(nonce):
                return self._ask(AwaitMeasurements, measure(version, nonce, self.slot))
            case Beat():
                return self._ask(AwaitHeartbeatAck, Heartbeat(version))
            case UpdateKeys(both):
                operation = UpdateOperation.UPDATE_ALL_KEYS if both else UpdateOperation.UPDATE_KEY
                return self._ask(AwaitKeyUpdateAck, KeyUpdate(version, operation, self.random(1)[0]))
            case End():
                return self._ask(AwaitEndSessionAck, EndSession(version))
            case _:
                # Secured.call by name: a slotted dataclass has no cell for super() without arguments.
                return Secured.call(self, event)

    def _ask(self, then: type[_Asked], request: Message) -> SessionStep:
        state, effects = becoming(then, self, request=request).say(request.encode())
        assert isinstance(state, _Asked)
        return state.after_sending(), effects

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Refuse: nothing was asked."""
        raise UnexpectedMessageError(self.awaits, type(message).__name__)


@dataclass(frozen=True, slots=True)
class _Asked(_Inside):
    """A request was sent inside the session."""

    request: Message

    def after_sending(self) -> _Asked:
        """Return this state once the request is sent."""
        return self

    def answered(self, *effects: SessionEffect) -> SessionStep:
        """Return to the open session."""
        return becoming(Established, self), effects


@dataclass(frozen=True, slots=True)
class AwaitMeasurements(_Asked):
    """GET_MEASUREMENTS was sent."""

    awaits: ClassVar[str] = "MEASUREMENTS"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Hand out the report, marked with the session it came in."""
        request = self.request
        assert isinstance(request, GetMeasurements)
        check_measurements(expect(Measurements, message), request)
        before = self.vca if self.layout.version >= Version.V1_2 else b""
        return self.answered(Measured(SessionReport(request.nonce, request.encode(), raw, before, self.session, MINT)))


@dataclass(frozen=True, slots=True)
class AwaitHeartbeatAck(_Asked):
    """HEARTBEAT was sent."""

    awaits: ClassVar[str] = "HEARTBEAT_ACK"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """The peer is alive."""
        expect(HeartbeatAck, message)
        return self.answered()


@dataclass(frozen=True, slots=True)
class AwaitKeyUpdateAck(_Asked):
    """KEY_UPDATE was sent; if it was for both directions, it is acknowledged under the responder's next key.

    Then what the responder's application sent before it saw the request still comes under ``before``.
    """

    awaits: ClassVar[str] = "KEY_UPDATE_ACK"

    before: RecordKeys | None = None

    @property
    def carries_applications(self) -> bool:
        """Between keys nothing but the update is carried."""
        return False

    @property
    def takes_applications(self) -> bool:
        """What the responder's application sent before comes under the same key, if that is not updated."""
        return self.before is None

    def after_sending(self) -> AwaitKeyUpdateAck:
        """Expect the acknowledgement under the responder's next key, if that is updated, too."""
        assert isinstance(self.request, KeyUpdate)
        if self.request.operation is UpdateOperation.UPDATE_KEY:
            return self
        return replace(self, before=self.receiving, receiving=self.receiving.updated())

    def receive(self, data: bytes) -> SessionStep:
        """Take the acknowledgement, or the application's bytes that were under way when the keys were updated."""
        try:
            # Secured.receive by name: a slotted dataclass has no cell for super() without arguments.
            return Secured.receive(self, data)
        except (RecordError, SequenceError):
            if self.before is None:
                raise
            before, kind, payload = self.before.open(SecuredRecord.parse(data))
        if kind != VENDOR:
            raise UnexpectedMessageError(self.awaits, f"a message of type {kind:#04x} under the key before")
        return replace(self, before=before), (ApplicationData(payload),)

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Verify the requester's next key by using it."""
        _check_update(expect(KeyUpdateAck, message), self.request)
        version, tag = self.layout.version, self.random(1)[0]
        verifying = KeyUpdate(version, UpdateOperation.VERIFY_NEW_KEY, tag)
        state = becoming(AwaitNewKeyAck, self, request=verifying, sending=self.sending.updated())
        return state.say(verifying.encode())


@dataclass(frozen=True, slots=True)
class AwaitNewKeyAck(_Asked):
    """The requester's next key was used."""

    awaits: ClassVar[str] = "KEY_UPDATE_ACK for the new key"

    @property
    def carries_applications(self) -> bool:
        """Between keys nothing but the update is carried."""
        return False

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """The update is over."""
        _check_update(expect(KeyUpdateAck, message), self.request)
        return self.answered(KeysUpdated())


def _check_update(found: KeyUpdateAck, request: Message) -> None:
    assert isinstance(request, KeyUpdate)
    if (found.operation, found.tag) != (request.operation, request.tag):
        raise UnexpectedMessageError(
            f"an acknowledgement of {request.operation.name}, tag {request.tag}",
            f"one of {found.operation.name}, tag {found.tag}",
        )


@dataclass(frozen=True, slots=True)
class AwaitEndSessionAck(_Asked):
    """END_SESSION was sent."""

    awaits: ClassVar[str] = "END_SESSION_ACK"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """The session is over."""
        expect(EndSessionAck, message)
        return Ended(), (Closed(None),)
