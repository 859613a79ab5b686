"""Requests of the responder, which travel inside the requester's: how a responder gets the requester's certificates.

Source: DMTF DSP0274 1.3.2, sections "GET_ENCAPSULATED_REQUEST request" to "ENCAPSULATED_RESPONSE_ACK response".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Self

from carnet_ref.spdm.messages.common import Empty, Layout, Message, Version
from carnet_ref.wire.reader import Reader


@dataclass(frozen=True, slots=True)
class GetEncapsulatedRequest(Empty):
    """GET_ENCAPSULATED_REQUEST."""

    CODE: ClassVar[int] = 0xEA


@dataclass(frozen=True, slots=True)
class _Carrier(Message):
    """A number that tells requests apart, and the message that is carried; there always is one."""

    request_id: int
    carried: bytes

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        if not reader.remaining:
            raise reader.malformed("an encapsulated message", "nothing")
        return cls(version, params[0], reader.rest())

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.request_id, 0

    def body(self) -> bytes:
        """Return what follows the header."""
        return self.carried


@dataclass(frozen=True, slots=True)
class EncapsulatedRequest(_Carrier):
    """ENCAPSULATED_REQUEST: a request of the responder."""

    CODE: ClassVar[int] = 0x6A


@dataclass(frozen=True, slots=True)
class DeliverEncapsulatedResponse(_Carrier):
    """DELIVER_ENCAPSULATED_RESPONSE: the requester's response to it."""

    CODE: ClassVar[int] = 0xEB


class Payload(IntEnum):
    """What an ENCAPSULATED_RESPONSE_ACK carries: nothing, the next request, or the slot that FINISH has to name."""

    ABSENT = 0
    REQUEST = 1
    SLOT = 2


@dataclass(frozen=True, slots=True)
class EncapsulatedResponseAck(Message):
    """ENCAPSULATED_RESPONSE_ACK; from 1.2 on it names the request whose response came."""

    CODE: ClassVar[int] = 0x6B

    request_id: int
    kind: Payload
    acknowledged: int = 0
    payload: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        if params[1] not in set(Payload):
            raise reader.malformed("a kind of payload", str(params[1]))
        kind, acknowledged = Payload(params[1]), 0
        if version >= Version.V1_2:
            acknowledged = reader.number(1, "acknowledged request id")
            reader.take(3, "reserved")
        payload = reader.rest()
        if (kind is Payload.ABSENT and payload) or (kind is Payload.SLOT and len(payload) != 1):
            raise reader.malformed("a payload of its kind", f"{len(payload)} bytes of {kind.name}")
        return cls(version, params[0], kind, acknowledged, payload)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.request_id, self.kind

    def body(self) -> bytes:
        """Return what follows the header."""
        named = bytes([self.acknowledged, 0, 0, 0]) if self.version >= Version.V1_2 else b""
        return named + self.payload
