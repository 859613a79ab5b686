"""The table of versions: on-chip as far as there is room, and otherwise in memory, under a root that is on-chip."""

from __future__ import annotations

from collections.abc import Mapping

from carnet_ref.crypto.primitives import sha384
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.errors import TensorError
from carnet_ref.systems.tensortee.lines import MOST
from carnet_ref.systems.tensortee.memory import Memory
from carnet_ref.wire import join, number


class VersionTable:
    """The version of each tensor, 0 if it has none.

    Args:
        room: how many entries are on-chip; the one that was used longest ago makes room.
    """

    def __init__(self, memory: Memory, room: int, checks: Checks = EVERY) -> None:
        if room < 1:
            raise ValueError(f"a table with room for {room} entries")
        self._memory, self._room, self._checks = memory, room, checks
        self._here: dict[int, int] = {}
        self._away: set[int] = set()
        self._root = _root_of({})

    def version(self, tensor: int) -> int:
        """Return the version of a tensor, from memory if it was moved there.

        Raises:
            TensorError: the entry in memory is not the one that was moved there last.
        """
        if tensor in self._away:
            self._refill(tensor)
        return self._here.get(tensor, 0)

    @enforces("REQ-WRITE-02", "version-advances")
    def advance(self, tensor: int, version: int) -> None:
        """Take the next version of a tensor, before anything is written in it.

        Raises:
            TensorError: it is not the next one, or there is none left.
        """
        last = self.version(tensor)
        if version != last + 1 and self._checks.insist_on("version-advances"):
            raise TensorError(tensor, f"version {version} does not follow version {last}")
        if version > MOST:
            raise TensorError(tensor, "no version is left: begin a session with a new key")
        self._put(tensor, version)

    @enforces("REQ-HAND-03", "descriptor-fresh")
    def take(self, tensor: int, version: int) -> None:
        """Take the version that a descriptor tells.

        Raises:
            TensorError: it is no newer than the last one.
        """
        last = self.version(tensor)
        if version <= last and self._checks.insist_on("descriptor-fresh"):
            raise TensorError(tensor, f"version {version} is no newer than version {last}")
        self._put(tensor, version)

    @enforces("REQ-KEY-03", "new-key")
    def start_again(self, tensor: int) -> None:
        """Count the versions of a tensor from the start, which takes a new key.

        Raises:
            TensorError: the key is the old one.
        """
        if self._checks.insist_on("new-key"):
            raise TensorError(tensor, "versions start again under a new key only")
        self._put(tensor, 0)

    def spill(self, tensor: int) -> None:
        """Move an entry to memory, and keep the root of what lies there.

        Raises:
            TensorError: there is no entry, or what lies there already is not what was written.
        """
        if tensor not in self._here:
            raise TensorError(tensor, "has no entry on-chip")
        away = self._verified(tensor)
        self._move_out(tensor, away)
        self._keep(away)

    def _refill(self, tensor: int) -> None:
        away = self._verified(tensor)
        version = int.from_bytes(away.pop(tensor), "little")
        if len(self._here) == self._room:
            self._move_out(next(iter(self._here)), away)
        self._keep(away)
        self._here[tensor] = version

    @enforces("REQ-TABLE-01", "table-protected")
    def _verified(self, tensor: int) -> dict[int, bytes]:
        """Read the entries in memory, once, and return them if they are those that the root stands for.

        A new root is made of these, and never of what memory says meanwhile.
        """
        away = {each: self._memory.entries.get(each, b"") for each in self._away}
        if _root_of(away) != self._root and self._checks.insist_on("table-protected"):
            raise TensorError(tensor, "the entry in memory is not the one that was written last")
        return away

    def _put(self, tensor: int, version: int) -> None:
        if tensor not in self._here and len(self._here) == self._room:
            self.spill(next(iter(self._here)))
        self._here.pop(tensor, None)
        self._here[tensor] = version

    def _move_out(self, tensor: int, away: dict[int, bytes]) -> None:
        away[tensor] = self._memory.entries[tensor] = number(self._here.pop(tensor))

    def _keep(self, away: Mapping[int, bytes]) -> None:
        self._away, self._root = set(away), _root_of(away)


def _root_of(entries: Mapping[int, bytes]) -> bytes:
    """Return the root of a tree of one level; a real one has more, and reads one path."""
    return sha384(join(*(part for each in sorted(entries) for part in (number(each), entries[each]))))
