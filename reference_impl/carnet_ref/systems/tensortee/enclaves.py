"""The enclaves: the CPU verifies the MAC of each line first; the NPU computes first and exports after verification."""

import hmac
from collections.abc import Callable
from typing import NoReturn

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.memory import (
    LINE_BYTES,
    STORED_BYTES,
    Address,
    Descriptor,
    Layout,
    Memory,
    Side,
    VersionTable,
    check_descriptor,
    decrypt,
    encrypt,
    line_mac,
    seal_descriptor,
    total,
)
from carnet_ref.systems.tensortee.session import HaltedError, Keys, TensorError

ROOM = 512  #: How many entries a table has on-chip, unless somebody says otherwise.


class Enclave:
    """One side of a session, with its memory and version table."""

    def __init__(
        self, side: Side, keys: Keys, layout: Layout, memory: Memory, room: int = ROOM, checks: Checks = EVERY
    ) -> None:
        self._side, self._keys, self._layout, self._memory, self._checks = side, keys, layout, memory, checks
        self.table = VersionTable(memory, room, checks)
        self._written: dict[int, dict[int, bytes]] = {}
        """The MACs of the lines that were written in the pass that is under way."""

    def begin(self, tensor: int, version: int) -> None:
        """Begin a pass: advance the tensor to ``version`` before its first line is written.

        Raises TensorError if the other side writes the tensor, or the version is not the next one.
        """
        self._require_own(tensor)
        self.table.advance(tensor, version)
        self._written[tensor] = {}

    @enforces("REQ-WRITE-03", "line-once")
    def write(self, tensor: int, line: int, block: bytes) -> None:
        """Write a line in the current pass, once.

        Raises TensorError if the other side writes the tensor, there is no such line or no pass, the line was written,
        or the block is no line.
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
        """Return the descriptor that tells the other side that the tensor in memory is complete.

        Raises TensorError if the other side writes the tensor, or a line of the pass is not written.
        """
        shape = self._layout.shape(tensor)
        if shape.writer is not self._side:
            raise TensorError(tensor, f"is written by the {shape.writer.value}")
        missing = shape.lines - len(self._written.get(tensor, {}))
        if missing and self._checks.insist_on("whole-write"):
            raise TensorError(tensor, f"{missing} of {shape.lines} lines are not written")
        return seal_descriptor(self._keys, self._side, tensor, self.table.version(tensor))

    @enforces("REQ-WRITE-01", "one-writer")
    def _require_own(self, tensor: int) -> None:
        writer = self._layout.shape(tensor).writer
        if writer is not self._side and self._checks.insist_on("one-writer"):
            raise TensorError(tensor, f"is written by the {writer.value}")

    def _require_others(self, tensor: int) -> None:
        if self._layout.shape(tensor).writer is self._side:
            raise TensorError(tensor, f"is written by the {self._side.value} itself")


class Cpu(Enclave):
    """The CPU's side of a session."""

    def __init__(self, keys: Keys, layout: Layout, memory: Memory, room: int = ROOM, checks: Checks = EVERY) -> None:
        super().__init__(Side.CPU, keys, layout, memory, room, checks)

    def take(self, descriptor: Descriptor) -> None:
        """Accept the version of a result that the NPU handed over.

        Raises TensorError if the NPU did not hand it over, or it is no newer than the last one.
        """
        self._require_others(descriptor.tensor)
        check_descriptor(self._keys, Side.NPU, descriptor, self._checks)
        self.table.take(descriptor.tensor, descriptor.version)

    @enforces("REQ-READ-01")
    def read(self, tensor: int, line: int) -> bytes:
        """Return a line, after verifying its MAC for tensor, line and version.

        Raises TensorError if there is no such line, or what memory gives is not what was written there last.
        """
        self._layout.require_line(tensor, line)
        stored = bytes(self._memory.line(tensor, line))
        if len(stored) != STORED_BYTES:
            raise TensorError(tensor, f"line {line} was not written")
        address = Address(tensor, line, self.table.version(tensor))
        ciphertext, mac = stored[:LINE_BYTES], stored[LINE_BYTES:]
        if not hmac.compare_digest(line_mac(self._keys, address, ciphertext, self._checks), mac):
            raise TensorError(tensor, f"the MAC of line {line} does not verify")
        return decrypt(self._keys, address, ciphertext)


