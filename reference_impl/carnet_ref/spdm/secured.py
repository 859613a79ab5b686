"""Secured messages: the key schedule of a session, its records, and the negotiation of their version.

Source: DMTF DSP0274 1.3.2, sections "Key schedule" and "General opaque data"; DSP0277 1.2.0 (secured messages, their
keys and IVs, "Secured Message opaque data format") and DSP0276 1.2.0 (their binding to MCTP, with a sequence number of
two bytes).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from carnet_ref.crypto import primitives
from carnet_ref.spdm.errors import DowngradeError, RecordError, SequenceError
from carnet_ref.spdm.layout import Version, u16
from carnet_ref.wire import MalformedError, Reader

_ZEROS: Final = bytes(primitives.SHA384_BYTES)
#: From 1.3 on, a PSK is extracted under another salt than an ECDHE secret, so that neither is taken for the other.
_ONES: Final = b"\xff" * primitives.SHA384_BYTES


def bin_concat(version: Version, size: int, label: str, context: bytes = b"") -> bytes:
    """Return the ``info`` of an HKDF expansion (BinConcat): the size, the versioned label, and the context."""
    return size.to_bytes(2, "little") + f"spdm{version.label} {label}".encode("ascii") + context


def expand(
    version: Version, secret: bytes, label: str, context: bytes = b"", size: int = primitives.SHA384_BYTES
) -> bytes:
    """Return ``size`` bytes derived from ``secret`` by HKDF-Expand with ``label`` and ``context``."""
    return primitives.hkdf_expand_sha384(secret, bin_concat(version, size, label, context), size)


@dataclass(frozen=True, slots=True)
class DirectionSecret:
    """The secret of one direction in one phase, from which the record key and IV are derived."""

    version: Version
    secret: bytes = field(repr=False)

    @property
    def key(self) -> bytes:
        """The AES-256 key."""
        return expand(self.version, self.secret, "key", size=primitives.KEY_BYTES)

    @property
    def iv(self) -> bytes:
        """The base IV, with which sequence numbers are combined."""
        return expand(self.version, self.secret, "iv", size=primitives.NONCE_BYTES)

    @property
    def finished_key(self) -> bytes:
        """The key of verify data."""
        return expand(self.version, self.secret, "finished")

    def verify_data(self, transcript_hash: bytes) -> bytes:
        """Return the HMAC over the transcript hash, which proves knowledge of this secret."""
        return primitives.hmac_sha384(self.finished_key, transcript_hash)

    def check_verify_data(self, transcript_hash: bytes, found: bytes, what: str) -> None:
        """Check the peer's verify data; ``what`` names it in errors. Raises AuthenticationError if it differs."""
        primitives.verify_hmac_sha384(self.finished_key, transcript_hash, found, what)

    def after_update(self) -> DirectionSecret:
        """Return the secret after a KEY_UPDATE; no fresh entropy is added."""
        return DirectionSecret(self.version, expand(self.version, self.secret, "traffic upd"))


@dataclass(frozen=True, slots=True)
class HandshakeSecrets:
    """The secrets between KEY_EXCHANGE_RSP and FINISH_RSP."""

    version: Version
    handshake: bytes = field(repr=False)
    request: DirectionSecret
    response: DirectionSecret

    @classmethod
    def derive(cls, version: Version, shared: bytes, th1: bytes, *, psk: bool = False) -> HandshakeSecrets:
        """Derive the secrets from the shared secret (ECDHE, or a PSK) and the transcript hash TH1."""
        salt = _ONES if psk and version >= Version.V1_3 else _ZEROS
        handshake = primitives.hmac_sha384(salt, shared)
        return cls(
            version,
            handshake,
            DirectionSecret(version, expand(version, handshake, "req hs data", th1)),
            DirectionSecret(version, expand(version, handshake, "rsp hs data", th1)),
        )

    def master(self) -> bytes:
        """Return the master secret."""
        return primitives.hmac_sha384(expand(self.version, self.handshake, "derived"), _ZEROS)

    def session(self, th2: bytes) -> SessionSecrets:
        """Return the secrets of the session, bound to the transcript hash TH2."""
        master = self.master()
        return SessionSecrets(
            DirectionSecret(self.version, expand(self.version, master, "req app data", th2)),
            DirectionSecret(self.version, expand(self.version, master, "rsp app data", th2)),
            expand(self.version, master, "exp master", th2),
        )


