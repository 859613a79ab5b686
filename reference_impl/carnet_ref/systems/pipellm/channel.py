"""A channel: two keys shared by both ends, IVs that are counted and never sent, and the receiving GPU.

A ciphertext and a command have one number, and a key each. The ciphertext says nothing of where its block goes, since
it may be made before anybody knows; the command says it.
"""

from dataclasses import dataclass
from typing import Final, NoReturn

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.wire import number, to_number


class PipeLlmError(Exception):
    """The protocol refuses something."""


class CopyError(PipeLlmError):
    """The application may not make a write or a copy; nothing has changed."""

    def __init__(self, page: int, reason: str) -> None:
        super().__init__(f"page {page}: {reason}")


class ChannelError(PipeLlmError):
    """A channel has ended, or is not available."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"message {number}: {reason}")


MAX_BLOCK: Final = 2**20  #: The most bytes that are encrypted under one IV. Source: PipeLLM's repository, pipellm.h.
MESSAGES: Final = 2**64 - 1  #: How many messages a channel has; no counter wraps.
SCRATCH: Final = MESSAGES  #: Where a NOP goes: no copy has this number.
NOP: Final = bytes(1)
_KEYS: Final = b"carnet pipellm channel"
_COMMAND: Final = b"carnet pipellm command"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one end of a channel."""

    blocks: bytes
    commands: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """A message in memory shared with the host, without IV and number."""

    ciphertext: bytes
    command: bytes


class Channel:
    """A channel with fresh keys, for one sender and one GPU."""

    def __init__(self, random: primitives.Random) -> None:
        drawn = primitives.hkdf_sha384(random(primitives.KEY_BYTES), b"", _KEYS, 2 * primitives.KEY_BYTES)
        self._keys = Keys(drawn[: primitives.KEY_BYTES], drawn[primitives.KEY_BYTES :])
        self._taken: set[str] = set()

    def for_tenant(self) -> Keys:
        """Return the tenant's end, only once. Raises ChannelError the second time."""
        return self._take("tenant")

    def for_gpu(self) -> Keys:
        """Return the GPU's end, only once. Raises ChannelError the second time."""
        return self._take("GPU")

    @enforces("REQ-KEY-01", "REQ-KEY-02", "own-key", "new-key")
    def _take(self, end: str) -> Keys:
        """Give an end away once: a counter that begins again begins under another key."""
        if end in self._taken:
            raise ChannelError(0, f"the {end}'s end of the channel was taken already")
        self._taken.add(end)
        return self._keys


def iv(count: int) -> bytes:
    """Return the IV of message number ``count``, from 0. Raises ChannelError if it is too large."""
    if not 0 <= count < MESSAGES:
        raise ChannelError(count, "the channel has no IV left")
    return count.to_bytes(primitives.NONCE_BYTES, "big")


def encrypt(keys: Keys, count: int, block: bytes) -> bytes:
    """Return ciphertext and tag of a block under the IV of message ``count``."""
    return primitives.AesGcm(keys.blocks).encrypt(iv(count), block)


def decrypt(keys: Keys, count: int, ciphertext: bytes) -> bytes:
    """Return the block in message ``count``. Raises AuthenticationError if it does not verify."""
    try:
        return primitives.AesGcm(keys.blocks).decrypt(iv(count), ciphertext)
    except primitives.AuthenticationError:
        raise primitives.AuthenticationError("the tag of the block") from None


def seal_command(keys: Keys, count: int, copy: int) -> bytes:
    """Return the sealed command of a message: the number of its copy, or that it goes to scratch memory."""
    return primitives.AesGcm(keys.commands).encrypt(iv(count), number(copy), _COMMAND)


def open_command(keys: Keys, count: int, command: bytes) -> int:
    """Return the number of the copy in the command of message ``count``.

    Raises AuthenticationError if it is the command of no message, or of another one.
    """
    try:
        return to_number(primitives.AesGcm(keys.commands).decrypt(iv(count), command, _COMMAND), "command", "copy")
    except primitives.AuthenticationError:
        raise primitives.AuthenticationError("the command") from None


class Gpu:
    """The GPU's end of one channel."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._counter = 0
        self._ended = False
        self._landed: dict[int, bytes] = {}

    @property
    def counter(self) -> int:
        """The number of decrypted messages, which is the IV of the next one."""
        return self._counter

    @property
    def landed_blocks(self) -> dict[int, bytes]:
        """The blocks that kernels read, by the number of their copy, in the order of arrival."""
        return dict(self._landed)

    def receive(self, message: Message) -> None:
        """Decrypt the next message, whatever the host says about it.

        Raises ChannelError if the channel has ended, or ends with this message; nothing of the message is kept.
        """
        if self._ended:
            raise ChannelError(self._counter, "the channel has ended")
        try:
            copy = open_command(self._keys, self._number(message), message.command)
            block = self._block(self._iv(message), message.ciphertext)
        except primitives.AuthenticationError as error:
            self._end(str(error))
        self._counter += 1
        if copy != SCRATCH:
            self._landed[copy] = block

    @enforces("REQ-RECEIVE-01", "implicit-counter")
    def _iv(self, message: Message) -> int:
        """Return the IV that a message is decrypted under, which is the counter's: nothing in the message names one."""
        del message
        return self._counter

    @enforces("REQ-RECEIVE-03", "command-counted")
    def _number(self, message: Message) -> int:
        """Return the number of the command that is expected with a message."""
        del message
        return self._counter

    @enforces("REQ-RECEIVE-02", "tag-checked")
    def _block(self, iv: int, ciphertext: bytes) -> bytes:
        if len(ciphertext) < primitives.TAG_BYTES:
            self._end(f"{len(ciphertext)} bytes have no tag")
        return decrypt(self._keys, iv, ciphertext)

    @enforces("REQ-RECEIVE-04", "fail-closed")
    def _end(self, reason: str) -> NoReturn:
        """End the channel: nobody knows what the host will send next, or what was lost."""
        self._ended = True
        raise ChannelError(self._counter, reason)
