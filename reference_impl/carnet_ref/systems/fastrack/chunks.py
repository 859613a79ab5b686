"""Chunks: what a tag binds, and sealing, decrypting and verifying one chunk apart from all others.

AES-256-GCM decrypts in counter mode, and the tag is independent of that. So decryption need not wait for the tag, and
the tags of several chunks are computed side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from carnet_ref.crypto.primitives import TAG_BYTES, AesGcm
from carnet_ref.systems.fastrack.enforcement import enforces
from carnet_ref.wire.fields import join, number

MAX_PLACES = 2**32
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

    @property
    @enforces("REQ-SEND-03", "tag-transfer", "tag-place", "tag-number", "tag-last")
    def bound(self) -> bytes:
        """The associated data: transfer, place, number of chunks, and whether this is the last."""
        mark = b"last" if self.place == self.count - 1 else b"more"
        return join(_LABEL, number(self.transfer), number(self.place), number(self.count), mark)


def seal(key: bytes, label: Label, block: bytes) -> bytes:
    """Return ciphertext and tag of a block."""
    return AesGcm(key).encrypt(label.nonce, block, label.bound)


def decrypt(key: bytes, label: Label, chunk: bytes) -> bytes:
    """Return what a chunk decrypts to, whoever made it: nothing is verified, so nobody may read it yet."""
    opened = Cipher(AES(key), CTR(label.nonce + _FIRST_COUNTER)).decryptor()
    return opened.update(chunk[:-TAG_BYTES]) + opened.finalize()


@enforces("REQ-RECEIVE-04")
def verify(key: bytes, label: Label, chunk: bytes) -> None:
    """Check the tag of a chunk for the place that it is to fill.

    Raises:
        AuthenticationError: it does not verify.
    """
    AesGcm(key).decrypt(label.nonce, chunk, label.bound)
