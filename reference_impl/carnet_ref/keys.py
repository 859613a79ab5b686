"""Link keys: their derivation, their IVs, the limits of their use, and the link that uses them.

Keys are expanded from the session's exported secret by label, and ratcheted by a public function. Five values identify
a message of a session:

* Engine and direction identify the AES key, which belongs to a copy engine and a direction; they are not in the IV.
* The epoch identifies a hand-over. It is not in the IV either: epochs on one engine share its AES keys.
* The channel counter is 64 bits of the IV. Each epoch under the same AES key has a larger one than the epoch before.
* The message counter is 32 bits of the IV. Both ends count messages, from 1 in each epoch. On the way to the device the
  IV is not transmitted, and the GPU decrypts with its own next IV. That is the replay protection: a message that is
  repeated, dropped or reordered does not authenticate, which ends the session.

The use of a key is counted over all epochs that use it, for encryption and decryption alike. A key is looked up on its
copy engine, by a name from which the key cannot be computed. A rotation either keeps the key of an engine, whose count
then continues, or installs one that was never used; no schedule returns to an earlier key.

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
    """An operation on link keys was refused."""


class SecretTakenError(KeysError):
    """A one-time secret was requested a second time, or after it was wiped."""


class IvExhaustedError(KeysError):
    """Every message counter value of a channel has been used."""


class KeyExhaustedError(KeysError):
    """A key would protect more than its limit."""

    def __init__(self, amount: int, limit: int, unit: str = "work units") -> None:
        super().__init__(f"key limit: {amount} {unit}, and no more than {limit} are allowed under one key")
        self.amount = amount  #: how much the key would have protected.
        self.limit = limit  #: how much it may protect.
        self.unit = unit  #: what is counted: work units or messages.


class LinkDeadError(KeysError):
    """A link direction is used again after it failed."""


class OrderRefusedError(KeysError):
    """One end refuses to follow a rotation order."""

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(f"{check}: {reason}")
        self.check = check  #: the name of the check that refused it.


class EnginesExhaustedError(KeysError):
    """A session has more owners of keys than copy engines."""


class ResetNeededError(KeysError):
    """The session was lent before, and the schedule requires a new session."""


ENGINES: Final = 8  #: The number of copy engines with their own keys on GH100: LCE0 to LCE7.


class Direction(Enum):
    """The direction that one key of a key pair protects."""

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
    """Return the key after ``key``. Everyone who has ``key`` can derive it: there is no other secret input.

    Raises KeyMaterialError if the key is not 32 bytes, or is zero, which is a fatal error of the driver, too.
    """
    if len(key) != KEY_BYTES or not any(key):
        raise KeyMaterialError("link key", "not 32 bytes, or zero")
    return hkdf_expand_sha256(sha256(key), label.encode("ascii"))


class OneTimeSecret:
    """A secret that can be taken once; taking it removes it from this object."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret: bytes | None = secret

    def take(self) -> bytes:
        """Return and remove the secret. Raises SecretTakenError if it was taken or wiped."""
        if self._secret is None:
            raise SecretTakenError("the secret was exported or wiped before")
        secret, self._secret = self._secret, None
        return secret

    def wipe(self) -> None:
        """Erase the secret."""
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
        """Erase the EMK; keys that were derived from it are not affected."""
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

    A sealed link without a copy engine has one channel, and leaves out the other fields.
    """

    counter: int  #: its channel counter, unique among the channels under the same AES key.
    engine: int = 0  #: the copy engine; with the direction it identifies the AES key.
    direction: Direction = Direction.H2D  #: the direction that it protects.
    epoch: int = 0  #: the epoch that it belongs to.

    def __post_init__(self) -> None:
        if not 0 <= self.counter <= LAST_CHANNEL:
            raise KeyMaterialError("channel counter", f"{self.counter}, not 0 to {LAST_CHANNEL}")
        if not 0 <= self.engine < ENGINES:
            raise KeyMaterialError("copy engine", f"{self.engine}, not 0 to {ENGINES - 1}")

    def __str__(self) -> str:
        return f"channel {self.counter} of engine {self.engine} ({self.direction.value}, epoch {self.epoch})"


ONE_CHANNEL: Final = EngineChannel(1)  #: The channel of a sealed link without a copy engine.


@dataclass(frozen=True, slots=True)
class Iv:
    """The content of an IV: the channel, and the number of the message in it.

    Raises KeyMaterialError if the number is outside of the message counter's range.
    """

    channel: EngineChannel
    message: int

    def __post_init__(self) -> None:
        if not 0 <= self.message <= LAST_MESSAGE:
            raise KeyMaterialError("message counter", f"{self.message}, not 0 to {LAST_MESSAGE}")

    def __str__(self) -> str:
        return f"message {self.message} of {self.channel}"

    def masked(self, mask: int) -> bytes:
        """Return the bytes of the IV for AES-GCM: both counters, little-endian, XOR the mask."""
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
    """The IVs of one direction under one key; none is returned twice.

    A counter can start after values that another party has used: ``IvCounter(channel, message=used)``.
    """

    __slots__ = ("_last", "_mask")

    def __init__(self, channel: EngineChannel, message: int = 0, mask: bytes = bytes(NONCE_BYTES)) -> None:
        if len(mask) != NONCE_BYTES:
            raise KeyMaterialError("IV mask", f"{len(mask)} bytes, not {NONCE_BYTES}")
        self._last = Iv(channel, message)
        self._mask = int.from_bytes(mask, "little")

    @property
    def last(self) -> Iv:
        """The IV that was returned last; its message counter is zero before the first."""
        return self._last

    @property
    def channel(self) -> EngineChannel:
        """The channel of the IVs."""
        return self._last.channel

    @property
    def message(self) -> int:
        """The message counter of the last IV, zero before the first."""
        return self._last.message

    def advance(self) -> bytes:
        """Increment the message counter and return the IV. Raises IvExhaustedError if the counter would overflow."""
        if self.message == LAST_MESSAGE:
            raise IvExhaustedError(f"{self.channel} has used all {LAST_MESSAGE} values of its message counter")
        self._last = Iv(self.channel, self.message + 1)
        return self._last.masked(self._mask)

    def skip_to(self, message: int) -> None:
        """Skip every IV up to that of ``message``; a counter never goes back.

        Raises KeyMaterialError if ``message`` is smaller than the counter, or outside of its range.
        """
        if not self.message <= message <= LAST_MESSAGE:
            raise KeyMaterialError(
                "message counter", f"from {self.message} to {message}, not forward to {LAST_MESSAGE} at most"
            )
        self._last = Iv(self.channel, message)


@dataclass(frozen=True, slots=True)
class LinkKeys:
    """The link keys of both directions, with their IV masks, engine, epoch and channel counter."""

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
        """Return the IV counter of one direction, after the first ``message`` IVs."""
        channel = EngineChannel(self.channel, self.engine, direction, self.epoch)
        return IvCounter(channel, message, self.mask(direction))


class KeySchedule(Protocol):
    """The interface of a key schedule for both ends of a link."""

    name: ClassVar[str]

    @property
    def keys(self) -> LinkKeys:
        """The keys of the current epoch."""

    def used_again(self, owner: str) -> LinkKeys | None:
        """Return the keys that the next epoch of ``owner`` uses again, or None if a rotation derives new ones."""

    def order(self, owner: str, random: Random) -> bytes:
        """Return an order to rotate to a key of ``owner``; `follow` executes it.

        Raises EnginesExhaustedError if there is no engine left for a new owner; ResetNeededError if the session was
        lent before, and the schedule requires a new session.
        """

    def follow(self, order: bytes) -> LinkKeys:
        """Rotate by an order and return the new keys.

        Raises MalformedError if it is no order of this schedule; OrderRefusedError if this end refuses the order.
        """


# -- use ---------------------------------------------------------------------------------------------------------------

MARGIN: Final = 1_000_000_000  #: The work units between the point where a key is due to rotate and its limit.
BLOCK_BYTES: Final = 16
UNLIMITED: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Budget:
    """A share in the use of a key: numbers of messages and work units."""

    messages: int = 0
    units: int = 0

    @classmethod
    def of(cls, sizes: Iterable[int]) -> Budget:
        """Return the budget for messages of these sizes, each rounded up to whole blocks."""
        blocks = [-(-size // BLOCK_BYTES) for size in sizes]
        return cls(len(blocks), sum(blocks) + len(blocks))

    def covers(self, other: Budget) -> bool:
        """Return whether both counts of ``other`` are at most these."""
        return other.messages <= self.messages and other.units <= self.units

    def __str__(self) -> str:
        return f"{self.messages:,} messages and {self.units:,} work units"


@dataclass(frozen=True, slots=True)
class UsageLimits:
    """The work units after which a key is due to rotate, and those after which it must not be used any more.

    ``messages`` is a limit on messages in either direction, which the driver does not have.
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
        """Return the driver's limits, with at most ``messages`` messages under one key.

        Raises KeyMaterialError if ``messages`` is not positive.
        """
        return replace(cls.for_advantage(), messages=messages)

    @classmethod
    def within(cls, budget: Budget) -> UsageLimits:
        """Return the limits for a party to whom a share of a key was lent.

        Raises KeyMaterialError if the share is empty.
        """
        return cls(budget.units, budget.units, budget.messages)


