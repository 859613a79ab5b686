"""Secured messages: what a session puts on the wire.

Source: DMTF DSP0277 1.2.0 (secured messages) and DSP0276 1.2.0 (their binding to MCTP, with a sequence number of two
bytes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES, AesGcm, AuthenticationError
from carnet_ref.spdm.errors import RecordError, SequenceError
from carnet_ref.spdm.key_schedule import DirectionSecret
from carnet_ref.wire.reader import MalformedError, Reader

SECURED: Final = 0x06
SPDM: Final = 0x05
VENDOR: Final = 0x7E
"""The MCTP message type that Carnet's own messages travel under: vendor-defined (DSP0239)."""
LAST_SEQUENCE: Final = 0xFFFF
MAX_PAYLOAD: Final = 0xFFFF - TAG_BYTES - 3
"""The most that fits a record, after its size and type."""


@dataclass(frozen=True, slots=True)
class SecuredRecord:
    """A record as it is on the wire."""

    session: int
    sequence: int
    sealed: bytes

    def associated(self) -> bytes:
        """Return the header that is authenticated with it."""
        header = self.session.to_bytes(4, "little") + self.sequence.to_bytes(2, "little")
        return header + len(self.sealed).to_bytes(2, "little")

    def encode(self) -> bytes:
        """Return the bytes of the record."""
        return bytes([SECURED]) + self.associated() + self.sealed

    @classmethod
    def parse(cls, data: bytes) -> SecuredRecord:
        """Read a record.

        Raises:
            MalformedError: the bytes are none, or not exactly one.
        """
        reader = Reader(data, "secured record")
        reader.constant(bytes([SECURED]), "message type")
        session, sequence = reader.number(4, "session id"), reader.number(2, "sequence number")
        sealed = reader.take(reader.number(2, "size"), "ciphertext and tag")
        reader.end()
        return cls(session, sequence, sealed)


@dataclass(frozen=True, slots=True)
class RecordKeys:
    """One direction of a session: its secret and the sequence number that comes next.

    Values do not change: sealing or opening returns the direction after the record.
    """

    session: int
    secret: DirectionSecret
    sequence: int = 0

    def seal(self, kind: int, payload: bytes, padding: bytes = b"") -> tuple[RecordKeys, bytes]:
        """Return the direction after it, and the record of a message of type ``kind``.

        Raises:
            RecordError: the payload is too long.
            SequenceError: the direction has no sequence number left.
        """
        if len(payload) + len(padding) > MAX_PAYLOAD:
            raise RecordError(f"{len(payload) + len(padding)} bytes do not fit a record of {MAX_PAYLOAD}")
        after = self._counted()
        plaintext = (len(payload) + 1).to_bytes(2, "little") + bytes([kind]) + payload + padding
        header = SecuredRecord(self.session, self.sequence, bytes(len(plaintext) + TAG_BYTES))
        sealed = AesGcm(self.secret.key).encrypt(self._nonce(), plaintext, header.associated())
        return after, replace(header, sealed=sealed).encode()

    def open(self, record: SecuredRecord) -> tuple[RecordKeys, int, bytes]:
        """Return the direction after it, and the type and payload of the record that has to come next.

        Raises:
            SequenceError: it is another record of the direction: replayed, reordered, or one before it was lost.
            RecordError: it is of another session, or does not authenticate.
            MalformedError: it authenticates and holds no message.
        """
        if record.session != self.session:
            raise RecordError(f"a record of session {record.session:#010x} in session {self.session:#010x}")
        if record.sequence != self.sequence:
            raise SequenceError(f"sequence number {self.sequence} has to come next, and {record.sequence} came")
        after = self._counted()
        try:
            plaintext = AesGcm(self.secret.key).decrypt(self._nonce(), record.sealed, record.associated())
        except AuthenticationError:
            raise RecordError(f"record {record.sequence} does not authenticate") from None
        kind, payload = _unpack(plaintext)
        return after, kind, payload

    def updated(self) -> RecordKeys:
        """Return the direction after a KEY_UPDATE: the next secret, and sequence numbers from zero."""
        return RecordKeys(self.session, self.secret.updated())

    def _counted(self) -> RecordKeys:
        if self.sequence > LAST_SEQUENCE:
            raise SequenceError("the direction has used all its sequence numbers")
        return replace(self, sequence=self.sequence + 1)

    def _nonce(self) -> bytes:
        base = int.from_bytes(self.secret.iv, "little")
        return (base ^ self.sequence).to_bytes(NONCE_BYTES, "little")


def _unpack(plaintext: bytes) -> tuple[int, bytes]:
    reader = Reader(plaintext, "secured message")
    size = reader.number(2, "size")
    if size == 0:
        raise MalformedError("secured message", "a message type", "nothing", 2)
    kind = reader.number(1, "message type")
    return kind, reader.take(size - 1, "message")
