"""The platform: hypervisor, MUX, bus and network in one. Every byte passes it; only availability rests on it.

This one does as it is asked: it routes the device, carries frames, resets on request, and sees everything.

Source: deck, Enabler (PCIe/SXM MUX): one physical GPU is routed to several VMs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from carnet_ref.recorder import step
from carnet_ref.transport.crossings import Crossings
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind
from carnet_spec.trace import TraceStep

_FOR_THE_PLATFORM = frozenset({FrameKind.ROUTE, FrameKind.RESET})
_FROM_THE_DEVICE = frozenset({FrameKind.D2H, FrameKind.FAULT, FrameKind.REPORT, FrameKind.HOST_MEMORY})
"""What only the device can put on the bus."""
_TO_THE_DEVICE = frozenset({FrameKind.H2D, FrameKind.WORK})
"""What reaches the device from where it is routed to, and from its owner."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a frame: what is delivered instead of it, and the step that the platform took, if it took one."""

    frames: tuple[Frame, ...] = ()
    step: TraceStep | None = None


@dataclass(slots=True)
class Platform:
    """Carries frames between the parties, and sees them all.

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
    crossings: Crossings = field(init=False)

    def __post_init__(self) -> None:
        self.mux = self.mux or self.owner
        self.crossings = Crossings(self.owner, self.device)

    def carry(self, frame: Frame) -> Carried:
        """Return what is delivered when ``frame`` arrives at the platform: nothing, from whom it cannot come."""
        self.see(frame)
        if not self._can_come(frame):
            return Carried()
        match frame.kind:
            case FrameKind.ROUTE:
                return self.route(frame.body.decode("utf-8", "replace"))
            case FrameKind.RESET:
                return Carried((Frame(PLATFORM, self.device, FrameKind.RESET, frame.body, frame.clock),))
            case FrameKind.HOST_MEMORY:
                self.host_memory.append(frame.body)
                return Carried()
        return Carried((frame,))

    def see(self, frame: Frame) -> None:
        """Take notice of a frame."""
        self.messages += 1
        self.octets += len(frame.body)
        if self._can_come(frame):
            self.crossings.note(frame)
        if self.keep is not None:
            self.keep(frame)

    def route(self, agent: str) -> Carried:
        """Wire the device to the agent's VM."""
        if agent == self.mux:
            return Carried()
        self.mux = agent
        return Carried(step=step("switch_mux", PLATFORM, x=agent))

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
