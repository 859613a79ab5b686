"""The opaque data of a key exchange: which version of secured messages the ends agree on.

Source: DMTF DSP0277 1.2.0, section "Secured Message opaque data format"; DSP0274 1.3.2, "General opaque data".
"""

from __future__ import annotations

from typing import Final

from carnet_ref.spdm.errors import DowngradeError
from carnet_ref.spdm.messages import Version
from carnet_ref.spdm.messages.common import u16
from carnet_ref.wire.reader import MalformedError, Reader

SECURED_VERSIONS: Final = (0x1100, 0x1200)
"""DSP0277 1.1 and 1.2, whose records are alike."""
_SELECTION: Final = 0
_SUPPORT: Final = 1
_DMTF: Final = b"FTMD"


def offered_versions(version: Version) -> bytes:
    """Return a requester's opaque data."""
    listed = b"".join(map(u16, SECURED_VERSIONS))
    return _element(version, bytes([1, _SUPPORT, len(SECURED_VERSIONS)]) + listed)


def selected_version(version: Version, offered: bytes) -> bytes:
    """Return a responder's opaque data, which answers a requester's.

    Raises:
        MalformedError: the requester's is none.
        DowngradeError: it offers no version that Carnet speaks.
    """
    reader = Reader(_data(version, offered, _SUPPORT), "secured message versions")
    versions = [reader.number(2, "version") for _ in range(reader.number(1, "version count"))]
    reader.end()
    common = set(versions) & set(SECURED_VERSIONS)
    if not common:
        raise DowngradeError("the requester offers no version of secured messages from 1.1 on")
    return _element(version, bytes([1, _SELECTION]) + u16(max(common)))


def check_selected(version: Version, selected: bytes) -> None:
    """Check a responder's opaque data.

    Raises:
        MalformedError: it is none.
        DowngradeError: it selects a version that was not offered.
    """
    reader = Reader(_data(version, selected, _SELECTION), "secured message selection")
    choice = reader.number(2, "version")
    reader.end()
    if choice not in SECURED_VERSIONS:
        raise DowngradeError(f"the responder selects secured messages {choice >> 12}.{choice >> 8 & 15}")


def _element(version: Version, data: bytes) -> bytes:
    head = _DMTF + b"\1\1\0\0" if version < Version.V1_2 else b"\1\0\0\0"
    element = b"\0\0" + u16(len(data)) + data
    return head + element + bytes(-len(element) % 4)


def _data(version: Version, opaque: bytes, wanted: int) -> bytes:
    """Return the data of the DMTF's one element of the wanted kind."""
    reader = Reader(opaque, "opaque data")
    if version < Version.V1_2:
        reader.constant(_DMTF + b"\1", "general opaque data")
    count = reader.number(1, "element count")
    reader.take(2 if version < Version.V1_2 else 3, "reserved")
    found = None
    for _ in range(count):
        registry, vendor = reader.number(1, "registry"), reader.take(reader.number(1, "vendor size"), "vendor")
        data = reader.take(reader.number(2, "data size"), "data")
        reader.take(min(-(4 + len(vendor) + len(data)) % 4, reader.remaining), "padding")
        if registry == 0 and data[:2] == bytes([1, wanted]):
            found = data[2:]
    reader.end()
    if found is None:
        raise MalformedError("opaque data", f"a DMTF element of kind {wanted}", f"{count} others")
    return found
