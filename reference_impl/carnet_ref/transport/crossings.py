"""What crosses to the device and back, as the platform sees it: by where the device is, and by the path that it takes.

The platform sees every byte and opens none. It tells a *stretch* from the next one by what it is asked to do: to reset
the device, or to route it to another machine. Its process keeps what it counts beside its trace, so that the next one
goes on from there.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from carnet_ref.recorder import TraceFileError
from carnet_ref.transport.frames import Frame, FrameKind

_ENGINES: Final = frozenset({FrameKind.H2D, FrameKind.D2H, FrameKind.WORK, FrameKind.HOST_MEMORY, FrameKind.SEMAPHORE})
"""What crosses beside a session's own messages."""
_SESSION: Final = frozenset({FrameKind.SESSION, FrameKind.REPORT, FrameKind.FAULT})


class DeviceLocation(IntEnum):
    """Where the device is: new to its owner, lent, or back."""

    SETUP = 0
    AWAY = 1
    HOME = 2


@dataclass(slots=True)
class TrafficPhase:
    """What crossed while the device was in one place, in bytes: ciphertext, tags, and what stands beside them.

    Attributes:
        where: where it was.
        link: through copy engines, both ways.
        session: in the session, both ways: its set-up, orders and reports.
        last_home: the last message that a copy engine sent.
        journey: which journey it belongs to, by the clock of the grant that sent the device on it; 0 before the first.
    """

    where: DeviceLocation
    link: int = 0
    session: int = 0
    last_home: int = 0
    journey: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.link + self.session


@dataclass(slots=True)
class DeviceTraffic:
    """The stretches of a run so far, the present one last."""

    owner: str
    device: str
    stretches: list[TrafficPhase] = field(default_factory=lambda: [TrafficPhase(DeviceLocation.SETUP)])

    def note(self, frame: Frame) -> None:
        """Take notice of a frame that the platform carries."""
        present = self.stretches[-1]
        size = len(frame.body)
        if frame.kind is FrameKind.RESET:
            self.stretches.append(TrafficPhase(DeviceLocation.SETUP))
        elif frame.kind is FrameKind.ROUTE:
            # Begin a journey, or end one; the party that grants asks for the route at the same tick of its clock
            agent = frame.body.decode("utf-8", "replace")
            if agent != self.owner:
                self.stretches.append(TrafficPhase(DeviceLocation.AWAY, journey=frame.clock))
            elif self.stretches[-1].where is DeviceLocation.AWAY:
                self.stretches.append(TrafficPhase(DeviceLocation.HOME, journey=self.stretches[-1].journey))
        elif frame.kind is FrameKind.SEMAPHORE and frame.source != self.device:
            return  # a word that somebody else on the bus wrote
        elif frame.kind in _ENGINES:
            present.link += size
        elif frame.kind in _SESSION:
            present.session += size
        if frame.kind is FrameKind.D2H:
            present.last_home = size


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a platform carried: messages and bytes between all parties, and what of it crossed to the device.

    ``told`` is what the device said in the end, if anything.
    """

    messages: int
    octets: int
    stretches: tuple[TrafficPhase, ...]
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BytesMoved:
    """All bytes over the device's link, both ways.

    Attributes:
        setup: sessions set up: handshake, evidence, and the first upload of code and model.
        save: the model on its way home.
        per_handoff: what each journey of the device moved beside that, from its leaving until it leaves again: the
            data, the code, losses, orders and reports. A grant that was recorded, and that the platform never heard of
            since somebody died, led to no journey.
        session: what of all this is orders, reports and the set-up of sessions, and no copy.
    """

    setup: int
    save: int
    per_handoff: tuple[int, ...]
    session: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.setup + self.save + sum(self.per_handoff)

    def to_json(self) -> dict[str, object]:
        """Return it as JSON values."""
        parts = {"setup": self.setup, "save": self.save, "per_handoff": list(self.per_handoff)}
        return {"total": self.total, **parts, "session": self.session}


def bytes_moved(stretches: Iterable[TrafficPhase], saved: frozenset[int]) -> BytesMoved:
    """Sum up what crossed; ``saved`` are the journeys after which the model came home, by the clocks of their grants.

    The platform cannot tell a model from a loss. The model is what the device sent last in such a hand-off.
    """
    setup = save = session = 0
    handoffs: list[int] = []
    for stretch in stretches:
        session += stretch.session
        if stretch.where is DeviceLocation.SETUP:
            setup += stretch.total
            continue
        if stretch.where is DeviceLocation.AWAY:
            handoffs.append(0)
        model = stretch.last_home if stretch.where is DeviceLocation.HOME and stretch.journey in saved else 0
        save += model
        handoffs[-1] += stretch.total - model
    return BytesMoved(setup, save, tuple(handoffs), session)


_NAME: Final = "carried"
_NUMBERS: Final = struct.Struct("<QQQ")
_STRETCHES: Final = "crossed"
_STRETCH: Final = struct.Struct("<QQQQQ")


class TrafficCounts:
    """How many messages and bytes were carried, how far the logical clock came, and what crossed to the device.

    The first three are in a file of one fixed size; what crossed is in another, which gets a record for each stretch.
    """

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
        kept = os.pread(self._file, _NUMBERS.size, 0)
        self.messages, self.octets, self.clock = _NUMBERS.unpack(kept.ljust(_NUMBERS.size, b"\0"))
        self._crossed = os.open(folder / _STRETCHES, os.O_RDWR | os.O_CREAT, 0o600)
        self.stretches = _stretches(os.pread(self._crossed, os.fstat(self._crossed).st_size, 0))
        self._before = len(self.stretches)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)
        os.close(self._crossed)

    def note(self, messages: int, octets: int, clock: int, stretches: Sequence[TrafficPhase] = ()) -> None:
        """Take down the numbers as they are now, and the last of the stretches since this process began.

        Raises TraceFileError if they cannot be written.
        """
        self.messages, self.octets, self.clock = messages, octets, clock
        try:
            os.pwrite(self._file, _NUMBERS.pack(messages, octets, clock), 0)
            if stretches:
                os.pwrite(self._crossed, _packed(stretches[-1]), (self._before + len(stretches) - 1) * _STRETCH.size)
        except OSError as error:
            raise TraceFileError(f"cannot keep what the platform counts: {error.strerror}") from error


def _packed(stretch: TrafficPhase) -> bytes:
    return _STRETCH.pack(stretch.where, stretch.link, stretch.session, stretch.last_home, stretch.journey)


def _stretches(kept: bytes) -> list[TrafficPhase]:
    whole = kept[: len(kept) // _STRETCH.size * _STRETCH.size]
    return [TrafficPhase(DeviceLocation(where), *sizes) for where, *sizes in _STRETCH.iter_unpack(whole)]