class UsageState(Enum):
    """The state of a key relative to its limits."""

    IDLE = "idle"
    ROTATION_DUE = "rotation due"


class UsageSummary(NamedTuple):
    """How much a key protected, including lent shares, and its limits."""

    messages: int
    most_messages: int
    units: int
    most_units: int

    @property
    def within(self) -> bool:
        """Whether no limit was exceeded."""
        return self.messages <= self.most_messages and self.units <= self.most_units


class KeyUsage:
    """The count of the use of one key, by all parties.

    Bytes and operations are counted separately and combined once, so that rounding does not drop short messages. A lent
    share counts as used until the borrower reports its use.
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
        """Messages protected, including lent ones."""
        return self._operations + self._lent.messages

    @property
    def units(self) -> int:
        """Work units: bytes / 16 plus operations, including lent ones."""
        return self._bytes // BLOCK_BYTES + self._operations + self._lent.units

    @property
    def left(self) -> Budget:
        """The budget that is left; a partial block counts as a whole one."""
        units = -(-self._bytes // BLOCK_BYTES) + self._operations + self._lent.units
        return Budget(max(0, self._limits.messages - self.operations), max(0, self._limits.upper - units))

    @property
    def state(self) -> UsageState:
        """Whether the key is due to rotate."""
        return UsageState.ROTATION_DUE if self.units >= self._limits.lower else UsageState.IDLE

    @property
    def summary(self) -> UsageSummary:
        """The use and the limits."""
        return UsageSummary(self.operations, self._limits.messages, self.units, self._limits.upper)

    def count(self, size: int, operations: int = 1) -> None:
        """Count ``operations`` on ``size`` bytes in all, before they are executed.

        Raises KeyExhaustedError if a limit would be exceeded; nothing is counted then.
        """
        self._count(size, operations, self._lent)

    def lend(self, most: Budget) -> Budget:
        """Return a share for another party, at most ``most``; it counts as used from now on."""
        left = self.left
        lent = Budget(min(left.messages, most.messages), min(left.units, most.units))
        self._lent = Budget(self._lent.messages + lent.messages, self._lent.units + lent.units)
        return lent

    def settle(self, lent: Budget, size: int, operations: int) -> None:
        """Replace a lent share by the use that the borrower reports.

        Raises KeyExhaustedError if the reported use exceeds the share; the whole share then still counts as used.
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
    """The use of one AES key, counted by one end; a key without a copy engine has no ``engine``."""

    engine: int | None
    way: str
    summary: UsageSummary

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON values; a limit that does not exist is null."""
        messages, most_messages, units, most_units = self.summary
        return {
            "engine": self.engine,
            "direction": self.way,
            "messages": messages,
            "most_messages": None if most_messages == UNLIMITED else most_messages,
            "units": units,
            "most_units": most_units,
            "within": self.summary.within,
        }


class KeyLedger:
    """The use of all keys of one end of a session, by all parties.

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
        """The records of all keys so far, replaced keys first."""
        live = [(*place, usage) for place, (_, usage) in self._accounts.items()]
        links = [KeyUsageRecord(engine, way.value, usage.summary) for engine, way, usage in (*self._replaced, *live)]
        return [*links, *(KeyUsageRecord(None, what, usage.summary) for what, usage in self.own.items())]

    def usage(self, keys: LinkKeys, way: Direction) -> KeyUsage:
        """Return the count of the key of one direction; it belongs to the key, not to an epoch."""
        place, name = (keys.engine, way), key_name(keys.half(way))
        known, usage = self._accounts.get(place, (b"", None))
        if usage is None or known != name:
            if usage is not None:
                self._replaced.append((*place, usage))
            usage = KeyUsage(self._limits)
            self._accounts[place] = name, usage
        return usage

    def new_usage(self) -> KeyUsage:
        """Return the count for a new key."""
        return KeyUsage(self._limits)


def key_name(key: bytes) -> bytes:
    """Return a name for a key; without the key, the name is indistinguishable from random bytes."""
    return hkdf_expand_sha256(key, b"carnet_key_name", _NAME_BYTES)


# -- the link ----------------------------------------------------------------------------------------------------------

CHUNK_BYTES: Final = 1 << 20  #: The largest plaintext of one message.


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

        Raises KeyMaterialError if the chunk is too long, or ``out`` has another size; KeyExhaustedError if the key has
        protected as much as it may; IvExhaustedError if the channel has no IV left.
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
    """The receiving end of a direction; after a chunk that does not authenticate, it accepts no more."""

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

        Raises AuthenticationError if it is not the next chunk of this key and channel; the direction is dead. Raises
        KeyExhaustedError if the key has protected as much as it may; the direction is dead. Raises IvExhaustedError if
        the channel has no IV left. Raises KeyMaterialError if the chunk is too short or too long, or ``out`` has
        another size; the direction is dead. Raises LinkDeadError if the direction was dead already.
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
