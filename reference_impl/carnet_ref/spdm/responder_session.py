"""The responder inside an open session: what it answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from carnet_ref.spdm.errors import RequestRefusedError, UnexpectedMessageError
from carnet_ref.spdm.events import Closed, KeysUpdated
from carnet_ref.spdm.machine import Ended, SessionStep, becoming, expect
from carnet_ref.spdm.measuring import NOTHING_MEASURED, Measured
from carnet_ref.spdm.messages import (
    EndSession,
    EndSessionAck,
    ErrorCode,
    GetMeasurements,
    Heartbeat,
    HeartbeatAck,
    KeyUpdate,
    KeyUpdateAck,
    Message,
    UpdateOperation,
)
from carnet_ref.spdm.serving import Guarded


@dataclass(frozen=True, slots=True)
class AwaitRequest(Guarded):
    """The session is open and nothing is under way; ``measured`` is what was measured and not signed yet."""

    awaits: ClassVar[str] = "GET_MEASUREMENTS, HEARTBEAT, KEY_UPDATE or END_SESSION"

    measured: Measured = NOTHING_MEASURED

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Answer a request."""
        version = self.layout.version
        if isinstance(message, GetMeasurements):
            measured, response = self.measured.answer(self.config.reporter, self.vca, message, raw)
            return replace(self, measured=measured).say(response)
        state = replace(self, measured=NOTHING_MEASURED)
        match message:
            case Heartbeat():
                return state.say(HeartbeatAck(version).encode())
            case KeyUpdate() as request:
                return state._update(request)
            case _:
                expect(EndSession, message)
                _, effects = state.say(EndSessionAck(version).encode())
                return Ended(), (*effects, Closed(None))

    def _update(self, request: KeyUpdate) -> SessionStep:
        """Move to the next keys; the acknowledgement comes under the next one, if the responder's is updated, too."""
        if request.operation is UpdateOperation.VERIFY_NEW_KEY:
            raise RequestRefusedError(ErrorCode.INVALID_REQUEST, "no key was updated that could be verified")
        moved = becoming(AwaitNewKey, self, receiving=self.receiving.updated())
        if request.operation is UpdateOperation.UPDATE_ALL_KEYS:
            moved = replace(moved, sending=self.sending.updated())
        return moved.say(KeyUpdateAck(self.layout.version, request.operation, request.tag).encode())


@dataclass(frozen=True, slots=True)
class AwaitNewKey(Guarded):
    """Keys were updated; the requester has to use its next one."""

    awaits: ClassVar[str] = "KEY_UPDATE that verifies the new key"

    @property
    def carries_applications(self) -> bool:
        """Between keys nothing but the update is carried."""
        return False

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Acknowledge; the update is over."""
        request = expect(KeyUpdate, message)
        if request.operation is not UpdateOperation.VERIFY_NEW_KEY:
            raise UnexpectedMessageError(self.awaits, f"one of {request.operation.name}")
        ack = KeyUpdateAck(self.layout.version, request.operation, request.tag)
        state, effects = becoming(AwaitRequest, self).say(ack.encode())
        return state, (*effects, KeysUpdated())
