"""The platform that does as it is asked: routes the GPU, carries frames, resets on request, and sees everything.

Source: deck, Enabler (PCIe/SXM MUX): one physical GPU is routed to several VMs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from carnet_ref.recorder import step
from carnet_ref.roles.messages import GPU, ORCHESTRATOR, PLATFORM, Frame, Kind
from carnet_spec.trace import Step

_AUTHORITY = frozenset({Kind.ROUTE, Kind.RESET})


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a frame: what is delivered instead of it, and the step that the platform took, if it took one."""

    frames: tuple[Frame, ...] = ()
    step: Step | None = None


@dataclass(slots=True)
class Platform:
    """Carries frames between the parties, and sees them all.

    ``seen`` holds every frame, unless ``keep`` takes them; ``host_memory`` holds what was written in the clear.
    """

    mux: str = ORCHESTRATOR
    seen: list[Frame] = field(default_factory=list)
    host_memory: list[bytes] = field(default_factory=list)
    keep: Callable[[Frame], None] | None = None

    def carry(self, frame: Frame) -> Carried:
        """Return what is delivered when ``frame`` arrives at the platform."""
        self.see(frame)
        match frame.kind:
            case Kind.ROUTE if frame.source == ORCHESTRATOR:
                return self.route(frame.body.decode("utf-8", "replace"))
            case Kind.RESET if frame.source == ORCHESTRATOR:
                return Carried((Frame(PLATFORM, GPU, Kind.RESET, frame.body, frame.clock),))
            case Kind.HOST_MEMORY if frame.source == GPU:
                self.host_memory.append(frame.body)
                return Carried()
            case Kind.H2D if frame.source not in {self.mux, ORCHESTRATOR}:
                return Carried()
        return Carried() if frame.kind in _AUTHORITY else Carried((frame,))

    def see(self, frame: Frame) -> None:
        """Record a frame."""
        if self.keep is None:
            self.seen.append(frame)
        else:
            self.keep(frame)

    def route(self, agent: str) -> Carried:
        """Wire the GPU to the agent's VM."""
        if agent == self.mux:
            return Carried()
        self.mux = agent
        return Carried(step=step("switch_mux", PLATFORM, x=agent))
