"""Words: what is signed under a replica's key in a chain, and how entries and logs are sealed for its members."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import (
    KEY_BYTES,
    NONCE_BYTES,
    AesGcm,
    AuthenticationError,
    hkdf_sha384,
    sha384,
    sign_p384,
    verify_p384,
)
from carnet_ref.marks import enforces
from carnet_ref.systems.teechain.errors import ChainError
from carnet_ref.systems.teechain.plans import fields
from carnet_ref.wire import MalformedError, join, number, split, to_number, to_text

UPDATE = b"update"
VOTE = b"vote"
_WORD = b"carnet teechain word"
_ENTRY = b"carnet teechain entry"
_LOG = b"carnet teechain log"
_ONCE = bytes(NONCE_BYTES)
"""The IV of a key that seals one message."""


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry as a replica keeps it: what it says, the head's word on it, and the replica's state with it."""

    entry: bytes
    proposed: bytes
    version: int = 0


Log = dict[int, Logged]
"""The entries of one chain, by number."""


def word(key: ec.EllipticCurvePrivateKey, chain: bytes, member: str, at: int, entry: bytes) -> bytes:
    """Return a member's word that it logged an entry."""
    return sign_p384(key, _word(chain, member, at, entry))


def check_word(point: bytes, signature: bytes, chain: bytes, member: str, at: int, entry: bytes) -> None:
    """Check that a member logged an entry.

    Raises:
        ChainError: this is not its word.
    """
    check_signature(point, signature, _word(chain, member, at, entry), f"the word of {member} on entry {at}")


def check_signature(point: bytes, signature: bytes, signed: bytes, what: str) -> None:
    """Check a signature under a listed key.

    Raises:
        ChainError: it does not verify.
    """
    try:
        verify_p384(ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), point), signature, signed, what)
    except (AuthenticationError, ValueError) as error:
        raise ChainError(str(error)) from None


def _word(chain: bytes, member: str, at: int, entry: bytes) -> bytes:
    return join(_WORD, chain, member.encode(), number(at), sha384(entry))


@dataclass(frozen=True, slots=True)
class Update:
    """An entry on its way down the chain, with the words of all who logged it so far."""

    chain: bytes
    at: int
    sealed: bytes
    words: tuple[tuple[str, bytes], ...]

    def encode(self) -> bytes:
        """Return the update as bytes."""
        words = join(*(part for name, signature in self.words for part in (name.encode(), signature)))
        return join(UPDATE, self.chain, number(self.at), self.sealed, words)

    @classmethod
    def decode(cls, data: bytes) -> Update:
        """Return the update in some bytes.

        Raises:
            ChainError: they are none.
        """
        try:
            label, chain, at, sealed, words = split(data, "update", "label", "chain", "number", "entry", "words")
            parts = fields(words, "update")
            names = [to_text(each, "update", "name") for each in parts[::2]]
            counted = to_number(at, "update", "number")
        except MalformedError as error:
            raise ChainError(str(error)) from None
        if label != UPDATE or len(parts) % 2:
            raise ChainError("no update")
        return cls(chain, counted, sealed, tuple(zip(names, parts[1::2], strict=True)))


@enforces("CLAIM-IV-UNIQUE")
def seal_entry(secret: bytes, chain: bytes, at: int, entry: bytes) -> bytes:
    """Seal an entry for the members of a chain; the IV is the number of the entry, which is used once."""
    return AesGcm(_key(secret, _ENTRY, chain)).encrypt(_iv(at), entry, _bound(chain, at))


def open_entry(secret: bytes, update: Update) -> bytes:
    """Return the entry in an update.

    Raises:
        ChainError: it is of another chain, or was changed.
    """
    try:
        key = AesGcm(_key(secret, _ENTRY, update.chain))
        return key.decrypt(_iv(update.at), update.sealed, _bound(update.chain, update.at))
    except AuthenticationError as error:
        raise ChainError(f"entry {update.at} does not open: {error}") from None


def seal_log(secret: bytes, label: bytes, log: Log) -> bytes:
    """Seal a whole log under a key for this label alone."""
    return AesGcm(_key(secret, _LOG, label)).encrypt(_ONCE, encode_log(log), label)


def open_log(secret: bytes, label: bytes, sealed: bytes) -> Log:
    """Return a log that was sealed for this label.

    Raises:
        ChainError: it was not.
    """
    try:
        return decode_log(AesGcm(_key(secret, _LOG, label)).decrypt(_ONCE, sealed, label))
    except AuthenticationError as error:
        raise ChainError(f"the log does not open: {error}") from None


def encode_log(log: Log) -> bytes:
    """Return a log as bytes."""
    return join(*(part for at in sorted(log) for part in _parts(at, log[at])))


def _parts(at: int, logged: Logged) -> tuple[bytes, ...]:
    return number(at), number(logged.version), logged.entry, logged.proposed


def decode_log(data: bytes) -> Log:
    """Return the log in some bytes.

    Raises:
        ChainError: they are none.
    """
    try:
        parts = fields(data, "log")
        numbers = [to_number(each, "log", "number") for each in parts[::4]]
        versions = [to_number(each, "log", "version") for each in parts[1::4]]
    except MalformedError as error:
        raise ChainError(str(error)) from None
    if len(parts) % 4:
        raise ChainError("no log")
    rows = zip(numbers, parts[2::4], parts[3::4], versions, strict=True)
    return {at: Logged(entry, proposed, version) for at, entry, proposed, version in rows}


def _key(secret: bytes, label: bytes, what: bytes) -> bytes:
    return hkdf_sha384(secret, what, label, KEY_BYTES)


def _iv(at: int) -> bytes:
    return at.to_bytes(NONCE_BYTES, "big")


def _bound(chain: bytes, at: int) -> bytes:
    return join(_ENTRY, chain, number(at))
