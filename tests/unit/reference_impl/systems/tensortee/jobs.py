"""A job for tests: weights that the CPU writes, gradients and a loss that the NPU writes, and memory to change."""

from __future__ import annotations

from dataclasses import dataclass, field

from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.enclaves import Cpu, Enclave, Npu
from carnet_ref.systems.tensortee.memory import LINE_BYTES, Descriptor, Layout, Memory, Shape, Side, transfer
from carnet_ref.systems.tensortee.session import Keys

KEYS = Keys(bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96)))
WEIGHTS, BIAS, GRADIENTS, LOSS = 1, 2, 3, 4
LINES = 3
SHAPES = {
    WEIGHTS: Shape(LINES, Side.CPU),
    BIAS: Shape(LINES, Side.CPU),
    GRADIENTS: Shape(LINES, Side.NPU),
    LOSS: Shape(1, Side.NPU),
}


def block(text: str) -> bytes:
    """Return a line that begins with the text."""
    return text.encode().ljust(LINE_BYTES, b".")


@dataclass
class Job:
    """Both enclaves of a job, each with its memory."""

    checks: Checks = EVERY
    cpu_memory: Memory = field(default_factory=Memory)
    npu_memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.cpu = Cpu(KEYS, Layout(SHAPES), self.cpu_memory, checks=self.checks)
        self.npu = Npu(KEYS, Layout(SHAPES), self.npu_memory, checks=self.checks)

    def write(self, side: Enclave, tensor: int, version: int, text: str) -> list[bytes]:
        """Write a whole pass, and return what was written."""
        blocks = [block(f"{text} {line}") for line in range(SHAPES[tensor].lines)]
        side.begin(tensor, version)
        for line, written in enumerate(blocks):
            side.write(tensor, line, written)
        return blocks

    def send(self, tensor: int, version: int = 1, text: str = "weights") -> Descriptor:
        """Let the CPU write a pass and hand the tensor over, and copy it."""
        self.write(self.cpu, tensor, version, text)
        transfer(tensor, self.cpu_memory, self.npu_memory)
        return self.cpu.hand_over(tensor)

    def fetch(self, tensor: int) -> list[bytes]:
        """Let the NPU fetch every line."""
        return [self.npu.fetch(tensor, line) for line in range(SHAPES[tensor].lines)]

    def change(self, tensor: int, line: int, place: int = 0) -> None:
        """Change a bit of a line in the NPU's memory."""
        stored = bytearray(self.npu_memory.lines[tensor, line])
        stored[place] ^= 1
        self.npu_memory.lines[tensor, line] = bytes(stored)
