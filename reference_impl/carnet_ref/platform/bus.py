"""The platform that does as it is asked: routes the GPU, carries frames, resets on request, and sees everything.

Source: deck, Enabler (PCIe/SXM MUX): one physical GPU is routed to several VMs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from carnet_ref.recorder import step
from carnet_ref.transport.frames import GPU, ORCHESTRATOR, PLATFORM, Frame, Kind
from carnet_spec.trace import Step

_AUTHORITY = frozenset({Kind.ROUTE, Kind.RESET})
_SOURCES = {
    Kind.SESSION: frozenset({ORCHESTRATOR, GPU}),
    Kind.D2H: frozenset({GPU}),
    Kind.FAULT: frozenset({GPU}),
    Kind.REPORT: frozenset({GPU}),
    Kind.HOST_MEMORY: frozenset({GPU}),
}
"""Who alone can put such a frame on the bus, where that is not everybody."""
_TO_THE_GPU = frozenset({Kind.H2D, Kind.WORK})
"""What reaches the GPU from where it is routed to, and from the orchestrator."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a frame: what is delivered instead of it, and the step that the platform took, if it took one."""

    frames: tuple[Frame, ...] = ()
    step: Step | None = None


@dataclass(slots=True)
class Platform:
    """Carries frames between the parties, and sees them all.

    ``messages`` and ``octets`` count what it saw, and ``keep`` is given each frame; ``host_memory`` holds what was
    written in the clear.
    """

    mux: str = ORCHESTRATOR
    messages: int = 0
    octets: int = 0
    host_memory: list[bytes] = field(default_factory=list)
    keep: Callable[[Frame], None] | None = None

    def carry(self, frame: Frame) -> Carried:
        """Return what is delivered when ``frame`` arrives at the platform: nothing, from whom it cannot come."""
        self.see(frame)
        if frame.source not in _SOURCES.get(frame.kind, {frame.source}):
            return Carried()
        match frame.kind:
            case Kind.ROUTE if frame.source == ORCHESTRATOR:
                return self.route(frame.body.decode("utf-8", "replace"))
            case Kind.RESET if frame.source == ORCHESTRATOR:
                return Carried((Frame(PLATFORM, GPU, Kind.RESET, frame.body, frame.clock),))
            case Kind.HOST_MEMORY:
                self.host_memory.append(frame.body)
                return Carried()
            case kind if kind in _TO_THE_GPU and frame.source not in {self.mux, ORCHESTRATOR}:
                return Carried()
        return Carried() if frame.kind in _AUTHORITY else Carried((frame,))

    def see(self, frame: Frame) -> None:
        """Take notice of a frame."""
        self.messages += 1
        self.octets += len(frame.body)
        if self.keep is not None:
            self.keep(frame)

    def route(self, agent: str) -> Carried:
        """Wire the GPU to the agent's VM."""
        if agent == self.mux:
            return Carried()
        self.mux = agent
        return Carried(step=step("switch_mux", PLATFORM, x=agent))
