"""What both ends of a link know of a key, and what they ask of a key schedule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from carnet_ref.crypto.primitives import NONCE_BYTES, Random
from carnet_ref.keys.h100 import Direction
from carnet_ref.keys.iv import EngineChannel, IvCounter


@dataclass(frozen=True, slots=True)
class LinkKeys:
    """Both halves of a link key, whose epoch it is, and where its IVs start."""

    epoch: int
    owner: str
    engine: int
    channel: int
    h2d: bytes = field(repr=False)
    d2h: bytes = field(repr=False)
    h2d_mask: bytes = bytes(NONCE_BYTES)
    d2h_mask: bytes = bytes(NONCE_BYTES)

    def half(self, direction: Direction) -> bytes:
        """Return the key of one direction."""
        return self.h2d if direction is Direction.H2D else self.d2h

    def mask(self, direction: Direction) -> bytes:
        """Return the IV mask of one direction."""
        return self.h2d_mask if direction is Direction.H2D else self.d2h_mask

    def ivs(self, direction: Direction, message: int = 0) -> IvCounter:
        """Return the IVs of one direction, after the first ``message`` of them."""
        channel = EngineChannel(self.channel, self.engine, direction, self.epoch)
        return IvCounter(channel, message, self.mask(direction))


class KeySchedule(Protocol):
    """What both ends of a link ask of a schedule."""

    name: ClassVar[str]

    @property
    def keys(self) -> LinkKeys:
        """The keys of the current epoch."""

    def used_again(self, owner: str) -> LinkKeys | None:
        """Return the keys that the next epoch of ``owner`` goes on with, or nothing if a rotation makes new ones."""

    def order(self, owner: str, random: Random) -> bytes:
        """Return the order to rotate to a key that ``owner`` owns; nothing changes until it is followed.

        Raises:
            EnginesExhaustedError: there is no engine left for a new owner.
            ResetNeededError: the session was lent before and the schedule needs a new one.
        """

    def follow(self, order: bytes) -> LinkKeys:
        """Rotate as ordered and return the new keys.

        Raises:
            MalformedError: it is no order of this schedule.
            OrderRefusedError: this end refuses the order.
        """
