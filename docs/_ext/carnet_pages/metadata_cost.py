"""What versions and MACs cost, by the line and by the tensor: bytes that are kept, and lines of memory that are moved.

A tensor is read from its first line to its last, so a line of versions or MACs is read once for all data lines that it
is about. Nothing else is cached. It is a count of lines, and no time.

Source: the sizes of versions, MACs and nodes of the tree are those of Gueron, "A Memory Encryption Engine Suitable for
General Purpose Processors", IACR ePrint 2016/204; the rest is Carnet's.
"""

import math
from dataclasses import dataclass

LINE_BYTES = 64
TO_A_LINE = 8  #: How many versions, MACs or nodes of the tree one line of memory has.
ENTRY_BYTES = 32  #: An entry on-chip: where the tensor begins and ends, its version, and its MAC.


@dataclass(frozen=True, slots=True)
class Metadata:
    """What protects one tensor: bytes in memory, bytes on-chip, and lines moved when the whole tensor is read once."""

    in_memory: int
    on_chip: int
    moved: int


def lines(size: int) -> int:
    """Return how many lines that many bytes are."""
    if size < 1:
        raise ValueError(f"a tensor of {size} bytes")
    return math.ceil(size / LINE_BYTES)


def tree(leaves: int) -> list[int]:
    """Return how many lines each level of the counter tree has, up to a root that is on-chip."""
    levels = []
    while (leaves := math.ceil(leaves / TO_A_LINE)) > 1:
        levels.append(leaves)
    return levels


def line_granular(size: int) -> Metadata:
    """Return the cost of a version and a MAC for each line, and a tree over the versions."""
    versions = macs = math.ceil(lines(size) / TO_A_LINE)
    moved = versions + macs + sum(tree(versions))
    return Metadata(moved * LINE_BYTES, LINE_BYTES // TO_A_LINE, moved)


def tensor_granular(size: int, spilled_among: int = 0) -> Metadata:
    """Return the cost of a version and a MAC for the whole tensor.

    Args:
        spilled_among: if the entry has no room on-chip, how many entries are in memory with it; otherwise 0.
    """
    lines(size)
    if not spilled_among:
        return Metadata(0, ENTRY_BYTES, 0)
    path = len(tree(math.ceil(spilled_among * ENTRY_BYTES / LINE_BYTES)))
    return Metadata(ENTRY_BYTES, 0, 1 + path)


def traffic(size: int, metadata: Metadata) -> float:
    """Return how many lines are moved for each line of the tensor, its own included."""
    return 1 + metadata.moved / lines(size)


def transfer(size: int, *, direct: bool) -> int:
    """Return how many lines are encrypted or decrypted while a tensor moves from one side's memory to the other's.

    Without a common scheme each line is decrypted, encrypted for memory that both sides reach, decrypted there, and
    encrypted for the other side's memory.
    """
    return 0 if direct else 4 * lines(size)


def lines_moved(size: int = 16 << 20) -> str:
    """Say how many lines are moved for each line of a tensor that is read once, by the line and by the tensor."""
    moved = [traffic(size, metadata) for metadata in (line_granular(size), tensor_granular(size))]
    each = "{:.3f} lines for each by the line, {:.3f} by the tensor".format(*moved)
    return f"of {size >> 20} MiB are moved {each}; no time is computed"