@dataclass(frozen=True, slots=True)
class SessionSecrets:
    """The secrets after FINISH_RSP; ``export`` is handed out only once."""

    request: DirectionSecret
    response: DirectionSecret
    export: bytes = field(repr=False)


SECURED: Final = 0x06
SPDM: Final = 0x05
VENDOR: Final = 0x7E  #: The MCTP message type that Carnet's own messages travel under: vendor-defined (DSP0239).
LAST_SEQUENCE: Final = 0xFFFF
MAX_PAYLOAD: Final = 0xFFFF - primitives.TAG_BYTES - 3  #: The most that fits a record, after its size and type.


@dataclass(frozen=True, slots=True)
class SecuredRecord:
    """A record in its wire format."""

    session: int
    sequence: int
    sealed: bytes

    def associated_data(self) -> bytes:
        """Return the header, the associated data of the record's encryption."""
        header = self.session.to_bytes(4, "little") + self.sequence.to_bytes(2, "little")
        return header + len(self.sealed).to_bytes(2, "little")

    def encode(self) -> bytes:
        """Return the bytes of the record."""
        return bytes([SECURED]) + self.associated_data() + self.sealed

    @classmethod
    def parse(cls, data: bytes) -> SecuredRecord:
        """Read a record. Raises MalformedError if the bytes are none, or not exactly one."""
        reader = Reader(data, "secured record")
        reader.constant(bytes([SECURED]), "message type")
        session, sequence = reader.number(4, "session id"), reader.number(2, "sequence number")
        sealed = reader.take(reader.number(2, "size"), "ciphertext and tag")
        reader.end()
        return cls(session, sequence, sealed)


@dataclass(frozen=True, slots=True)
class RecordKeys:
    """One direction of a session: its secret and the next sequence number.

    Values do not change: sealing or opening returns the direction after the record.
    """

    session: int
    secret: DirectionSecret
    sequence: int = 0

    def seal(self, kind: int, payload: bytes, padding: bytes = b"") -> tuple[RecordKeys, bytes]:
        """Return the direction after the record, and the record of a message of type ``kind``.

        Raises RecordError if the payload is too long; SequenceError if the direction has no sequence number left.
        """
        if len(payload) + len(padding) > MAX_PAYLOAD:
            raise RecordError(f"{len(payload) + len(padding)} bytes do not fit a record of {MAX_PAYLOAD}")
        after = self._counted()
        plaintext = (len(payload) + 1).to_bytes(2, "little") + bytes([kind]) + payload + padding
        header = SecuredRecord(self.session, self.sequence, bytes(len(plaintext) + primitives.TAG_BYTES))
        sealed = primitives.AesGcm(self.secret.key).encrypt(self._nonce(), plaintext, header.associated_data())
        return after, replace(header, sealed=sealed).encode()

    def open(self, record: SecuredRecord) -> tuple[RecordKeys, int, bytes]:
        """Return the direction after ``record``, and the type and payload of its message.

        Raises SequenceError if it is another record of the direction: replayed, reordered, or one before it was lost;
        RecordError if it is of another session, or does not authenticate; MalformedError if it authenticates and holds
        no message.
        """
        if record.session != self.session:
            raise RecordError(f"a record of session {record.session:#010x} in session {self.session:#010x}")
        if record.sequence != self.sequence:
            raise SequenceError(f"sequence number {self.sequence} has to come next, and {record.sequence} came")
        after = self._counted()
        try:
            plaintext = primitives.AesGcm(self.secret.key).decrypt(
                self._nonce(), record.sealed, record.associated_data()
            )
        except primitives.AuthenticationError:
            raise RecordError(f"record {record.sequence} does not authenticate") from None
        kind, payload = _unpack(plaintext)
        return after, kind, payload

    def after_update(self) -> RecordKeys:
        """Return the direction after a KEY_UPDATE: the next secret, with sequence numbers from zero."""
        return RecordKeys(self.session, self.secret.after_update())

    def _counted(self) -> RecordKeys:
        if self.sequence > LAST_SEQUENCE:
            raise SequenceError("the direction has used all its sequence numbers")
        return replace(self, sequence=self.sequence + 1)

    def _nonce(self) -> bytes:
        base = int.from_bytes(self.secret.iv, "little")
        return (base ^ self.sequence).to_bytes(primitives.NONCE_BYTES, "little")


