"""The GPU: decrypts each message under its own counter, and puts the block where the command of that number says."""

from __future__ import annotations

from typing import NoReturn

from carnet_ref.crypto.primitives import TAG_BYTES, AuthenticationError
from carnet_ref.marks import enforces
from carnet_ref.systems.pipellm.channel import SCRATCH, Keys, Message, decrypt, open_command
from carnet_ref.systems.pipellm.errors import ChannelError


class Gpu:
    """The GPU's end of one channel."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._counter = 0
        self._ended = False
        self._landed: dict[int, bytes] = {}

    @property
    def counter(self) -> int:
        """How many messages were decrypted, which is the IV of the next."""
        return self._counter

    @property
    def landed(self) -> dict[int, bytes]:
        """What kernels read: copies by their number, in the order in which they came."""
        return dict(self._landed)

    def receive(self, message: Message) -> None:
        """Decrypt the next message, whatever the host says that it is.

        Raises:
            ChannelError: the channel has ended, or ends with this message; nothing of the message is kept.
        """
        self._refuse_if_ended()
        try:
            copy = open_command(self._keys, self._number(message), message.command)
            block = self._block(self._iv(message), message.ciphertext)
        except AuthenticationError as error:
            self._end(str(error))
        self._counter += 1
        self._put(copy, block)

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
        if len(ciphertext) < TAG_BYTES:
            self._end(f"{len(ciphertext)} bytes have no tag")
        return decrypt(self._keys, iv, ciphertext)

    def _put(self, copy: int, block: bytes) -> None:
        if copy != SCRATCH:
            self._landed[copy] = block

    def _refuse_if_ended(self) -> None:
        if self._ended:
            raise ChannelError(self._counter, "the channel has ended")

    @enforces("REQ-RECEIVE-04", "fail-closed")
    def _end(self, reason: str) -> NoReturn:
        """End the channel: nobody knows what the host will send next, or what was lost."""
        self._ended = True
        raise ChannelError(self._counter, reason)
