"""What a device says of itself in MEASUREMENTS: blocks, how many there are, one of them or all, signed or not.

Source: DMTF DSP0274 1.3.2, sections "GET_MEASUREMENTS request" to "MEASUREMENTS response", "Measurement block" and
"MeasurementSummaryHash".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.spdm import messages
from carnet_ref.spdm.errors import RequestRefusedError
from carnet_ref.spdm.layout import RANDOM_BYTES, Version, u16
from carnet_ref.spdm.session import Purpose, sign

_DMTF_SPECIFICATION: Final = 1
_IMMUTABLE_ROM: Final = 0
_TYPE_MASK: Final = 0x7F
"""The bit above says whether the value is a digest or the raw bytes."""
LONGEST_RUN: Final = 1 << 18
"""How many bytes of unsigned measurements, with their requests, a signature may cover."""


@dataclass(frozen=True, slots=True)
class MeasurementRequest:
    """A GET_MEASUREMENTS, and what a signature over its response covers before it.

    ``before`` is what was negotiated (from 1.2 on) and the unsigned measurements since the last signature.
    """

    message: messages.GetMeasurements
    raw: bytes
    before: bytes = b""

    @property
    def signed(self) -> bool:
        """Whether the response has to be signed."""
        return bool(self.message.attributes & messages.SIGNATURE_REQUESTED)

    def signature(self, key: ec.EllipticCurvePrivateKey, unsigned: bytes) -> bytes:
        """Return the device's signature over a response that has none yet."""
        return sign(key, self.message.version, Purpose.MEASUREMENTS, self.before + self.raw + unsigned)


class Reporter(Protocol):
    """What measures the device, and signs what it measured."""

    def report(self, asked: MeasurementRequest) -> bytes:
        """Return the bytes of the MEASUREMENTS that answer a request, signed if that was asked.

        Raises RequestRefusedError if there is no such measurement; PutOffError if it takes time.
        """
        ...

    def summary(self, kind: messages.Summary) -> bytes:
        """Return the digest of all measurements, or of those that the device is rooted in.

        Raises PutOffError if it takes time.
        """
        ...


@dataclass(frozen=True, slots=True)
class Block:
    """One measurement, as DMTF lays it out: its number, what it is of, and its value."""

    index: int
    kind: int
    value: bytes

    @property
    def rooted(self) -> bool:
        """Whether it is of code that cannot change, in which everything else is rooted."""
        return self.kind & _TYPE_MASK == _IMMUTABLE_ROM

    def encode(self) -> bytes:
        """Return the bytes of the block."""
        measured = bytes([self.kind]) + u16(len(self.value)) + self.value
        return bytes([self.index, _DMTF_SPECIFICATION]) + u16(len(measured)) + measured


def summary_of(blocks: tuple[Block, ...], kind: messages.Summary) -> bytes:
    """Return the digest of the blocks that ``kind`` is about; nothing for `Summary.NONE`."""
    if kind is messages.Summary.NONE:
        return b""
    return sha384(b"".join(block.encode() for block in blocks if kind is messages.Summary.ALL or block.rooted))


@dataclass(frozen=True, slots=True)
class BlockReporter:
    """Measures a device as ``blocks`` say, with ``opaque`` data beside them, and signs with the device's key."""

    key: ec.EllipticCurvePrivateKey = field(repr=False)
    blocks: Callable[[], tuple[Block, ...]]
    random: Random
    opaque: bytes = b""

    def report(self, asked: MeasurementRequest) -> bytes:
        """Return the count, one block, or all of them."""
        message, blocks = asked.message, self.blocks()
        total = len(blocks) if message.operation == messages.COUNT_MEASUREMENTS else 0
        chosen = self._chosen(message.operation, blocks)
        record = b"".join(block.encode() for block in chosen)
        nonce, slot = self.random(RANDOM_BYTES), message.slot if asked.signed else 0
        response = messages.Measurements(
            message.version, total, slot, len(chosen), record, nonce, self.opaque, message.context, b""
        )
        if not asked.signed:
            return response.encode()
        return replace(response, signature=asked.signature(self.key, response.encode())).encode()

    @staticmethod
    def _chosen(operation: int, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        if operation == messages.COUNT_MEASUREMENTS:
            return ()
        if operation == messages.ALL_MEASUREMENTS:
            return blocks
        chosen = tuple(block for block in blocks if block.index == operation)
        if not chosen:
            raise RequestRefusedError(messages.ErrorCode.INVALID_REQUEST, f"there is no measurement {operation}")
        return chosen

    def summary(self, kind: messages.Summary) -> bytes:
        """Return the digest of the blocks."""
        return summary_of(self.blocks(), kind)


@dataclass(frozen=True, slots=True)
class UnsignedMeasurements:
    """The unsigned measurements since the last signature, in one session or outside of any."""

    messages: bytes = b""

    def answer(
        self, reporter: Reporter, vca: bytes, request: messages.GetMeasurements, raw: bytes
    ) -> tuple[UnsignedMeasurements, bytes]:
        """Return what is unsigned after a request, and the response to it.

        Raises:
            RequestRefusedError: it is of another slot than 0, of no measurement, or one too many without a signature.
            PutOffError: it takes time.
        """
        if request.slot:
            raise RequestRefusedError(messages.ErrorCode.INVALID_REQUEST, f"measurements signed by slot {request.slot}")
        if len(self.messages) > LONGEST_RUN:
            raise RequestRefusedError(
                messages.ErrorCode.UNSPECIFIED, f"more than {LONGEST_RUN} bytes without a signature"
            )
        negotiated = vca if request.version >= Version.V1_2 else b""
        asked = MeasurementRequest(request, raw, negotiated + self.messages)
        response = reporter.report(asked)
        return NO_MEASUREMENTS if asked.signed else UnsignedMeasurements(self.messages + raw + response), response


NO_MEASUREMENTS: Final = UnsignedMeasurements()
