"""Which IV comes next: a message counter and a channel counter, masked.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, cc_drv.h (layout), ccsl.c (the message counter is incremented before
each encryption, and its overflow is a hard stop).
"""

from __future__ import annotations

from typing import Final

from carnet_ref.crypto.primitives import NONCE_BYTES, KeyMaterialError
from carnet_ref.keys.errors import IvExhaustedError

LAST_MESSAGE: Final = 2**32 - 1
LAST_CHANNEL: Final = 2**64 - 1


class IvCounter:
    """The IVs of one direction under one key, none of them given out twice.

    An IV is the 32-bit message counter and the 64-bit channel counter, both little-endian, XOR the mask. A counter
    can start after values that somebody else has used: ``IvCounter(channel, message=used)``.
    """

    __slots__ = ("_channel", "_mask", "_message")

    def __init__(self, channel: int, message: int = 0, mask: bytes = bytes(NONCE_BYTES)) -> None:
        if not 0 <= channel <= LAST_CHANNEL or not 0 <= message <= LAST_MESSAGE:
            raise KeyMaterialError("IV counter", f"channel {channel}, message {message}")
        if len(mask) != NONCE_BYTES:
            raise KeyMaterialError("IV mask", f"{len(mask)} bytes, not {NONCE_BYTES}")
        self._channel = channel
        self._message = message
        self._mask = int.from_bytes(mask, "little")

    @property
    def channel(self) -> int:
        """The channel counter."""
        return self._channel

    @property
    def message(self) -> int:
        """The message counter: that of the last IV given out, zero before the first."""
        return self._message

    def advance(self) -> bytes:
        """Count one message and return its IV.

        Raises:
            IvExhaustedError: the message counter would overflow.
        """
        if self._message == LAST_MESSAGE:
            raise IvExhaustedError(f"channel {self._channel} has used its {LAST_MESSAGE} IVs")
        self._message += 1
        counters = self._message | self._channel << 32
        return (counters ^ self._mask).to_bytes(NONCE_BYTES, "little")

    def skip_to(self, message: int) -> None:
        """Leave out every IV up to that of ``message``; a counter never goes back.

        Raises:
            KeyMaterialError: ``message`` lies behind, or past the end.
        """
        if not self._message <= message <= LAST_MESSAGE:
            raise KeyMaterialError("IV counter", f"from message {self._message} to {message}")
        self._message = message
