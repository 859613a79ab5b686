"""Untrusted memory: lines, MACs, spilled version tables, and the descriptors that hand tensors over.

Both sides encrypt a line under its address and version, so a tensor moves between their memories as it is. The MAC of a
line is that of a pseudorandom function, so the XOR of all of them may be compared in place of each. GCM tags may not be
added up: they are linear in the ciphertext, and the same change in two lines leaves the XOR of their tags as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from carnet_ref.crypto.primitives import TAG_BYTES, AesGcm, AuthenticationError, hmac_sha384, sha384
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import decrypt_unverified
from carnet_ref.systems.tensortee.session import Keys, TensorError
from carnet_ref.wire import join, number

LINE_BYTES = 64
STORED_BYTES = LINE_BYTES + TAG_BYTES  #: What a line takes in memory, with its MAC.
MOST = 2**32 - 1  #: The largest number of a tensor, of a line and of a version.
_LINE = b"carnet tensortee line"


@dataclass(frozen=True, slots=True)
class Address:
    """The tensor, line number and version of a line."""

    tensor: int
    line: int
    version: int

    def __post_init__(self) -> None:
        if not all(0 <= part <= MOST for part in (self.tensor, self.line, self.version)):
            raise ValueError(f"no line {self.line} of tensor {self.tensor} in version {self.version}")

    @property
    def nonce(self) -> bytes:
        """The IV: four bytes for each field."""
        return b"".join(part.to_bytes(4, "big") for part in (self.tensor, self.line, self.version))


def encrypt(keys: Keys, address: Address, block: bytes) -> bytes:
    """Return the ciphertext of a line. Raises ValueError if the block does not have a line's size."""
    if len(block) != LINE_BYTES:
        raise ValueError(f"a line has {LINE_BYTES} bytes, and this block {len(block)}")
    return AesGcm(keys.lines).encrypt(address.nonce, block)[:LINE_BYTES]


def decrypt(keys: Keys, address: Address, ciphertext: bytes) -> bytes:
    """Return the decryption of a line at an address, unverified."""
    return decrypt_unverified(keys.lines, address.nonce, ciphertext)


@enforces("REQ-MAC-01", "mac-tensor", "mac-line", "mac-version", "mac-nonlinear")
def line_mac(keys: Keys, address: Address, ciphertext: bytes, checks: Checks = EVERY) -> bytes:
    """Return the MAC of a line, which binds tensor, line and version."""
    if not checks.insist_on("mac-nonlinear"):
        return AesGcm(keys.macs).encrypt(address.nonce, b"", ciphertext)
    parts = {"mac-tensor": address.tensor, "mac-line": address.line, "mac-version": address.version}
    bound = (number(part) for defence, part in parts.items() if checks.insist_on(defence))
    return hmac_sha384(keys.macs, join(_LINE, *bound, ciphertext))[:TAG_BYTES]


def total(macs: Iterable[bytes]) -> bytes:
    """Return the MAC of a tensor: the XOR of its lines' MACs, in any order."""
    summed = 0
    for mac in macs:
        summed ^= int.from_bytes(mac, "big")
    return summed.to_bytes(TAG_BYTES, "big")


class Side(Enum):
    """The two enclaves of a job, CPU and NPU."""

    CPU = "cpu"
    NPU = "npu"

    @property
    def other(self) -> Side:
        """The other side, which reads what this side writes."""
        return Side.NPU if self is Side.CPU else Side.CPU


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a tensor: its number of lines, and the side that writes it."""

    lines: int
    writer: Side

    def __post_init__(self) -> None:
        if not 0 < self.lines <= MOST:
            raise ValueError(f"a tensor of {self.lines} lines")


@dataclass(frozen=True, slots=True)
class Layout:
    """The tensors of a job, by number."""

    shapes: Mapping[int, Shape]

    def shape(self, tensor: int) -> Shape:
        """Return the shape of a tensor. Raises TensorError if the job has no such tensor."""
        try:
            return self.shapes[tensor]
        except KeyError:
            raise TensorError(tensor, "the job has no such tensor") from None

    def require_line(self, tensor: int, line: int) -> None:
        """Raise TensorError unless the tensor has the line."""
        lines = self.shape(tensor).lines
        if not 0 <= line < lines:
            raise TensorError(tensor, f"no line {line} of {lines}")


@dataclass(slots=True)
class Memory:
    """The memory of one side, which an adversary on the bus can read and write."""

    lines: dict[tuple[int, int], bytes] = field(default_factory=dict)  #: Ciphertext and MAC, by tensor and line.
    macs: dict[int, bytes] = field(default_factory=dict)  #: The MAC of a tensor.
    entries: dict[int, bytes] = field(default_factory=dict)  #: Versions of tensors that have no room on-chip.

    def line(self, tensor: int, line: int) -> bytes:
        """Return the stored bytes of a line; empty if it was never written."""
        return self.lines.get((tensor, line), b"")


def transfer(tensor: int, source: Memory, target: Memory) -> None:
    """Copy a tensor's ciphertext between memories, as host software does without a key."""
    target.lines.update({place: stored for place, stored in source.lines.items() if place[0] == tensor})
    if tensor in source.macs:
        target.macs[tensor] = source.macs[tensor]


