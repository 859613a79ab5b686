"""Link keys: where they come from, which IV comes next, how much a key has protected, and the link that uses them.

Keys are expanded from the session's exported secret by label, and ratcheted by a public function. Five things tell one
message of a session from all others, and each has a field of its own:

* engine and direction name the AES key, which belongs to a copy engine and a direction; they are not in the IV.
* The epoch names a hand-over. It is not in the IV either: epochs on one engine share its AES keys.
* The channel counter is 64 bits of the IV. Each epoch under the same AES key has a larger one than the epoch before.
* The message counter is 32 bits of the IV. Both ends count it for each message, from 1 in each epoch. On the way to the
  device the IV is not transmitted, and the GPU decrypts at its own next one. That is the replay protection: what is
  repeated, dropped or put in another order does not authenticate, which ends the session.

The count of a key covers all epochs that use it, encryption and decryption alike. A key is looked up on its copy
engine, by a name that says nothing about it. A rotation either keeps the key of an engine, and then its count goes
on, or puts one there that was never used; no schedule goes back to a key that it left.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, conf_compute_keystore_gh100.c (derivation at 139-210, rotation at
397-455), cc_keystore.h (labels), spdm.c (738-762: the secret is retrieved once, and its first 32 bytes are the EMK),
cc_drv.h (layout of IVs), kernel_channel.c (783: a new channel increments the engine's channel counter and takes it as
its own), ccsl.c (the message counter is incremented before each encryption, and its overflow is a hard stop),
uvm_hopper_ce.c (implicit IVs), conf_compute_key_rotation.c (use is counted for each key pair, and cleared when the key
changes), conf_compute.c (192), ctrlc56f.h: the work unit is bytes / 16 plus encrypt operations; the limits follow
draft-irtf-cfrg-aead-limits for an advantage, one key at a time (`carnet_ref.crypto.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar, Final, NamedTuple, Protocol

from carnet_ref.crypto.bounds import driver_units
from carnet_ref.crypto.primitives import (
    KEY_BYTES,
    NONCE_BYTES,
    TAG_BYTES,
    AesGcm,
    Buffer,
    KeyMaterialError,
    Random,
    hkdf_expand_sha256,
    sha256,
)


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


# -- use ---------------------------------------------------------------------------------------------------------------

MARGIN: Final = 1_000_000_000
"""How many work units before its limit a key is due to rotate."""
BLOCK_BYTES: Final = 16
UNLIMITED: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Budget:
    """A share in the use of a key: so many messages, and so many work units."""

    messages: int = 0
    units: int = 0

    @classmethod
    def of(cls, sizes: Iterable[int]) -> Budget:
        """Return what messages of these sizes take, each rounded up to whole blocks."""
        blocks = [-(-size // BLOCK_BYTES) for size in sizes]
        return cls(len(blocks), sum(blocks) + len(blocks))

    def covers(self, other: Budget) -> bool:
        """Return whether ``other`` is no larger in either count."""
        return other.messages <= self.messages and other.units <= self.units

    def __str__(self) -> str:
        return f"{self.messages:,} messages and {self.units:,} work units"


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """When a key is due to rotate, and when it must not be used any more, both in work units.

    ``messages`` limits them too, in either direction; the driver has no such limit.
    """

    lower: int
    upper: int
    messages: int = UNLIMITED

    def __post_init__(self) -> None:
        if not 0 < self.lower <= self.upper or self.messages < 1:
            raise KeyMaterialError("key limits", f"lower {self.lower}, upper {self.upper}, messages {self.messages}")

    @classmethod
    def for_advantage(cls, exponent: int = 60) -> UsageLimits:
        """Return the driver's limits for an attacker advantage of 2^-exponent against one key (`crypto.bounds`).

        Raises KeyMaterialError if the driver has no limit for that exponent.
        """
        upper = driver_units(exponent)
        return cls(upper - MARGIN, upper)

    @classmethod
    def for_messages(cls, messages: int) -> UsageLimits:
        """Return the driver's limits, with no more than so many messages under one key.

        Raises KeyMaterialError if that is none.
        """
        return replace(cls.for_advantage(), messages=messages)

    @classmethod
    def within(cls, budget: Budget) -> UsageLimits:
        """Return the limits of somebody who was lent a share of a key.

        Raises KeyMaterialError if the share is nothing.
        """
        return cls(budget.units, budget.units, budget.messages)


class UsageState(Enum):
    """Where a key stands with its limits."""

    IDLE = "idle"
    ROTATION_DUE = "rotation due"


class UsageSummary(NamedTuple):
    """How much a key protected, what was lent included, and how much it may."""

    messages: int
    most_messages: int
    units: int
    most_units: int

    @property
    def within(self) -> bool:
        """Whether no limit was passed."""
        return self.messages <= self.most_messages and self.units <= self.most_units


class KeyUsage:
    """The count of what one key has protected, whichever party used it.

    Bytes and operations are counted apart and the unit formed once, so that many short messages are not rounded away.
    What is lent counts as used, until the borrower says how much of it was.
    """

    __slots__ = ("_bytes", "_lent", "_limits", "_operations")

    def __init__(self, limits: UsageLimits | None = None, used_bytes: int = 0, operations: int = 0) -> None:
        self._limits = limits or UsageLimits.for_advantage()
        self._bytes = used_bytes
        self._operations = operations
        self._lent = Budget()

    @property
    def used_bytes(self) -> int:
        """Plaintext bytes protected."""
        return self._bytes

    @property
    def operations(self) -> int:
        """Messages protected, and those that were lent."""
        return self._operations + self._lent.messages

    @property
    def units(self) -> int:
        """Work units: bytes / 16 plus operations, and those that were lent."""
        return self._bytes // BLOCK_BYTES + self._operations + self._lent.units

    @property
    def left(self) -> Budget:
        """What the key may still protect; a block that was begun counts as used."""
        units = -(-self._bytes // BLOCK_BYTES) + self._operations + self._lent.units
        return Budget(max(0, self._limits.messages - self.operations), max(0, self._limits.upper - units))

    @property
    def state(self) -> UsageState:
        """Whether the key is due to rotate."""
        return UsageState.ROTATION_DUE if self.units >= self._limits.lower else UsageState.IDLE

    @property
    def standing(self) -> UsageSummary:
        """What was used, beside what may be."""
        return UsageSummary(self.operations, self._limits.messages, self.units, self._limits.upper)

    def count(self, size: int, operations: int = 1) -> None:
        """Count ``operations`` that protect ``size`` bytes in all, before they are carried out.

        Raises KeyExhaustedError if the key would be used past its limit; nothing is counted.
        """
        self._count(size, operations, self._lent)

    def lend(self, most: Budget) -> Budget:
        """Return what somebody else may use of the key, no more than ``most``; it counts as used from now on."""
        left = self.left
        lent = Budget(min(left.messages, most.messages), min(left.units, most.units))
        self._lent = Budget(self._lent.messages + lent.messages, self._lent.units + lent.units)
        return lent

    def settle(self, lent: Budget, size: int, operations: int) -> None:
        """Count what a borrower protected in the place of what it was lent.

        Raises KeyExhaustedError if that is more than it was lent, and all of it still counts as used.
        """
        units = size // BLOCK_BYTES + operations
        if operations > lent.messages:
            raise KeyExhaustedError(operations, lent.messages, "messages")
        if units > lent.units:
            raise KeyExhaustedError(units, lent.units)
        self._count(size, operations, Budget(self._lent.messages - lent.messages, self._lent.units - lent.units))

    def _count(self, size: int, operations: int, lent: Budget) -> None:
        units = (self._bytes + size) // BLOCK_BYTES + self._operations + operations + lent.units
        messages = self._operations + operations + lent.messages
        if units > self._limits.upper:
            raise KeyExhaustedError(units, self._limits.upper)
        if messages > self._limits.messages:
            raise KeyExhaustedError(messages, self._limits.messages, "messages")
        self._bytes, self._operations, self._lent = self._bytes + size, self._operations + operations, lent


_NAME_BYTES = 16


@dataclass(frozen=True, slots=True)
class KeyUsageRecord:
    """How much one AES key protected, as one end counts it; a key of no copy engine has no ``engine``."""

    engine: int | None
    way: str
    standing: UsageSummary

    def to_json(self) -> dict[str, object]:
        """Return it as JSON values; what has no limit has none."""
        messages, most_messages, units, most_units = self.standing
        return {
            "engine": self.engine,
            "direction": self.way,
            "messages": messages,
            "most_messages": None if most_messages == UNLIMITED else most_messages,
            "units": units,
            "most_units": most_units,
            "within": self.standing.within,
        }


class KeyLedger:
    """How much the keys of one end of a session have protected, by all who used them.

    ``own`` are the counts of the session's own keys, which belong to no copy engine.
    """

    __slots__ = ("_accounts", "_limits", "_replaced", "own")

    def __init__(self, limits: UsageLimits) -> None:
        self._limits = limits
        self._accounts: dict[tuple[int, Direction], tuple[bytes, KeyUsage]] = {}
        self.own: dict[str, KeyUsage] = {}
        self._replaced: list[tuple[int, Direction, KeyUsage]] = []

    @property
    def uses(self) -> list[KeyUsageRecord]:
        """How much each key protected so far, those that were replaced first."""
        live = [(*place, usage) for place, (_, usage) in self._accounts.items()]
        links = [KeyUsageRecord(engine, way.value, usage.standing) for engine, way, usage in (*self._replaced, *live)]
        return [*links, *(KeyUsageRecord(None, what, usage.standing) for what, usage in self.own.items())]

    def usage(self, keys: LinkKeys, way: Direction) -> KeyUsage:
        """Return the count of the key of one direction; it begins with the key, and not with an epoch."""
        place, name = (keys.engine, way), key_name(keys.half(way))
        known, usage = self._accounts.get(place, (b"", None))
        if usage is None or known != name:
            if usage is not None:
                self._replaced.append((*place, usage))
            usage = KeyUsage(self._limits)
            self._accounts[place] = name, usage
        return usage

    def unused(self) -> KeyUsage:
        """Return the count of a key that is still to be made."""
        return KeyUsage(self._limits)


def key_name(key: bytes) -> bytes:
    """Return a name for a key: who does not have the key cannot tell the name from random bytes."""
    return hkdf_expand_sha256(key, b"carnet_key_name", _NAME_BYTES)


# -- the link ----------------------------------------------------------------------------------------------------------

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
