"""A channel: two keys that the two ends alone have, IVs that are counted and never sent, and what a message is.

A ciphertext and a command have one number, and a key each. The ciphertext says nothing of where its block goes, since
it may be made before anybody knows; the command says it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from carnet_ref.crypto.primitives import KEY_BYTES, NONCE_BYTES, AesGcm, AuthenticationError, Random, hkdf_sha384
from carnet_ref.marks import enforces
from carnet_ref.systems.pipellm.errors import ChannelError
from carnet_ref.wire import number, to_number

MAX_BLOCK: Final = 2**20
"""The most bytes that are encrypted under one IV. Source: PipeLLM's repository, pipellm.h."""
MESSAGES: Final = 2**64 - 1
"""How many messages a channel has; no counter wraps."""
SCRATCH: Final = MESSAGES
"""Where a NOP goes: no copy has this number."""
NOP: Final = bytes(1)
_KEYS: Final = b"carnet pipellm channel"
_COMMAND: Final = b"carnet pipellm command"


@dataclass(frozen=True, slots=True)
class Keys:
    """What one end of a channel has."""

    blocks: bytes
    commands: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """What lies in memory that is shared with the host: no IV, and no number."""

    ciphertext: bytes
    command: bytes


class Channel:
    """A channel with keys that were never used, for one sender and one GPU."""

    def __init__(self, random: Random) -> None:
        drawn = hkdf_sha384(random(KEY_BYTES), b"", _KEYS, 2 * KEY_BYTES)
        self._keys = Keys(drawn[:KEY_BYTES], drawn[KEY_BYTES:])
        self._taken: set[str] = set()

    def for_tenant(self) -> Keys:
        """Return the tenant's end, once.

        Raises:
            ChannelError: somebody has it already.
        """
        return self._take("tenant")

    def for_gpu(self) -> Keys:
        """Return the GPU's end, once.

        Raises:
            ChannelError: somebody has it already.
        """
        return self._take("GPU")

    @enforces("REQ-KEY-01", "REQ-KEY-02", "own-key", "new-key")
    def _take(self, end: str) -> Keys:
        """Give an end away once: a counter that begins again begins under another key."""
        if end in self._taken:
            raise ChannelError(0, f"the {end}'s end of the channel was taken already")
        self._taken.add(end)
        return self._keys


def iv(count: int) -> bytes:
    """Return the IV of the message that so many came before.

    Raises:
        ChannelError: the channel has no further one.
    """
    if not 0 <= count < MESSAGES:
        raise ChannelError(count, "the channel has no IV left")
    return count.to_bytes(NONCE_BYTES, "big")


def encrypt(keys: Keys, count: int, block: bytes) -> bytes:
    """Return the ciphertext and the tag of a block under the IV of a message."""
    return AesGcm(keys.blocks).encrypt(iv(count), block)


def decrypt(keys: Keys, count: int, ciphertext: bytes) -> bytes:
    """Return the block in a message.

    Raises:
        AuthenticationError: it was not encrypted under this key and this IV.
    """
    try:
        return AesGcm(keys.blocks).decrypt(iv(count), ciphertext)
    except AuthenticationError:
        raise AuthenticationError("the tag of the block") from None


def seal_command(keys: Keys, count: int, copy: int) -> bytes:
    """Return the command of a message: which copy it is, or that it goes to scratch memory."""
    return AesGcm(keys.commands).encrypt(iv(count), number(copy), _COMMAND)


def open_command(keys: Keys, count: int, command: bytes) -> int:
    """Return which copy the message of this number is.

    Raises:
        AuthenticationError: it is the command of no message, or of another one.
    """
    try:
        return to_number(AesGcm(keys.commands).decrypt(iv(count), command, _COMMAND), "command", "copy")
    except AuthenticationError:
        raise AuthenticationError("the command") from None
