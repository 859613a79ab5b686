"""Chunks: what a tag binds, and sealing, decrypting and verifying one chunk apart from all others.

A chunk is an IV, a ciphertext and a tag. AES-256-GCM decrypts in counter mode, and the tag is independent of that. So
decryption need not wait for the tag, and the tags of several chunks are computed side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES, AesGcm
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.wire import join, number

MAX_PLACES = 2**32
LEAST_BYTES = NONCE_BYTES + TAG_BYTES
"""What a chunk has at least."""
_LABEL = b"carnet fastrack chunk"
_FIRST_COUNTER = (2).to_bytes(4, "big")
"""The counter of the first block of plaintext; the one before masks the tag (SP 800-38D, section 7.1)."""


@dataclass(frozen=True, slots=True)
class Label:
    """Where a chunk belongs: in which transfer, at which place of it, and of how many."""

    transfer: int
    place: int
    count: int

    def __post_init__(self) -> None:
        if not (0 <= self.transfer < 2**64 and 0 <= self.place < self.count <= MAX_PLACES):
            raise ValueError(f"no place {self.place} of {self.count} in transfer {self.transfer}")

    @property
    def nonce(self) -> bytes:
        """The IV: eight bytes of the transfer and four of the place."""
        return self.transfer.to_bytes(8, "big") + self.place.to_bytes(4, "big")

    @enforces("REQ-SEND-03", "tag-transfer", "tag-place", "tag-number", "tag-last")
    def bound(self, checks: Checks = EVERY) -> bytes:
        """Return the associated data: transfer, place, number of chunks, and whether this is the last."""
        parts = {
            "tag-transfer": number(self.transfer),
            "tag-place": number(self.place),
            "tag-number": number(self.count),
            "tag-last": b"last" if self.place == self.count - 1 else b"more",
        }
        return join(_LABEL, *(part for defence, part in parts.items() if checks.insist_on(defence)))


def seal(key: bytes, label: Label, block: bytes, checks: Checks = EVERY) -> bytes:
    """Return IV, ciphertext and tag of a block."""
    return label.nonce + AesGcm(key).encrypt(label.nonce, block, label.bound(checks))


def decrypt(key: bytes, chunk: bytes) -> bytes:
    """Return what a chunk decrypts to. Nothing is verified, and anybody may have made it, so nobody may read it yet."""
    nonce, ciphertext = chunk[:NONCE_BYTES], chunk[NONCE_BYTES:-TAG_BYTES]
    opened = Cipher(AES(key), CTR(nonce + _FIRST_COUNTER)).decryptor()
    return opened.update(ciphertext) + opened.finalize()


@enforces("REQ-RECEIVE-04")
def verify(key: bytes, label: Label, chunk: bytes, checks: Checks = EVERY) -> None:
    """Check the tag of a chunk for the place that it is to fill.

    Raises:
        AuthenticationError: it does not verify.
    """
    AesGcm(key).decrypt(chunk[:NONCE_BYTES], chunk[NONCE_BYTES:], label.bound(checks))
