"""The opaque data of a key exchange: it ends where it says."""

from __future__ import annotations

import pytest

from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.secured import check_selected, offered_versions, selected_version
from carnet_ref.wire import MalformedError

NEW = Version.V1_2
OFFERED = offered_versions(NEW)
SELECTED = selected_version(NEW, OFFERED)


def longer(opaque: bytes) -> bytes:
    """Return the same opaque data, the one element of which has a word more."""
    head, rest = opaque[:6], opaque[8:]
    size = int.from_bytes(opaque[6:8], "little")
    return head + (size + 4).to_bytes(2, "little") + rest[:size] + bytes(4) + rest[size:]


def test_both_ends_speak_of_the_same_version() -> None:
    check_selected(NEW, SELECTED)


def test_nothing_may_follow_the_elements() -> None:
    with pytest.raises(MalformedError, match="opaque data"):
        selected_version(NEW, OFFERED + bytes(4))
    with pytest.raises(MalformedError, match="opaque data"):
        check_selected(NEW, SELECTED + bytes(4))


def test_nothing_may_follow_within_an_element() -> None:
    with pytest.raises(MalformedError, match="secured message versions"):
        selected_version(NEW, longer(OFFERED))
    with pytest.raises(MalformedError, match="secured message selection"):
        check_selected(NEW, longer(SELECTED))
