"""GPU memory: one address space in regions, all of it within reach of whoever has the link.

Nothing in hardware limits a sender to one region, so neither does this module.

Source: deck, Outlook (confining a data provider to its buffer is future firmware).
"""

from __future__ import annotations

from enum import Enum

from carnet_ref.wire.reader import MalformedError


class Region(Enum):
    """What memory is for. ``STASH`` is all that no scrub, upload or read-back names."""

    CODE = "code"
    MODEL = "model"
    BUFFER = "buffer"
    WORKSPACE = "workspace"
    STASH = "stash"


CAPACITY = 1 << 28
"""Bytes in each region."""

BASE = {region: index * CAPACITY for index, region in enumerate(Region)}
"""The address at which each region begins."""


class Memory:
    """The bytes in every region; a region is as long as what was written to it."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = {region: bytearray() for region in Region}

    def write(self, address: int, data: bytes) -> Region:
        """Write ``data`` at ``address`` and return the region it lies in.

        Raises:
            MalformedError: the bytes do not fit into one region.
        """
        region, offset = self._locate(address, len(data))
        held = self._bytes[region]
        if len(held) < offset:
            held.extend(bytes(offset - len(held)))
        held[offset : offset + len(data)] = data
        return region

    def read(self, address: int, length: int) -> bytes:
        """Return the bytes from ``address`` on, as many as were written of the ``length`` asked for.

        Raises:
            MalformedError: the bytes do not lie in one region.
        """
        region, offset = self._locate(address, length)
        return bytes(self._bytes[region][offset : offset + length])

    def content(self, region: Region) -> bytes:
        """Return all that was written to ``region``."""
        return bytes(self._bytes[region])

    def replace(self, region: Region, data: bytes) -> None:
        """Make ``data`` all that ``region`` holds."""
        if len(data) > CAPACITY:
            raise MalformedError("GPU memory", f"at most {CAPACITY} bytes of {region.value}", f"{len(data)}")
        self._bytes[region] = bytearray(data)

    def append(self, region: Region, data: bytes) -> None:
        """Write ``data`` behind what ``region`` holds."""
        self.write(BASE[region] + len(self._bytes[region]), data)

    def clear(self, region: Region) -> None:
        """Overwrite ``region`` with nothing."""
        self._bytes[region] = bytearray()

    def _locate(self, address: int, length: int) -> tuple[Region, int]:
        index, offset = divmod(address, CAPACITY)
        if index >= len(BASE) or offset + length > CAPACITY:
            raise MalformedError("GPU address", f"{length} bytes inside one region", hex(address))
        return list(Region)[index], offset
