"""The platform's process: it carries every frame between the parties that connect, and the GPU is plugged in here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from carnet_ref.platform.bus import Platform
from carnet_ref.recorder import Recorder
from carnet_ref.roles.messages import GPU, PLATFORM, Frame, Kind
from carnet_ref.transport.node import Node
from carnet_ref.transport.wire import encode_frame, read_frame
from carnet_ref.wire import MalformedError
from carnet_spec.errors import CarnetError


class ListenError(CarnetError):
    """The platform cannot listen."""

    kind = "network"
    exit_code = 2


TAKEOVERS = 3
"""How often a name may pass to a newer connection before whoever has it keeps it for as long as it stays."""


@dataclass(slots=True)
class Hub:
    """Parties by name, as they connect.

    One that is not among ``parties``, or does not show the run's ``token``, is turned away. The token keeps apart the
    runs on one machine; no claim rests on it, for the platform is not trusted.
    """

    platform: Platform
    gpu: Node
    recorder: Recorder
    parties: frozenset[str]
    remark: Callable[[str], None]
    token: str = ""
    _writers: dict[str, asyncio.StreamWriter] = field(default_factory=dict)
    _takeovers: dict[str, int] = field(default_factory=dict)

    async def listen(self, port: int) -> asyncio.Server:
        """Listen on loopback; port 0 stands for any.

        Raises:
            ListenError: the port is in use.
        """
        try:
            return await asyncio.start_server(self._serve, "127.0.0.1", port)
        except OSError as error:
            raise ListenError(f"cannot listen on port {port} of 127.0.0.1: {error.strerror or error}") from error

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = ""
        try:
            first = await read_frame(reader)
            if first is None or not self._belongs(first) or not self._claimed(first.source, writer):
                self.remark(f"platform: turned away {first.source if first else 'a silent peer'!r}")
                return
            name = first.source
            while (frame := await read_frame(reader)) is not None and self._writers.get(name) is writer:
                self._carry(Frame(name, frame.target, frame.kind, frame.body, frame.clock))
        except MalformedError as error:
            self.remark(f"platform: {name or 'a peer'} is cut off: {error}")
        finally:
            if name and self._writers.get(name) is writer:
                del self._writers[name]
                self._takeovers.pop(name, None)
            writer.close()

    def _belongs(self, first: Frame) -> bool:
        return first.source in self.parties and first.body == self.token.encode("utf-8")

    def _claimed(self, name: str, writer: asyncio.StreamWriter) -> bool:
        """Give a name to the connection that greets under it, close the one that had it, and return whether it did.

        A party that comes back after a crash has to be heard, though its old connection may still look alive; and if it
        was not gone, it connects again. Two that both live would take the name from each other for ever, so that after
        some times the one that has it keeps it.
        """
        before = self._writers.get(name)
        if before is not None:
            if self._takeovers.get(name, 0) == TAKEOVERS:
                return False
            self._takeovers[name] = self._takeovers.get(name, 0) + 1
            self.remark(f"platform: {name} connected again, and its earlier connection is closed")
            before.transport.abort()
        self._writers[name] = writer
        return True

    def _carry(self, frame: Frame) -> None:
        queue = deque([frame])
        while queue:
            carried = self.platform.carry(queue.popleft())
            if carried.step is not None:
                self.recorder.witness(frame.clock)
                self.recorder.record(carried.step)
            for delivered in carried.frames:
                queue.extend(self._deliver(delivered))

    def _deliver(self, frame: Frame) -> Iterable[Frame]:
        if frame.target == GPU:
            return self.gpu.deliver(frame)
        writer = self._writers.get(frame.target)
        if writer is not None and not writer.is_closing():
            writer.write(encode_frame(frame))
        return ()


def greeting(name: str, token: str = "") -> Frame:
    """Return the first frame that a party sends when it connects."""
    return Frame(name, PLATFORM, Kind.ROUTE, token.encode("utf-8"))
