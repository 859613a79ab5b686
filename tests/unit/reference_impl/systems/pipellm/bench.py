"""A tenant and a GPU with the host between them, and a predictor that guesses what it is told to."""

from __future__ import annotations

import random
from collections.abc import Sequence

from carnet_ref.systems.pipellm.channel import Channel, Gpu, Message
from carnet_ref.systems.pipellm.runtime import Memory, Predictor, Runtime, Tactics


class Oracle:
    """Guesses what it is told to."""

    def __init__(self, *pages: int) -> None:
        self.pages = list(pages)

    def left(self, page: int) -> None:
        """Learn nothing."""

    def returned(self, page: int) -> None:
        """Learn nothing."""

    def guess(self, count: int) -> Sequence[int]:
        """Return what it was told, however much that is."""
        return self.pages


class Bench:
    """A tenant and a GPU, with pages that hold their numbers, and the host between them."""

    def __init__(
        self,
        predictor: Predictor,
        tactics: Tactics | None = None,
        kind: type[Runtime] = Runtime,
        gpu: type[Gpu] = Gpu,
        channel: Channel | None = None,
    ) -> None:
        channel = channel or Channel(random.Random(1).randbytes)
        self.keys = channel.for_tenant()
        self.memory = Memory()
        for page in range(4):
            self.memory.write(page, b"page %d" % page)
        self.runtime = kind(self.keys, self.memory, predictor, tactics)
        self.gpu = gpu(channel.for_gpu())
        self.asked: dict[int, bytes] = {}
        self.sent: list[Message] = []

    def ask(self, page: int) -> int:
        """Ask for a copy, and note what the page holds."""
        copy = self.runtime.ask(page)
        self.asked[copy] = self.memory.read(page)
        return copy

    def deliver(self) -> None:
        """Send what is pending, and let the GPU have it."""
        for message in self.runtime.send():
            self.sent.append(message)
            self.gpu.receive(message)

    def copy(self, page: int) -> bytes:
        """Return what the GPU gets of a page."""
        copy = self.ask(page)
        self.deliver()
        return self.gpu.landed[copy]
