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
from carnet_ref.spdm.messages.identity import ALL_MEASUREMENTS, SIGNATURE_REQUESTED
from carnet_ref.spdm.records import SPDM, VENDOR, RecordKeys, SecuredRecord
from carnet_ref.spdm.session import MINT, GpuSession, SessionReport


@dataclass(frozen=True, slots=True)
class Established(Secured):
    """The session is open and nothing was asked."""

    awaits: ClassVar[str] = "a call"

    session: GpuSession

    def call(self, event: SessionEvent) -> SessionStep:
        """Ask for a report, update keys, send, or end."""
        version = self.layout.version
        match event:
            case Measure(nonce):
                return self._ask(_measure(version, nonce), AwaitMeasurements)
            case Beat():
                return self._ask(Heartbeat(version), AwaitHeartbeatAck)
            case UpdateKeys():
                tag = self.random(1)[0]
                return self._ask(KeyUpdate(version, UpdateOperation.UPDATE_ALL_KEYS, tag), AwaitKeyUpdateAck)
            case End():
                return self._ask(EndSession(version), AwaitEndSessionAck)
            case _:
                # Secured.call by name: a slotted dataclass has no cell for super() without arguments.
                return Secured.call(self, event)

    def _ask(self, request: Message, then: type[_Asked]) -> SessionStep:
        state, effects = self.sealed(SPDM, request.encode())
        assert isinstance(state, Established)
        return becoming(then, state, session=self.session, request=request).after_sending(), effects

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Refuse: nothing was asked."""
        raise UnexpectedMessageError(self.awaits, type(message).__name__)


def _measure(version: Version, nonce: bytes) -> GetMeasurements:
    if len(nonce) != RANDOM_BYTES:
        raise SpdmError(f"a measurement nonce of {len(nonce)} bytes, not {RANDOM_BYTES}")
    context = bytes(CONTEXT_BYTES) if version >= Version.V1_3 else b""
    return GetMeasurements(version, SIGNATURE_REQUESTED, ALL_MEASUREMENTS, nonce, 0, context)


@dataclass(frozen=True, slots=True)
class _Asked(Secured):
    """A request was sent inside the session."""

    session: GpuSession
    request: Message

    def after_sending(self) -> _Asked:
        """Return this state once the request is sent."""
        return self

    def answered(self, *effects: SessionEffect) -> SessionStep:
        """Return to the open session."""
        return becoming(Established, self, session=self.session), effects


@dataclass(frozen=True, slots=True)
class AwaitMeasurements(_Asked):
    """GET_MEASUREMENTS was sent."""

    awaits: ClassVar[str] = "MEASUREMENTS"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Hand out the report, marked with the session it came in."""
        expect(Measurements, message)
        assert isinstance(self.request, GetMeasurements)
        request = self.request
        report = SessionReport(self.session, request.nonce, request.encode(), raw, MINT)
        return self.answered(Measured(report))


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
    """KEY_UPDATE was sent; it is acknowledged under the responder's next key.

    What the responder's application sent before it saw the request still comes under ``before``.
    """

    awaits: ClassVar[str] = "KEY_UPDATE_ACK"

    before: RecordKeys | None = None

    @property
    def carries_applications(self) -> bool:
        """Between keys nothing but the update is carried."""
        return False

    def after_sending(self) -> AwaitKeyUpdateAck:
        """Expect the acknowledgement under the next key."""
        return replace(self, before=self.receiving, receiving=self.receiving.updated())

    def receive(self, data: bytes) -> SessionStep:
        """Take the acknowledgement, or the application's bytes that were under way when the keys were updated."""
        try:
            # Secured.receive by name: a slotted dataclass has no cell for super() without arguments.
            return Secured.receive(self, data)
        except (RecordError, SequenceError):
            assert self.before is not None
            before, kind, payload = self.before.open(SecuredRecord.parse(data))
        if kind != VENDOR:
            raise UnexpectedMessageError(self.awaits, f"a message of type {kind:#04x} under the key before")
        return replace(self, before=before), (ApplicationData(payload),)

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Verify the requester's next key by using it."""
        _check_update(expect(KeyUpdateAck, message), self.request)
        version, tag = self.layout.version, self.random(1)[0]
        verifying = KeyUpdate(version, UpdateOperation.VERIFY_NEW_KEY, tag)
        state = becoming(AwaitNewKeyAck, self, session=self.session, request=verifying)
        moved: SessionStep = replace(state, sending=self.sending.updated()).sealed(SPDM, verifying.encode())
        return moved


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
