"""Link keys and their IVs: expanded from the session's exported secret by label, and ratcheted by a public function.

Five things tell one message of a session from all others, and each has a field of its own:

* engine and direction name the AES key, which belongs to a copy engine and a direction; they are not in the IV.
* The epoch names a hand-over. It is not in the IV either: epochs on one engine share its AES keys.
* The channel counter is 64 bits of the IV. Each epoch under the same AES key has a larger one than the epoch before.
* The message counter is 32 bits of the IV. Both ends count it for each message, from 1 in each epoch.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, conf_compute_keystore_gh100.c (derivation at 139-210, rotation at
397-455), cc_keystore.h (labels), spdm.c (738-762: the secret is retrieved once, and its first 32 bytes are the EMK),
cc_drv.h (layout of IVs), kernel_channel.c (783: a new channel increments the engine's channel counter and takes it as
its own), ccsl.c (the message counter is incremented before each encryption, and its overflow is a hard stop).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Final, Protocol

from carnet_ref.crypto.primitives import KEY_BYTES, NONCE_BYTES, KeyMaterialError, Random, hkdf_expand_sha256, sha256


class KeysError(Exception):
    """Something about link keys that was refused."""


class SecretTakenError(KeysError):
    """A secret that is exported once was asked for again, or was wiped."""


class IvExhaustedError(KeysError):
    """Every message counter value of a channel has been used."""


class KeyExhaustedError(KeysError):
    """A key would protect more than its limit.

    Attributes:
        amount: how much it would have protected.
        limit: how much it may.
        unit: what is counted: work units or messages.
    """

    def __init__(self, amount: int, limit: int, unit: str = "work units") -> None:
        super().__init__(f"key limit: {amount} {unit}, and no more than {limit} are allowed under one key")
        self.amount = amount
        self.limit = limit
        self.unit = unit


class LinkDeadError(KeysError):
    """A link direction that failed once is used again."""


class OrderRefusedError(KeysError):
    """A rotation order that the end refuses to follow.

    Attributes:
        check: the name of the check that refused it.
    """

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(f"{check}: {reason}")
        self.check = check


class EnginesExhaustedError(KeysError):
    """More owners of keys than there are copy engines for them in one session."""


class ResetNeededError(KeysError):
    """The session was lent before, and the schedule asks for a new one first."""


ENGINES: Final = 8
"""Copy engines with keys of their own on GH100: LCE0 to LCE7."""


class Direction(Enum):
    """Which way a half of a key pair protects."""

    H2D = "h2d"
    D2H = "d2h"


def engine_label(engine: int, direction: Direction) -> str:
    """Return the label of a copy engine's user key, such as ``Lce00_h2d_user``.

    Raises KeyMaterialError if there is no such engine.
    """
    if not 0 <= engine < ENGINES:
        raise KeyMaterialError("copy engine", f"{engine}, not 0 to {ENGINES - 1}")
    return f"Lce{engine:02d}_{direction.value}_user"


def ratchet(key: bytes, label: str) -> bytes:
    """Return the key that follows ``key``. Anybody who has ``key`` can derive it: there is no other secret input.

    Raises KeyMaterialError if the key is not 32 bytes, or zero, which the driver takes as fatal.
    """
    if len(key) != KEY_BYTES or not any(key):
        raise KeyMaterialError("link key", "not 32 bytes, or zero")
    return hkdf_expand_sha256(sha256(key), label.encode("ascii"))


class OneTimeSecret:
    """A secret that can be taken once, and is gone from here then."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret: bytes | None = secret

    def take(self) -> bytes:
        """Return the secret, the first time. Raises SecretTakenError if it was taken or wiped."""
        if self._secret is None:
            raise SecretTakenError("the secret was exported or wiped before")
        secret, self._secret = self._secret, None
        return secret

    def wipe(self) -> None:
        """Forget the secret."""
        self._secret = None

    def __repr__(self) -> str:
        return "OneTimeSecret(…)"


class H100KeySchedule:
    """Every key of one session, by label and epoch, from the export master key (EMK) that both ends hold."""

    __slots__ = ("_emk",)

    def __init__(self, emk: bytes) -> None:
        if len(emk) != KEY_BYTES:
            raise KeyMaterialError("export master key", f"{len(emk)} bytes, not {KEY_BYTES}")
        self._emk: bytes | None = emk

    @classmethod
    def of_session(cls, exported_master_secret: bytes) -> H100KeySchedule:
        """Return the schedule of a session that exported this secret."""
        return cls(exported_master_secret[:KEY_BYTES])

    def key(self, label: str, epoch: int = 0) -> bytes:
        """Return the 32-byte key of ``label`` after ``epoch`` rotations.

        Raises SecretTakenError if the EMK was wiped.
        """
        if self._emk is None:
            raise SecretTakenError("the export master key was wiped")
        key = hkdf_expand_sha256(self._emk, label.encode("ascii"))
        for _ in range(epoch):
            key = ratchet(key, label)
        return key

    def wipe(self) -> None:
        """Forget the EMK; keys that were derived live on where they are held."""
        self._emk = None

    def __repr__(self) -> str:
        return "H100KeySchedule(…)"


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

    Raises IvExhaustedError if there is none; a counter never wraps.
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
        """Count one message and return its IV. Raises IvExhaustedError if the message counter would overflow."""
        if self.message == LAST_MESSAGE:
            raise IvExhaustedError(f"{self.channel} has used all {LAST_MESSAGE} values of its message counter")
        self._last = Iv(self.channel, self.message + 1)
        return self._last.masked(self._mask)

    def skip_to(self, message: int) -> None:
        """Leave out every IV up to that of ``message``; a counter never goes back.

        Raises KeyMaterialError if ``message`` lies behind, or past the end.
        """
        if not self.message <= message <= LAST_MESSAGE:
            raise KeyMaterialError(
                "message counter", f"from {self.message} to {message}, not forward to {LAST_MESSAGE} at most"
            )
        self._last = Iv(self.channel, message)


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

        Raises MalformedError if it is no order of this schedule; OrderRefusedError if this end refuses the order.
        """
