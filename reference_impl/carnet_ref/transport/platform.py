"""The untrusted platform: hypervisor, MUX, bus and network; every byte passes it.

This one does as it is asked: it routes the device, carries frames, resets on request, and sees everything. Its process
relays every frame between the parties that connect, and has the device.

What crosses to the device and back is counted by where the device is, and by the path that it takes. The platform tells
a *phase* from the next one by what it is asked to do: to reset the device, or to route it to another machine. Its
process keeps what it counts beside its trace, so that the next one goes on from there.

Source: deck, Enabler (PCIe/SXM MUX): one physical GPU is routed to several VMs.
"""

import asyncio
import contextlib
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_ref.crypto.primitives import Random
from carnet_ref.recorder import Recorder, TraceFileError, step
from carnet_ref.transport.frames import LARGEST_FRAME, PLATFORM, Frame, FrameKind, encode_frame, read_frame
from carnet_ref.transport.greeting import BACKLOG, Acceptor
from carnet_ref.transport.node import Node
from carnet_ref.wire import MalformedError
from carnet_spec.trace import TraceStep

#: What crosses beside a session's own messages.
_ENGINES: Final = frozenset({FrameKind.H2D, FrameKind.D2H, FrameKind.WORK, FrameKind.HOST_MEMORY, FrameKind.SEMAPHORE})
_SESSION: Final = frozenset({FrameKind.SESSION, FrameKind.REPORT, FrameKind.FAULT})


class DeviceLocation(IntEnum):
    """The location of the device: new at its owner, lent, or returned."""

    SETUP = 0
    AWAY = 1
    HOME = 2


@dataclass(slots=True)
class TrafficPhase:
    """The bytes to and from the device while it was in one place, overhead included."""

    where: DeviceLocation  #: where it was.
    link: int = 0  #: through copy engines, both ways.
    session: int = 0  #: in the session, both ways: its set-up, orders and reports.
    last_home: int = 0  #: the last message that a copy engine sent.
    #: which journey it belongs to, by the clock of the grant that sent the device on it; 0 before the first.
    journey: int = 0

    @property
    def total(self) -> int:
        """The total number of bytes."""
        return self.link + self.session


@dataclass(slots=True)
class DeviceTraffic:
    """The phases of a run so far, the present one last."""

    owner: str
    device: str
    phases: list[TrafficPhase] = field(default_factory=lambda: [TrafficPhase(DeviceLocation.SETUP)])

    def note(self, frame: Frame) -> None:
        """Count a frame that the platform carries."""
        present = self.phases[-1]
        size = len(frame.body)
        if frame.kind is FrameKind.RESET:
            self.phases.append(TrafficPhase(DeviceLocation.SETUP))
        elif frame.kind is FrameKind.ROUTE:
            # Begin a journey, or end one; the party that grants asks for the route at the same tick of its clock
            agent = frame.body.decode("utf-8", "replace")
            if agent != self.owner:
                self.phases.append(TrafficPhase(DeviceLocation.AWAY, journey=frame.clock))
            elif self.phases[-1].where is DeviceLocation.AWAY:
                self.phases.append(TrafficPhase(DeviceLocation.HOME, journey=self.phases[-1].journey))
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
    """The traffic of a platform: messages and bytes between all parties, and the phases of the device.

    ``told`` is what the device said in the end, if anything.
    """

    messages: int
    octets: int
    phases: tuple[TrafficPhase, ...]
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BytesMoved:
    """All bytes over the device's link, both ways."""

    setup: int  #: sessions set up: handshake, evidence, and the first upload of code and model.
    save: int  #: the model on its way home.
    #: what each journey of the device moved beside that, from its leaving until it leaves again: the data, the code,
    #: losses, orders and reports. A grant that was recorded, and that the platform never heard of since somebody died,
    #: led to no journey.
    per_handoff: tuple[int, ...]
    session: int  #: what of all this is orders, reports and the set-up of sessions, and no copy.

    @property
    def total(self) -> int:
        """The total number of bytes."""
        return self.setup + self.save + sum(self.per_handoff)

    def to_json(self) -> dict[str, object]:
        """Return the counts as JSON values."""
        parts = {"setup": self.setup, "save": self.save, "per_handoff": list(self.per_handoff)}
        return {"total": self.total, **parts, "session": self.session}


def bytes_moved(phases: Iterable[TrafficPhase], saved: frozenset[int]) -> BytesMoved:
    """Return the sums over phases; ``saved`` are the journeys after which the model came home, by their grants' clocks.

    The platform cannot tell a model from a loss. The model is what the device sent last in such a hand-off.
    """
    setup = save = session = 0
    handoffs: list[int] = []
    for phase in phases:
        session += phase.session
        if phase.where is DeviceLocation.SETUP:
            setup += phase.total
            continue
        if phase.where is DeviceLocation.AWAY:
            handoffs.append(0)
        model = phase.last_home if phase.where is DeviceLocation.HOME and phase.journey in saved else 0
        save += model
        handoffs[-1] += phase.total - model
    return BytesMoved(setup, save, tuple(handoffs), session)


