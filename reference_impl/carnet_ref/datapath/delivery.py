"""Real bytes on a schedule: every task of it is carried out, in the order of the virtual clock, through AES-256-GCM.

The platform carries every sealed message and may do with it what it likes. What must follow: each chunk is delivered
once, in order, and no plaintext leaves quarantine before its tag has verified; anything else ends the transfer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from carnet_ref.crypto.primitives import KEY_BYTES, CryptoError, Random
from carnet_ref.datapath.maxplus import completion
from carnet_ref.datapath.schedule import Schedule, Stage, Task
from carnet_ref.keys.link import Opener, Sealer
from carnet_ref.keys.schedule import ONE_CHANNEL, Iv, IvCounter
from carnet_ref.keys.usage import KeyUsage

SEALING = frozenset({Stage.HOLDER_ENCRYPT, Stage.RE_ENCRYPT, Stage.GPU_ENCRYPT})
CARRYING = frozenset({Stage.NETWORK, Stage.PCIE, Stage.PEER_LINK})
USING = frozenset({Stage.COMPUTE, Stage.TEE_COMPUTE})


class DeliveryError(Exception):
    """A transfer that was refused; nothing that was not verified has been used."""


class ChunkRefusedError(DeliveryError):
    """A message that is not the next one of its channel: altered, repeated, out of order, or from elsewhere."""


class ChunkMissingError(DeliveryError):
    """A chunk was due and nothing came."""


class IvReuseError(DeliveryError):
    """A key and IV that have sealed before were about to leave a second time."""


class UnverifiedUseError(DeliveryError):
    """Bytes were about to be used that no tag has vouched for."""


class Platform(Protocol):
    """What lies between two ends: it sees every sealed message and decides what arrives."""

    def carry(self, channel: str, message: bytes) -> Sequence[bytes]:
        """Return what arrives when ``message`` is put on ``channel``."""


class HonestPlatform:
    """A platform that delivers what it is given."""

    def carry(self, channel: str, message: bytes) -> Sequence[bytes]:
        """Deliver the message."""
        return (message,)


class IvLedger:
    """Every (key, IV) that sealed something, whoever held the key; a second use of one is an error."""

    def __init__(self) -> None:
        self._used: set[tuple[bytes, Iv]] = set()

    def __len__(self) -> int:
        return len(self._used)

    def record(self, key: bytes, ivs: IvCounter) -> None:
        """Record the IV that ``ivs`` gave out last. Raises IvReuseError if it sealed before under ``key``."""
        use = (key, ivs.last)
        if use in self._used:
            raise IvReuseError(f"{ivs.last} was sealed before under this key")
        self._used.add(use)


class Channel:
    """A sealed channel: its two ends, and what is on the wire between them."""

    def __init__(self, name: str, random: Random, ledger: IvLedger) -> None:
        self.name = name
        self._random = random
        self._ledger = ledger
        self.wire: deque[bytes] = deque()
        self.rotate()

    def rotate(self) -> None:
        """Give both ends a new key; the channel counter stays and the message counter starts again, as the H100 does.

        Source: open-gpu-kernel-modules, conf_compute_gh100.c.
        """
        self._key = self._random(KEY_BYTES)
        self._sealer = Sealer(self._key, IvCounter(ONE_CHANNEL), KeyUsage())
        self.opener = Opener(self._key, IvCounter(ONE_CHANNEL), KeyUsage())

    def seal(self, plaintext: bytes) -> bytes:
        """Return ``plaintext`` sealed under the next IV.

        Raises IvReuseError if that IV was used under this key before.
        """
        sealed = self._sealer.seal(plaintext)
        self._ledger.record(self._key, self._sealer.ivs)
        return sealed

    def seal_at(self, message: int, plaintext: bytes) -> bytes:
        """Return ``plaintext`` sealed under a message counter of the caller's choice.

        Raises IvReuseError if that IV was used under this key before.
        """
        sealer = Sealer(self._key, IvCounter(ONE_CHANNEL, message - 1), KeyUsage())
        sealed = sealer.seal(plaintext)
        self._ledger.record(self._key, sealer.ivs)
        return sealed

    def open(self) -> bytes:
        """Return the plaintext of the next message on the wire.

        Raises:
            ChunkMissingError: there is none.
            ChunkRefusedError: it is not the one that is due.
        """
        if not self.wire:
            raise ChunkMissingError(f"{self.name}: a chunk is due and nothing came")
        try:
            return self.opener.open(self.wire.popleft())
        except CryptoError as error:
            raise ChunkRefusedError(f"{self.name}: {error}") from None

    def close(self) -> None:
        """End the transfer: both ends know how many messages it has. Raises ChunkRefusedError if more came."""
        if self.wire:
            raise ChunkRefusedError(f"{self.name}: {len(self.wire)} messages came beyond the last chunk")


@dataclass(slots=True)
class _Parcel:
    """A chunk on its way: in the clear, sealed, or opened and waiting in quarantine."""

    plain: bytes | None
    sealed: bytes | None = None
    quarantine: bytes | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came of carrying out a schedule.

    Attributes:
        delivered: the plaintext of each chunk, in the order in which it became usable.
        used: the chunks that a compute task could read, for each such task.
        resident: the chunks left in GPU memory.
    """

    delivered: Mapping[int, bytes]
    used: tuple[frozenset[int], ...]
    resident: frozenset[int]


