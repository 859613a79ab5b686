"""All parties in one process: frames wait at the platform, and are carried one at a time in the order they came.

Time is simulated: it moves on only when nothing else can happen, so lost messages and leases run out at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from carnet_ref.recorder import Recorder
from carnet_ref.transport.frames import PLATFORM, Frame, Tick
from carnet_ref.transport.node import Node
from carnet_ref.transport.platform import Platform
from carnet_ref.wire import MalformedError


class StuckError(Exception):
    """Nothing happens any more, however long one waits."""


@dataclass(slots=True)
class InProcessNetwork:
    """Nodes by name around one platform.

    ``queue`` holds the frames in flight; who drives the world may look at it, change it, or carry frames out of order.
    """

    platform: Platform
    recorder: Recorder
    nodes: dict[str, Node] = field(default_factory=dict)
    queue: deque[Frame] = field(default_factory=deque)
    now: float = 0.0

    def add(self, node: Node, first: Iterable[Frame] = ()) -> None:
        """Let a node take part, with the frames it begins with."""
        self.nodes[node.name] = node
        self.queue.extend(first)

    @property
    def over(self) -> bool:
        """Whether the device's owner is done."""
        return self.nodes[self.platform.owner].ended is not None

    def run(self, limit: int = 1_000_000) -> None:
        """Go on until the device's owner is done. Raises StuckError if it never is."""
        idle = 0.0
        for _ in range(limit):
            if self.over:
                return
            if self.step():
                idle = 0.0
                continue
            self.now += 5.0
            idle += 5.0
            if idle > 3600.0:
                raise StuckError(f"nothing happened for {idle:.0f} simulated seconds")
            self.tick()
        raise StuckError(f"not done after {limit} steps")

    def step(self) -> bool:
        """Carry the next frame, or let a role go on that asked to; return whether there was anything to do."""
        for node in self.nodes.values():
            if node.proceeds:
                self.queue.extend(node.proceed())
                return True
        if not self.queue:
            return False
        self.carry(self.queue.popleft())
        return True

    def carry(self, frame: Frame) -> None:
        """Hand a frame to the platform, and deliver what comes of it; one whose clock cannot be is lost."""
        try:
            self.recorder.check(frame.clock)
        except MalformedError:
            return
        carried = self.platform.carry(frame)
        if carried.step is not None:
            self.recorder.witness(frame.clock)
            self.recorder.record(carried.step, PLATFORM)
        for delivered in carried.frames:
            self.deliver(delivered)

    def deliver(self, frame: Frame) -> None:
        """Give a frame to its target, if there is one, whoever it is from."""
        node = self.nodes.get(frame.target)
        if node is not None and node.ended is None:
            self.queue.extend(node.deliver(frame))

    def tick(self) -> None:
        """Tell everybody the time."""
        for node in list(self.nodes.values()):
            if node.ended is None:
                self.queue.extend(node.deliver(Tick(self.now)))