Kernel = Callable[[bytes, bytes], bytes]  #: What makes a result of the result so far and of what was read of a tensor.


class Npu(Enclave):
    """The NPU's side of a session."""

    def __init__(self, keys: Keys, layout: Layout, memory: Memory, room: int = ROOM, checks: Checks = EVERY) -> None:
        super().__init__(Side.NPU, keys, layout, memory, room, checks)
        self._fetched: dict[int, dict[int, bytes]] = {}
        """What was read of each tensor, by line; it is on-chip, and nothing of it need be right."""
        self._macs: dict[int, dict[int, bytes]] = {}
        self._awaits: dict[int, set[int]] = {}
        """The tensors whose MAC each tensor awaits; one that is being read awaits itself."""
        self._results: dict[int, bytes] = {}
        self._halted = False

    # -- reading ------------------------------------------------------------------------------------------------------

    def load(self, descriptor: Descriptor) -> None:
        """Begin to read a tensor that the CPU handed over.

        Raises TensorError if the CPU did not hand it over, it is no newer than the last, or the last load awaits its
        MAC.
        """
        self._require_others(descriptor.tensor)
        check_descriptor(self._keys, Side.CPU, descriptor, self._checks)
        self._require_settled(descriptor.tensor)
        self.table.take(descriptor.tensor, descriptor.version)
        self._begin_load(descriptor.tensor)

    def load_again(self, tensor: int) -> None:
        """Begin to read a tensor again in its known version, since memory is untrusted in the meantime.

        Raises TensorError if it has no version yet, or the last load awaits its MAC.
        """
        if not self.table.version(tensor):
            raise TensorError(tensor, "was never written")
        self._require_settled(tensor)
        self._begin_load(tensor)

    @enforces("REQ-LOAD-01", "settle-first")
    def _require_settled(self, tensor: int) -> None:
        if tensor in self._awaits.get(tensor, ()) and self._checks.insist_on("settle-first"):
            raise TensorError(tensor, "awaits its MAC")

    def _begin_load(self, tensor: int) -> None:
        self._fetched[tensor], self._macs[tensor] = {}, {}
        self._awaits.setdefault(tensor, set()).add(tensor)

    @enforces("REQ-LOAD-02", "one-fetch")
    def fetch(self, tensor: int, line: int) -> bytes:
        """Return a decrypted line, unverified; its MAC is added to the tensor's MAC.

        Raises TensorError if there is no such line, it was fetched, or the tensor is not being read.
        """
        self._layout.require_line(tensor, line)
        if tensor not in self._awaits.get(tensor, ()):
            raise TensorError(tensor, "is not being read")
        if line in self._fetched[tensor] and self._checks.insist_on("one-fetch"):
            raise TensorError(tensor, f"line {line} was fetched")
        self._fetched[tensor][line], self._macs[tensor][line] = self._look(tensor, line)
        return self._fetched[tensor][line]

    def _look(self, tensor: int, line: int) -> tuple[bytes, bytes]:
        """Read a line of memory once; return what it decrypts to, and its part of the MAC."""
        address = Address(tensor, line, self.table.version(tensor))
        ciphertext = bytes(self._memory.line(tensor, line))[:LINE_BYTES].ljust(LINE_BYTES, b"\0")
        return decrypt(self._keys, address, ciphertext), line_mac(self._keys, address, ciphertext, self._checks)

    @enforces("REQ-VERIFY-01", "REQ-VERIFY-02", "REQ-TAINT-01", "every-line", "mac-compared", "taint-kept")
    def verify(self, tensor: int) -> None:
        """Compare the MAC of a tensor; values that depend on it then depend only on what it depends on itself.

        Raises TensorError if the MAC is another one, or a line is missing; then the NPU halts.
        """
        if tensor not in self._awaits.get(tensor, ()):
            raise TensorError(tensor, "is not being read")
        missing = self._layout.shape(tensor).lines - len(self._fetched[tensor])
        if missing and self._checks.insist_on("every-line"):
            self.give_up(tensor, f"{missing} lines are missing")
        if not self._checks.insist_on("one-fetch"):
            self._macs[tensor] = {line: self._look(tensor, line)[1] for line in self._fetched[tensor]}
        said = bytes(self._memory.macs.get(tensor, bytes(TAG_BYTES)))
        right = hmac.compare_digest(total(self._macs[tensor].values()), said)
        if not right and self._checks.insist_on("mac-compared"):
            self.give_up(tensor, "the MAC does not verify")
        for awaited in self._awaits.values():
            awaited.discard(tensor)
        if not self._checks.insist_on("taint-kept"):
            self._awaits[tensor].clear()

    def is_verified(self, tensor: int) -> bool:
        """Whether the tensor was read and its MAC verified."""
        return tensor in self._fetched and tensor not in self._awaits.get(tensor, ())

    def verified_lines(self, tensor: int) -> dict[int, bytes]:
        """Return the lines read of a tensor, by number; empty while its MAC is pending."""
        return dict(self._fetched[tensor]) if self.is_verified(tensor) else {}

    @enforces("REQ-VERIFY-03", "fail-stop")
    def give_up(self, tensor: int, reason: str) -> NoReturn:
        """Halt the NPU, because a MAC failed or a line is missing. Raises TensorError always."""
        self._halted = True
        raise TensorError(tensor, reason)

    # -- computing and writing ----------------------------------------------------------------------------------------

    @enforces("REQ-TAINT-01", "taint-passed-on")
    def compute(self, result: int, source: int, kernel: Kernel) -> None:
        """Compute a result from what was read of a tensor; the result depends on the same pending MACs.

        Raises TensorError if the CPU writes the result, or the NPU has nothing of the tensor.
        """
        self._require_own(result)
        if source not in self._fetched and source not in self._results:
            raise TensorError(source, "was neither read nor computed")
        lines = self._fetched.get(source, {})
        read = b"".join(lines[line] for line in sorted(lines)) + self._results.get(source, b"")
        if self._checks.insist_on("taint-passed-on"):
            self._awaits.setdefault(result, set()).update(self._awaits.get(source, ()))
        self._results[result] = kernel(self._results.get(result, b""), read)

    def begin(self, tensor: int, version: int) -> None:
        """Begin a pass over a result, and discard what was read of the previous version.

        Raises TensorError if the CPU writes it, the version is not the next one, or its MAC is awaited.
        """
        self._require_settled(tensor)
        super().begin(tensor, version)
        self._fetched.pop(tensor, None)

    # -- what leaves --------------------------------------------------------------------------------------------------

    @enforces("REQ-EXPORT-01", "verified-hand-over")
    def hand_over(self, tensor: int) -> Descriptor:
        """Return the descriptor that tells the CPU that a result is complete and fully verified.

        Raises TensorError if it awaits a MAC, it is not whole, or the CPU writes it; HaltedError if a MAC failed.
        """
        self._require_awaits_nothing(tensor, "verified-hand-over")
        return super().hand_over(tensor)

    @enforces("REQ-EXPORT-01", "verified-release")
    def release(self, tensor: int) -> bytes:
        """Return a result outside the enclaves.

        Raises TensorError if it awaits a MAC, or the CPU writes it; HaltedError if a MAC failed.
        """
        self._require_awaits_nothing(tensor, "verified-release")
        if self._layout.shape(tensor).writer is not Side.NPU:
            raise TensorError(tensor, "is no result")
        read = self._fetched.get(tensor, {})
        return b"".join(read[line] for line in sorted(read)) + self._results.get(tensor, b"")

    @enforces("REQ-VERIFY-03")
    def _require_awaits_nothing(self, tensor: int, defence: str) -> None:
        if self._halted and self._checks.insist_on("fail-stop"):
            raise HaltedError
        awaited = sorted(self._awaits.get(tensor, ()))
        if awaited and self._checks.insist_on(defence):
            raise TensorError(tensor, f"awaits the MAC of {', '.join(map(str, awaited))}")