def _unpack(plaintext: bytes) -> tuple[int, bytes]:
    reader = Reader(plaintext, "secured message")
    size = reader.number(2, "size")
    if size == 0:
        raise MalformedError("secured message", "a message type", "nothing", 2)
    kind = reader.number(1, "message type")
    return kind, reader.take(size - 1, "message")


SECURED_VERSIONS: Final = (0x1100, 0x1200)  #: DSP0277 1.1 and 1.2, whose records are alike.
_SELECTION: Final = 0
_SUPPORT: Final = 1
_DMTF: Final = b"FTMD"


def offered_versions(version: Version) -> bytes:
    """Return the requester's opaque data: the supported versions of secured messages."""
    listed = b"".join(map(u16, SECURED_VERSIONS))
    return _element(version, bytes([1, _SUPPORT, len(SECURED_VERSIONS)]) + listed)


def selected_version(version: Version, offered: bytes) -> bytes:
    """Return the responder's opaque data: the version that it selects of those ``offered``.

    Raises MalformedError if the requester's is none; DowngradeError if it offers no version that Carnet speaks.
    """
    reader = Reader(_data(version, offered, _SUPPORT), "secured message versions")
    versions = [reader.number(2, "version") for _ in range(reader.number(1, "version count"))]
    reader.end()
    common = set(versions) & set(SECURED_VERSIONS)
    if not common:
        raise DowngradeError("the requester offers no version of secured messages from 1.1 on")
    return _element(version, bytes([1, _SELECTION]) + u16(max(common)))


def check_selected(version: Version, selected: bytes) -> None:
    """Check the version of secured messages that the responder's opaque data selects.

    Raises MalformedError if the data is malformed; DowngradeError if it selects a version that was not offered.
    """
    reader = Reader(_data(version, selected, _SELECTION), "secured message selection")
    choice = reader.number(2, "version")
    reader.end()
    if choice not in SECURED_VERSIONS:
        raise DowngradeError(f"the responder selects secured messages {choice >> 12}.{choice >> 8 & 15}")


def _element(version: Version, data: bytes) -> bytes:
    head = _DMTF + b"\1\1\0\0" if version < Version.V1_2 else b"\1\0\0\0"
    element = b"\0\0" + u16(len(data)) + data
    return head + element + bytes(-len(element) % 4)


def _data(version: Version, opaque: bytes, wanted: int) -> bytes:
    """Return the data of the DMTF's one element of the wanted kind."""
    reader = Reader(opaque, "opaque data")
    if version < Version.V1_2:
        reader.constant(_DMTF + b"\1", "general opaque data")
    count = reader.number(1, "element count")
    reader.take(2 if version < Version.V1_2 else 3, "reserved")
    found = None
    for _ in range(count):
        registry, vendor = reader.number(1, "registry"), reader.take(reader.number(1, "vendor size"), "vendor")
        data = reader.take(reader.number(2, "data size"), "data")
        reader.take(min(-(4 + len(vendor) + len(data)) % 4, reader.remaining), "padding")
        if registry == 0 and data[:2] == bytes([1, wanted]):
            found = data[2:]
    reader.end()
    if found is None:
        raise MalformedError("opaque data", f"a DMTF element of kind {wanted}", f"{count} others")
    return found