_NAME: Final = "carried"
_NUMBERS: Final = struct.Struct("<QQQ")
_STRETCHES: Final = "crossed"
_PHASE: Final = struct.Struct("<QQQQQ")


class TrafficCounts:
    """A file with the counts of messages and bytes, the logical clock, and the phases of the device.

    The first three are in a file of one fixed size; what crossed is in another, which gets a record for each phase.
    """

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
        kept = os.pread(self._file, _NUMBERS.size, 0)
        self.messages, self.octets, self.clock = _NUMBERS.unpack(kept.ljust(_NUMBERS.size, b"\0"))
        self._crossed = os.open(folder / _STRETCHES, os.O_RDWR | os.O_CREAT, 0o600)
        kept = os.pread(self._crossed, os.fstat(self._crossed).st_size, 0)
        whole = kept[: len(kept) // _PHASE.size * _PHASE.size]
        self.phases = [TrafficPhase(DeviceLocation(where), *sizes) for where, *sizes in _PHASE.iter_unpack(whole)]
        self._before = len(self.phases)

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

    def note(self, messages: int, octets: int, clock: int, phases: Sequence[TrafficPhase] = ()) -> None:
        """Store the present counts, and the phases since this process started.

        Raises TraceFileError if they cannot be written.
        """
        self.messages, self.octets, self.clock = messages, octets, clock
        try:
            os.pwrite(self._file, _NUMBERS.pack(messages, octets, clock), 0)
            if phases:
                os.pwrite(self._crossed, _packed(phases[-1]), (self._before + len(phases) - 1) * _PHASE.size)
        except OSError as error:
            raise TraceFileError(f"cannot keep what the platform counts: {error.strerror}") from error


def _packed(phase: TrafficPhase) -> bytes:
    return _PHASE.pack(phase.where, phase.link, phase.session, phase.last_home, phase.journey)


_FOR_THE_PLATFORM = frozenset({FrameKind.ROUTE, FrameKind.RESET})
#: What only the device can put on the bus.
_FROM_THE_DEVICE = frozenset({FrameKind.D2H, FrameKind.FAULT, FrameKind.REPORT, FrameKind.HOST_MEMORY})
#: What reaches the device from where it is routed to, and from its owner.
_TO_THE_DEVICE = frozenset({FrameKind.H2D, FrameKind.WORK})


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of a frame's arrival: the frames to deliver, and the platform's step, if any."""

    frames: tuple[Frame, ...] = ()
    step: TraceStep | None = None


@dataclass(slots=True)
class Platform:
    """Carries and observes all frames between the parties.

    ``owner`` is the party that may have the ``device`` routed and reset; the device is at ``mux``, at first the owner.
    ``messages`` and ``octets`` count what it saw, and ``crossings`` what reached the device or left it. ``keep`` is
    given each frame; ``host_memory`` holds what was written in the clear.
    """

    owner: str
    device: str
    mux: str = ""
    messages: int = 0
    octets: int = 0
    host_memory: list[bytes] = field(default_factory=list)
    keep: Callable[[Frame], None] | None = None
    crossings: DeviceTraffic = field(init=False)

    def __post_init__(self) -> None:
        self.mux = self.mux or self.owner
        self.crossings = DeviceTraffic(self.owner, self.device)

    def carry(self, frame: Frame) -> Delivery:
        """Return the frames to deliver when ``frame`` arrives; none if its sender cannot have sent it."""
        self.see(frame)
        if not self._can_come(frame):
            return Delivery()
        match frame.kind:
            case FrameKind.ROUTE:
                return self.route(frame.body.decode("utf-8", "replace"))
            case FrameKind.RESET:
                return Delivery((Frame(PLATFORM, self.device, FrameKind.RESET, frame.body, frame.clock),))
            case FrameKind.HOST_MEMORY:
                self.host_memory.append(frame.body)
                return Delivery()
        return Delivery((frame,))

    def see(self, frame: Frame) -> None:
        """Count a frame."""
        self.messages += 1
        self.octets += len(frame.body)
        if self._can_come(frame):
            self.crossings.note(frame)
        if self.keep is not None:
            self.keep(frame)

    def route(self, agent: str) -> Delivery:
        """Connect the device to the agent's VM."""
        if agent == self.mux:
            return Delivery()
        self.mux = agent
        return Delivery(step=step("switch_mux", PLATFORM, x=agent))

    def _can_come(self, frame: Frame) -> bool:
        """Whether the frame's source can put such a frame on the bus."""
        match frame.kind:
            case kind if kind in _FOR_THE_PLATFORM:
                return frame.source == self.owner
            case kind if kind in _FROM_THE_DEVICE:
                return frame.source == self.device
            case kind if kind in _TO_THE_DEVICE:
                return frame.source in {self.mux, self.owner}
            case FrameKind.SESSION:
                return frame.source in {self.owner, self.device}
        return True


class ListenError(CarnetError):
    """The platform cannot listen."""

    kind = "network"
    exit_code = ExitCode.USAGE


#: How often a name may pass to a newer connection before the one that has it keeps it for as long as it stays.
TAKEOVERS: Final = 3
#: Bytes that may wait for a party to take them, before a party that sends it more has to wait.
OUTGOING: Final = 1 << 22
STALLED_SECONDS: Final = 5.0  #: How long a party may take nothing while others wait for it.


def listen(port: int) -> socket.socket:
    """Listen on loopback; port 0 stands for any. Raises ListenError if the port is in use."""
    try:
        listening = socket.create_server(("127.0.0.1", port), backlog=BACKLOG)
    except OSError as error:
        raise ListenError(f"cannot listen on port {port} of 127.0.0.1: {error.strerror or error}") from error
    listening.setblocking(False)
    return listening


@dataclass(slots=True)
class Relay:
    """The platform's process: parties by name, as they connect.

    Each is known by its key in ``keys``, and sends no frame of more than ``largest`` bytes. No claim rests on the
    greeting, for the platform is not trusted: it keeps the runs on one machine apart, and keeps out what is in none.
    """

    platform: Platform
    device: Node
    recorder: Recorder
    keys: Mapping[str, bytes]
    random: Random
    remark: Callable[[str], None]
    largest: int = LARGEST_FRAME
    _acceptor: Acceptor = field(init=False)
    _writers: dict[str, asyncio.StreamWriter] = field(default_factory=dict)
    _takeovers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._acceptor = Acceptor(self.keys, self.random, self.remark, self._serve)

    async def serve(self, listening: socket.socket) -> None:
        """Admit parties and carry their frames, for ever."""
        await self._acceptor.keep(listening)

    async def _serve(self, name: str, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            if self._claimed(name, writer):
                await self._listen_to(name, reader, writer)
        except MalformedError as error:
            self.remark(f"platform: {name} is cut off: {error}")
        finally:
            if self._writers.get(name) is writer:
                del self._writers[name]
                self._takeovers.pop(name, None)
            writer.close()

    async def _listen_to(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry what a party sends, and read on once those it is for have taken enough of it.

        Raises MalformedError if it sent what is no frame, or one whose clock cannot be.
        """
        writer.transport.set_write_buffer_limits(OUTGOING)
        while (frame := await read_frame(reader, self.largest)) is not None and self._writers.get(name) is writer:
            self.recorder.check(frame.clock)
            self.recorder.witness(frame.clock)
            for target in self._carry(Frame(name, frame.target, frame.kind, frame.body, frame.clock)):
                await self._taken(target)

    def _claimed(self, name: str, writer: asyncio.StreamWriter) -> bool:
        """Give a name to the connection that greeted under it, close the one that had it, and return whether it did.

        A party that comes back after a crash has to be heard, though its old connection may still look alive; and if it
        was not gone, it connects again. Two that both live would take the name from each other for ever, so that after
        some times the one that has it keeps it.
        """
        before = self._writers.get(name)
        if before is not None:
            if self._takeovers.get(name, 0) == TAKEOVERS:
                self._acceptor.turn_away(f"{name} is connected, and stays so")
                return False
            self._takeovers[name] = self._takeovers.get(name, 0) + 1
            self.remark(f"platform: {name} connected again, and its earlier connection is closed")
            before.transport.abort()
        self._writers[name] = writer
        return True

    def _carry(self, frame: Frame) -> set[str]:
        """Carry a frame and all that the device answers, and return whom something was sent to."""
        queue, targets = deque([frame]), set()
        while queue:
            carried = self.platform.carry(queue.popleft())
            if carried.step is not None:
                self.recorder.record(carried.step, PLATFORM)
            for delivered in carried.frames:
                targets.add(delivered.target)
                queue.extend(self._deliver(delivered))
        return targets

    def _deliver(self, frame: Frame) -> Iterable[Frame]:
        if frame.target == self.device.name:
            return self.device.deliver(frame)
        writer = self._writers.get(frame.target)
        if writer is not None and not writer.is_closing():
            writer.write(encode_frame(frame))
        return ()

    async def _taken(self, name: str) -> None:
        """Wait until little enough is on its way to a party; one that takes nothing for long is cut off."""
        writer = self._writers.get(name)
        if writer is None:
            return
        try:
            async with asyncio.timeout(STALLED_SECONDS):
                with contextlib.suppress(ConnectionError):
                    await writer.drain()
        except TimeoutError:
            self.remark(f"platform: {name} is cut off: it took nothing for {STALLED_SECONDS:g} s")
            writer.transport.abort()
