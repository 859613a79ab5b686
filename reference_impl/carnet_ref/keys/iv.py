"""Which IV comes next, and what one says: a message counter and a channel counter, masked.

Five things tell one message of a session from all others, and each has a field of its own:

* engine and direction name the AES key, which belongs to a copy engine and a direction; they are not in the IV.
* The epoch names a hand-over. It is not in the IV either: epochs on one engine share its AES keys.
* The channel counter is 64 bits of the IV. Each epoch under the same AES key has a larger one than the epoch before.
* The message counter is 32 bits of the IV. Both ends count it for each message, from 1 in each epoch.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, cc_drv.h (layout), kernel_channel.c (783: a new channel increments the
engine's channel counter and takes it as its own), ccsl.c (the message counter is incremented before each encryption,
and its overflow is a hard stop).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from carnet_ref.crypto.primitives import NONCE_BYTES, KeyMaterialError
from carnet_ref.keys.errors import IvExhaustedError
from carnet_ref.keys.h100 import ENGINES, Direction

MESSAGE_BYTES: Final = 4
CHANNEL_BYTES: Final = 8
LAST_MESSAGE: Final = 2 ** (8 * MESSAGE_BYTES) - 1
LAST_CHANNEL: Final = 2 ** (8 * CHANNEL_BYTES) - 1


@dataclass(frozen=True, slots=True)
class EngineChannel:
    """One direction of a channel on a copy engine, in one epoch.

    A sealed link that is not a copy engine's has one channel, and leaves out the rest.

    Attributes:
        counter: its channel counter, which no other channel under the same AES key has.
        engine: the copy engine; with the direction it names the AES key.
        direction: which way it protects.
        epoch: the hand-over that it serves.
    """

    counter: int
    engine: int = 0
    direction: Direction = Direction.H2D
    epoch: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.counter <= LAST_CHANNEL:
            raise KeyMaterialError("channel counter", f"{self.counter}, not 0 to {LAST_CHANNEL}")
        if not 0 <= self.engine < ENGINES:
            raise KeyMaterialError("copy engine", f"{self.engine}, not 0 to {ENGINES - 1}")

    def __str__(self) -> str:
        return f"channel {self.counter} of engine {self.engine} ({self.direction.value}, epoch {self.epoch})"


ONE_CHANNEL: Final = EngineChannel(1)
"""The channel of a sealed link that has only one."""


@dataclass(frozen=True, slots=True)
class Iv:
    """What an IV says: the channel, and the number of the message in it.

    Raises:
        KeyMaterialError: the message counter has no such value.
    """

    channel: EngineChannel
    message: int

    def __post_init__(self) -> None:
        if not 0 <= self.message <= LAST_MESSAGE:
            raise KeyMaterialError("message counter", f"{self.message}, not 0 to {LAST_MESSAGE}")

    def __str__(self) -> str:
        return f"message {self.message} of {self.channel}"

    def masked(self, mask: int) -> bytes:
        """Return the bytes that AES-GCM takes: both counters, little-endian, XOR the mask."""
        counters = self.message | self.channel.counter << 8 * MESSAGE_BYTES
        return (counters ^ mask).to_bytes(NONCE_BYTES, "little")


def counter_after(last: int, engine: int) -> int:
    """Return the channel counter that follows ``last`` on an engine.

    Raises:
        IvExhaustedError: there is none; a counter never wraps.
    """
    if last >= LAST_CHANNEL:
        raise IvExhaustedError(f"engine {engine} has used all {LAST_CHANNEL} values of its channel counter")
    return last + 1


class IvCounter:
    """The IVs of one direction under one key, none of them given out twice.

    A counter can start after values that somebody else has used: ``IvCounter(channel, message=used)``.
    """

    __slots__ = ("_last", "_mask")

    def __init__(self, channel: EngineChannel, message: int = 0, mask: bytes = bytes(NONCE_BYTES)) -> None:
        if len(mask) != NONCE_BYTES:
            raise KeyMaterialError("IV mask", f"{len(mask)} bytes, not {NONCE_BYTES}")
        self._last = Iv(channel, message)
        self._mask = int.from_bytes(mask, "little")

    @property
    def last(self) -> Iv:
        """The IV given out last, with message counter zero before the first."""
        return self._last

    @property
    def channel(self) -> EngineChannel:
        """The channel whose IVs these are."""
        return self._last.channel

    @property
    def message(self) -> int:
        """The message counter: that of the last IV given out, zero before the first."""
        return self._last.message

    def advance(self) -> bytes:
        """Count one message and return its IV.

        Raises:
            IvExhaustedError: the message counter would overflow.
        """
        if self.message == LAST_MESSAGE:
            raise IvExhaustedError(f"{self.channel} has used all {LAST_MESSAGE} values of its message counter")
        self._last = Iv(self.channel, self.message + 1)
        return self._last.masked(self._mask)

    def skip_to(self, message: int) -> None:
        """Leave out every IV up to that of ``message``; a counter never goes back.

        Raises:
            KeyMaterialError: ``message`` lies behind, or past the end.
        """
        if not self.message <= message <= LAST_MESSAGE:
            raise KeyMaterialError(
                "message counter", f"from {self.message} to {message}, not forward to {LAST_MESSAGE} at most"
            )
        self._last = Iv(self.channel, message)
