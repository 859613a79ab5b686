"""Memory: bytes that an adversary owns. It keeps lines with their MACs, MACs of tensors, and entries of a table."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Memory:
    """The memory of one side; an adversary on the bus reads and writes it as an enclave does."""

    lines: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """Ciphertext and MAC, by tensor and line."""
    macs: dict[int, bytes] = field(default_factory=dict)
    """The MAC of a tensor."""
    entries: dict[int, bytes] = field(default_factory=dict)
    """Versions of tensors that have no room on-chip."""

    def line(self, tensor: int, line: int) -> bytes:
        """Return what lies there; nothing, if nothing was written."""
        return self.lines.get((tensor, line), b"")


def transfer(tensor: int, source: Memory, target: Memory) -> None:
    """Copy a tensor as it is, without any key: host software does that."""
    target.lines.update({place: stored for place, stored in source.lines.items() if place[0] == tensor})
    if tensor in source.macs:
        target.macs[tensor] = source.macs[tensor]
