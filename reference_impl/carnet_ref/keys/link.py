"""A link direction: AES-256-GCM over chunks, with IVs that both ends count and neither sends.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, uvm_hopper_ce.c: on the way to the device the IV is not transmitted,
and the GPU decrypts at its own next one. That is the replay protection: what is repeated, dropped or put in another
order does not authenticate. In conf_compute.c, such a failure ends the session.
"""

from __future__ import annotations

from typing import Final

from carnet_ref.crypto.primitives import KEY_BYTES, TAG_BYTES, AesGcm, Buffer, KeyMaterialError
from carnet_ref.keys.schedule import IvCounter, LinkDeadError
from carnet_ref.keys.usage import KeyUsage

CHUNK_BYTES: Final = 1 << 20
"""The largest plaintext of one message."""


class Sealer:
    """The sending end of a direction."""

    __slots__ = ("_cipher", "ivs", "usage")

    def __init__(self, key: bytes, ivs: IvCounter, usage: KeyUsage) -> None:
        self._cipher = _cipher(key)
        self.ivs = ivs
        self.usage = usage

    def seal_into(self, plaintext: Buffer, out: bytearray | memoryview) -> int:
        """Write the sealed chunk to ``out``, exactly 16 bytes longer than ``plaintext``; return its size.

        Limits are checked before anything is written.

        Raises:
            KeyMaterialError: the chunk is too long, or ``out`` has another size.
            KeyExhaustedError: the key has protected as much as it may.
            IvExhaustedError: the channel has no IV left.
        """
        size = len(plaintext)
        if size > CHUNK_BYTES or len(out) != size + TAG_BYTES:
            raise KeyMaterialError("chunk", f"{size} bytes into {len(out)}")
        self.usage.count(size)
        return self._cipher.encrypt_into(self.ivs.advance(), plaintext, out)

    def seal(self, plaintext: bytes) -> bytes:
        """Return the sealed chunk; errors are those of `seal_into`."""
        out = bytearray(len(plaintext) + TAG_BYTES)
        self.seal_into(plaintext, out)
        return bytes(out)


class Opener:
    """The receiving end of a direction; the first chunk that does not authenticate is its last."""

    __slots__ = ("_alive", "_cipher", "ivs", "usage")

    def __init__(self, key: bytes, ivs: IvCounter, usage: KeyUsage) -> None:
        self._cipher = _cipher(key)
        self._alive = True
        self.ivs = ivs
        self.usage = usage

    @property
    def alive(self) -> bool:
        """Whether every chunk so far authenticated."""
        return self._alive

    def open_into(self, sealed: Buffer, out: bytearray | memoryview) -> int:
        """Write the plaintext of the next chunk to ``out``, exactly 16 bytes shorter than ``sealed``; return its size.

        Limits are checked before anything is decrypted.

        Raises:
            AuthenticationError: it is not the next chunk of this key and channel; the direction is dead.
            KeyExhaustedError: the key has protected as much as it may; the direction is dead.
            IvExhaustedError: the channel has no IV left.
            KeyMaterialError: the chunk is too short or too long, or ``out`` has another size; the direction is dead.
            LinkDeadError: it was dead already.
        """
        if not self._alive:
            raise LinkDeadError("the link failed before and is not used again")
        self._alive = False
        size = len(sealed) - TAG_BYTES
        if not 0 <= size <= CHUNK_BYTES or len(out) != size:
            raise KeyMaterialError("sealed chunk", f"{len(sealed)} bytes into {len(out)}")
        self.usage.count(size)
        written = self._cipher.decrypt_into(self.ivs.advance(), sealed, out)
        self._alive = True
        return written

    def open(self, sealed: bytes) -> bytes:
        """Return the plaintext of the next chunk; errors are those of `open_into`."""
        out = bytearray(max(len(sealed) - TAG_BYTES, 0))
        self.open_into(sealed, out)
        return bytes(out)


def _cipher(key: bytes) -> AesGcm:
    if len(key) != KEY_BYTES:
        raise KeyMaterialError("link key", f"{len(key)} bytes, not {KEY_BYTES}")
    return AesGcm(key)
