"""Frames: what the host sees, and what is sealed inside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES, AesGcm, sha256
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.sgx_lkl.shape import Operation
from carnet_ref.wire import join, number

SEALED_BYTES = NONCE_BYTES + TAG_BYTES
"""What sealing adds."""
_FIRST_COUNTER = (2).to_bytes(4, "big")


class Direction(Enum):
    """Which way a frame goes."""

    OUT = "out"
    IN = "in"


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of the host: all of it is seen, and the content is sealed in ``body``."""

    tick: int
    operation: Operation
    address: int
    moment: int
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the host sees of a frame apart from its bytes, which mean nothing to it."""

    tick: int
    direction: Direction
    operation: str
    address: int
    moment: int
    size: int


def seen(frame: Frame, direction: Direction = Direction.OUT) -> Seen:
    """Return what the host sees of a frame."""
    return Seen(frame.tick, direction, frame.operation.value, frame.address, frame.moment, len(frame.body))


@dataclass(slots=True)
class Sealer:
    """Seals under one key, with an IV for each message that is counted and never comes back.

    A label is bound with every message. Two sealers under one key would use the same IVs, so each key has one.
    """

    key: bytes
    label: bytes
    checks: Checks = EVERY
    used: int = 0

    @enforces("REQ-CONTENT-01", "CLAIM-EQUALITY", "fresh-iv")
    def seal(self, tick: int, content: bytes, label: bytes = b"") -> bytes:
        """Return IV, ciphertext and tag of what belongs to a tick, bound to a label of its own if it has one."""
        if self.checks.insist_on("fresh-iv"):
            nonce = self.used.to_bytes(NONCE_BYTES, "big")
            self.used += 1
        else:
            nonce = sha256(content)[:NONCE_BYTES]
        return nonce + AesGcm(self.key).encrypt(nonce, content, bound(label or self.label, tick))


def bound(label: bytes, tick: int) -> bytes:
    """Return the associated data of what belongs to a tick."""
    return join(label, number(tick))


def opened(key: bytes, label: bytes, tick: int, body: bytes) -> bytes:
    """Return what was sealed for a tick.

    Raises:
        AuthenticationError: it does not verify.
    """
    return AesGcm(key).decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], bound(label, tick))


def unverified(key: bytes, body: bytes) -> bytes:
    """Decrypt bytes without verification; only a design that leaves it out uses this."""
    decryptor = Cipher(AES(key), CTR(body[:NONCE_BYTES] + _FIRST_COUNTER)).decryptor()
    return decryptor.update(body[NONCE_BYTES:-TAG_BYTES]) + decryptor.finalize()


def equal(one: Frame, other: Frame) -> bool:
    """Whether the host sees two frames carry equal ciphertexts under equal IVs."""
    return one.body[:-TAG_BYTES] == other.body[:-TAG_BYTES]