@dataclass(slots=True)
class _Run:
    """The state of carrying out a schedule."""

    platform: Platform
    random: Random
    ledger: IvLedger
    payload: Mapping[int, bytes]
    parcels: dict[int, _Parcel] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    delivered: dict[int, bytes] = field(default_factory=dict)
    used: list[frozenset[int]] = field(default_factory=list)
    resident: dict[int, str] = field(default_factory=dict)

    def channel(self, name: str) -> Channel:
        if name not in self.channels:
            self.channels[name] = Channel(name, self.random, self.ledger)
        return self.channels[name]

    def carry_out(self, task: Task) -> None:
        if task.stage in USING:
            waiting = [chunk for chunk, parcel in self.parcels.items() if parcel.quarantine is not None]
            if waiting:
                raise UnverifiedUseError(f"chunks {waiting} are in memory and not released")
            self.used.append(frozenset(self.resident))
        elif task.stage is Stage.SCRUB:
            self.resident = {chunk: channel for chunk, channel in self.resident.items() if channel != task.channel}
        elif task.stage is Stage.ROTATION and task.channel:
            self.channel(task.channel).rotate()
        elif task.chunk is not None:
            self._move(task, task.chunk)

    def _move(self, task: Task, chunk: int) -> None:
        if chunk not in self.parcels:
            self.parcels[chunk] = self._arriving(task, self.payload[chunk])
        parcel = self.parcels[chunk]
        if task.stage in SEALING:
            parcel.sealed, parcel.plain = self.channel(task.channel).seal(_present(parcel.plain)), None
        elif task.stage is Stage.BOUNCE_COPY:
            parcel.sealed = bytes(bytearray(_present(parcel.sealed)))
        elif task.stage in CARRYING and task.channel:
            self._carry(task.channel, _present(parcel.sealed))
            parcel.sealed = None
        elif task.stage in CARRYING:
            self._release(chunk, _present(parcel.plain), task.channel)
        elif task.stage is Stage.CPU_DECRYPT:
            parcel.plain = self.channel(task.channel).open()
        elif task.stage is Stage.GPU_VERIFY:
            parcel.quarantine = self.channel(task.channel).open()
        elif task.stage is Stage.GPU_DECRYPT:
            self._release(chunk, _present(parcel.quarantine), task.channel)
            parcel.quarantine = None

    def _arriving(self, task: Task, plaintext: bytes) -> _Parcel:
        """Return a chunk as its first task finds it: in the clear, or sealed by a sender outside the schedule."""
        if task.stage in SEALING or not task.channel:
            return _Parcel(plaintext)
        sealed = self.channel(task.channel).seal(plaintext)
        if task.stage in CARRYING:
            return _Parcel(None, sealed)
        self._carry(task.channel, sealed)
        return _Parcel(None)

    def _carry(self, channel: str, message: bytes) -> None:
        self.channel(channel).wire.extend(self.platform.carry(channel, message))

    def _release(self, chunk: int, plaintext: bytes, channel: str) -> None:
        if chunk in self.delivered:
            raise ChunkRefusedError(f"chunk {chunk} was delivered before")
        self.delivered[chunk] = plaintext
        self.resident[chunk] = channel

    def deliver_to_cpu(self) -> None:
        """Count as delivered what was opened in a confidential machine and goes no further."""
        for chunk, parcel in self.parcels.items():
            if parcel.plain is not None and chunk not in self.delivered:
                self.delivered[chunk] = parcel.plain


def _present(value: bytes | None) -> bytes:
    if value is None:
        raise UnverifiedUseError("a stage came before the one that makes its bytes")
    return value


def by_clock(schedule: Schedule) -> Iterator[Task]:
    """Yield the tasks of ``schedule`` in the order in which they start."""
    starts = completion(schedule).starts
    for position in sorted(range(len(starts)), key=lambda index: (starts[index], index)):
        yield schedule.tasks[position]


def deliver(
    schedule: Schedule,
    payload: Mapping[int, bytes],
    random: Random,
    platform: Platform | None = None,
    ledger: IvLedger | None = None,
) -> Delivery:
    """Carry out ``schedule`` with ``payload``, whose keys are chunk numbers; chunks are at most 1 MiB.

    Raises DeliveryError if the platform interfered, or the schedule would use what is not verified.
    """
    run = _Run(platform or HonestPlatform(), random, IvLedger() if ledger is None else ledger, payload)
    for task in by_clock(schedule):
        run.carry_out(task)
    for channel in run.channels.values():
        channel.close()
    run.deliver_to_cpu()
    return Delivery(run.delivered, tuple(run.used), frozenset(run.resident))