class VersionTable:
    """The version of each tensor, 0 for none; the table is partly on-chip and partly in untrusted memory.

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
        """Return the version of a tensor, read from memory if its entry was spilled.

        Raises TensorError if the entry in memory is not the one that was moved there last.
        """
        if tensor in self._away:
            away = self._verified(tensor)
            version = int.from_bytes(away.pop(tensor), "little")
            if len(self._here) == self._room:
                self._move_out(next(iter(self._here)), away)
            self._keep(away)
            self._here[tensor] = version
        return self._here.get(tensor, 0)

    @enforces("REQ-WRITE-02", "version-advances")
    def advance(self, tensor: int, version: int) -> None:
        """Advance a tensor to its next version, before its lines are written.

        Raises TensorError if it is not the next one, or there is none left.
        """
        last = self.version(tensor)
        if version != last + 1 and self._checks.insist_on("version-advances"):
            raise TensorError(tensor, f"version {version} does not follow version {last}")
        if version > MOST:
            raise TensorError(tensor, "no version is left: begin a session with a new key")
        self._put(tensor, version)

    @enforces("REQ-HAND-03", "descriptor-fresh")
    def take(self, tensor: int, version: int) -> None:
        """Accept the version in a descriptor. Raises TensorError if it is not newer than the last one."""
        last = self.version(tensor)
        if version <= last and self._checks.insist_on("descriptor-fresh"):
            raise TensorError(tensor, f"version {version} is no newer than version {last}")
        self._put(tensor, version)

    @enforces("REQ-KEY-03", "new-key")
    def start_again(self, tensor: int) -> None:
        """Restart the versions of a tensor, which requires a new key. Raises TensorError if the key is the old one."""
        if self._checks.insist_on("new-key"):
            raise TensorError(tensor, "versions start again under a new key only")
        self._put(tensor, 0)

    def spill(self, tensor: int) -> None:
        """Move an entry to memory, and update the root over the spilled entries.

        Raises TensorError if there is no entry, or what lies there already is not what was written.
        """
        if tensor not in self._here:
            raise TensorError(tensor, "has no entry on-chip")
        away = self._verified(tensor)
        self._move_out(tensor, away)
        self._keep(away)

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


_DESCRIPTOR = b"carnet tensortee descriptor"
_SIDES = {Side.CPU: b"cpu ", Side.NPU: b"npu "}


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A tensor's number and version, with a tag by the side that hands it over."""

    tensor: int
    version: int
    tag: bytes = b""


@enforces("REQ-HAND-02")
def seal_descriptor(keys: Keys, side: Side, tensor: int, version: int) -> Descriptor:
    """Return the descriptor by which ``side`` hands over a tensor."""
    nonce, bound = _bound(side, tensor, version)
    return Descriptor(tensor, version, AesGcm(keys.descriptors).encrypt(nonce, b"", bound))


@enforces("REQ-HAND-02", "descriptor-sealed")
def check_descriptor(keys: Keys, side: Side, descriptor: Descriptor, checks: Checks = EVERY) -> None:
    """Check that ``side`` handed over the tensor in this version. Raises TensorError if it did not."""
    if not checks.insist_on("descriptor-sealed"):
        return
    try:
        nonce, bound = _bound(side, descriptor.tensor, descriptor.version)
        AesGcm(keys.descriptors).decrypt(nonce, descriptor.tag, bound)
    except (AuthenticationError, OverflowError) as error:
        raise TensorError(descriptor.tensor, f"the descriptor is not of the {side.value}: {error}") from None


def _bound(side: Side, tensor: int, version: int) -> tuple[bytes, bytes]:
    """Return IV and associated data: no side hands a tensor over in one version with two meanings."""
    nonce = _SIDES[side] + tensor.to_bytes(4, "big") + version.to_bytes(4, "big")
    return nonce, join(_DESCRIPTOR, _SIDES[side], number(tensor), number(version))
