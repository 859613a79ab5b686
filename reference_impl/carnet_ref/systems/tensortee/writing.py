"""Writing: what both enclaves do alike with the tensors that they write."""

from __future__ import annotations

from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.descriptors import Descriptor, seal
from carnet_ref.systems.tensortee.errors import TensorError
from carnet_ref.systems.tensortee.layout import Layout, Side
from carnet_ref.systems.tensortee.lines import LINE_BYTES, Address, encrypt, line_mac, total
from carnet_ref.systems.tensortee.memory import Memory
from carnet_ref.systems.tensortee.session import Keys
from carnet_ref.systems.tensortee.table import VersionTable

ROOM = 512
"""How many entries a table has on-chip, unless somebody says otherwise."""


class Enclave:
    """One side of a session, with its memory and its table."""

    def __init__(
        self, side: Side, keys: Keys, layout: Layout, memory: Memory, room: int = ROOM, checks: Checks = EVERY
    ) -> None:
        self._side, self._keys, self._layout, self._memory, self._checks = side, keys, layout, memory, checks
        self.table = VersionTable(memory, room, checks)
        self._written: dict[int, dict[int, bytes]] = {}
        """The MACs of the lines that were written in the pass that is under way."""

    def begin(self, tensor: int, version: int) -> None:
        """Begin a pass: the tensor goes on to this version before its first line is written.

        Raises:
            TensorError: the other side writes the tensor, or the version is not the next one.
        """
        self._require_own(tensor)
        self.table.advance(tensor, version)
        self._written[tensor] = {}

    @enforces("REQ-WRITE-03", "line-once")
    def write(self, tensor: int, line: int, block: bytes) -> None:
        """Write a line in the pass that is under way, once.

        Raises:
            TensorError: the other side writes the tensor, there is no such line or no pass, the line was written, or
                the block is no line.
        """
        if len(block) != LINE_BYTES:
            raise TensorError(tensor, f"a line has {LINE_BYTES} bytes, and this block {len(block)}")
        self._require_own(tensor)
        self._layout.require_line(tensor, line)
        version = self.table.version(tensor)
        if not version or tensor not in self._written:
            raise TensorError(tensor, "no pass is under way")
        if line in self._written[tensor] and self._checks.insist_on("line-once"):
            raise TensorError(tensor, f"line {line} was written in this pass")
        address = Address(tensor, line, version)
        ciphertext = encrypt(self._keys, address, block)
        mac = line_mac(self._keys, address, ciphertext, self._checks)
        self._written[tensor][line] = mac
        self._memory.lines[tensor, line] = ciphertext + mac
        self._memory.macs[tensor] = total(self._written[tensor].values())

    @enforces("REQ-HAND-01", "whole-write")
    def hand_over(self, tensor: int) -> Descriptor:
        """Return what tells the other side that the tensor is there, as it lies in memory.

        Raises:
            TensorError: the other side writes the tensor, or a line of the pass is not written.
        """
        shape = self._layout.shape(tensor)
        if shape.writer is not self._side:
            raise TensorError(tensor, f"is written by the {shape.writer.value}")
        missing = shape.lines - len(self._written.get(tensor, {}))
        if missing and self._checks.insist_on("whole-write"):
            raise TensorError(tensor, f"{missing} of {shape.lines} lines are not written")
        return seal(self._keys, self._side, tensor, self.table.version(tensor))

    @enforces("REQ-WRITE-01", "one-writer")
    def _require_own(self, tensor: int) -> None:
        writer = self._layout.shape(tensor).writer
        if writer is not self._side and self._checks.insist_on("one-writer"):
            raise TensorError(tensor, f"is written by the {writer.value}")

    def _require_others(self, tensor: int) -> None:
        if self._layout.shape(tensor).writer is self._side:
            raise TensorError(tensor, f"is written by the {self._side.value} itself")
