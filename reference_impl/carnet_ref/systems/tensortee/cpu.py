"""The CPU enclave: it reads line by line, and waits for the MAC of each."""

from __future__ import annotations

import hmac

from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.descriptors import Descriptor, check
from carnet_ref.systems.tensortee.errors import TensorError
from carnet_ref.systems.tensortee.layout import Layout, Side
from carnet_ref.systems.tensortee.lines import LINE_BYTES, STORED_BYTES, Address, decrypt, line_mac
from carnet_ref.systems.tensortee.memory import Memory
from carnet_ref.systems.tensortee.session import Keys
from carnet_ref.systems.tensortee.writing import ROOM, Enclave


class Cpu(Enclave):
    """The CPU's side of a session."""

    def __init__(self, keys: Keys, layout: Layout, memory: Memory, room: int = ROOM, checks: Checks = EVERY) -> None:
        super().__init__(Side.CPU, keys, layout, memory, room, checks)

    def take(self, descriptor: Descriptor) -> None:
        """Take the version of a result that the NPU handed over.

        Raises:
            TensorError: the NPU did not hand it over, or it is no newer than the last one.
        """
        self._require_others(descriptor.tensor)
        check(self._keys, Side.NPU, descriptor, self._checks)
        self.table.take(descriptor.tensor, descriptor.version)

    @enforces("REQ-READ-01")
    def read(self, tensor: int, line: int) -> bytes:
        """Return a line, once its MAC has verified for tensor, line and version.

        Raises:
            TensorError: there is no such line, or what memory gives is not what was written there last.
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
