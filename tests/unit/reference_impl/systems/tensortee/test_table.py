"""The table of versions: it goes on only, whether an entry is on-chip or was in memory meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.systems.tensortee.memory import MOST, Memory, VersionTable
from carnet_ref.systems.tensortee.session import TensorError
from carnet_ref.wire import number

Verifies = Callable[[str, object], None]


def test_a_pass_takes_the_next_version(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-WRITE-02")
    table = VersionTable(Memory(), 4)
    assert table.version(1) == 0
    table.advance(1, 1)
    for version in (0, 1, 3):
        with pytest.raises(TensorError, match="does not follow version 1"):
            table.advance(1, version)
    assert table.version(1) == 1


def test_after_the_last_version_a_new_key_is_due(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-KEY-03")
    table = VersionTable(Memory(), 4)
    table.take(1, MOST)
    with pytest.raises(TensorError, match="a new key"):
        table.advance(1, MOST + 1)
    with pytest.raises(TensorError, match="under a new key only"):
        table.start_again(1)
    assert table.version(1) == MOST


def test_a_descriptor_moves_the_version_on_only(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-HAND-03")
    table = VersionTable(Memory(), 4)
    table.take(1, 3)
    for version in (2, 3):
        with pytest.raises(TensorError, match="no newer than version 3"):
            table.take(1, version)
    assert table.version(1) == 3


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 3))
def test_little_room_changes_nothing(tensors: list[int], room: int) -> None:
    small, large = VersionTable(Memory(), room), VersionTable(Memory(), 6)
    for tensor in tensors:
        version = large.version(tensor)
        assert small.version(tensor) == version
        for table in (small, large):
            table.advance(tensor, version + 1)
    assert [small.version(tensor) for tensor in range(6)] == [large.version(tensor) for tensor in range(6)]


def test_an_old_entry_is_not_taken_back(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-TABLE-01")
    memory = Memory()
    table = VersionTable(memory, 4)
    for version in (1, 2):
        table.advance(1, version)
        table.spill(1)
    memory.entries[1] = number(1)
    with pytest.raises(TensorError, match="not the one that was written last"):
        table.version(1)
    memory.entries[1] = number(2)
    assert table.version(1) == 2


ONE, TWO = number(1), number(2)


@pytest.mark.parametrize(
    "entries", [{}, {1: TWO, 2: ONE}, {1: ONE}, {1: number(0), 2: TWO}, {1: b"", 2: ONE + TWO}, {1: bytes(99), 2: TWO}]
)
def test_entries_that_were_changed_are_noticed(entries: dict[int, bytes], record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-TABLE-01")
    memory = Memory()
    table = VersionTable(memory, 4)
    table.take(1, 1)
    table.take(2, 2)
    for tensor in (1, 2):
        table.spill(tensor)
    memory.entries.clear()
    memory.entries.update(entries)
    with pytest.raises(TensorError, match="not the one that was written last"):
        table.version(1)


def test_no_root_is_made_of_what_was_changed() -> None:
    """Moving another entry out reads those that are there; it does not sign what memory says meanwhile."""
    memory = Memory()
    table = VersionTable(memory, 1)
    table.take(1, 1)
    table.take(2, 1)
    memory.entries[1] = number(0)
    with pytest.raises(TensorError, match="not the one that was written last"):
        table.take(3, 1)
    assert table.version(2) == 1
    memory.entries[1] = ONE
    assert [table.version(tensor) for tensor in (1, 2, 3)] == [1, 1, 0]


def test_an_entry_in_memory_is_read_once() -> None:
    class Changing(dict[int, bytes]):
        """Answers otherwise every second time."""

        asked = 0

        def get(self, key: int, default: bytes = b"") -> bytes:  # type: ignore[override] # dict has more signatures
            self.asked += 1
            return super().get(key, default) if self.asked % 2 else number(0)

        def __getitem__(self, key: int) -> bytes:
            return number(0)

    table = VersionTable(Memory(entries=Changing()), 1)
    table.take(1, 1)
    table.take(2, 1)
    assert table.version(1) == 1


@pytest.mark.parametrize("honest", range(5))
def test_a_refusal_loses_no_version(honest: int) -> None:
    """An entry comes back while another goes out, and memory changes in between."""

    class Changing(dict[int, bytes]):
        """Says something else of tensor 3 once it has been asked so often."""

        left = 1000

        def get(self, key: int, default: bytes = b"") -> bytes:  # type: ignore[override] # dict has more signatures
            self.left -= key == 3
            return super().get(key, default) if key != 3 or self.left >= 0 else number(0)

    entries = Changing()
    table = VersionTable(Memory(entries=entries), 1)
    for tensor, version in ((1, 5), (3, 7), (2, 1)):
        table.take(tensor, version)
    entries.left = honest
    for _ in range(3):
        with suppress(TensorError):
            assert table.version(1) == 5
        with pytest.raises(TensorError):
            table.take(1, 2)
    entries.left = 1000
    assert [table.version(tensor) for tensor in (1, 2, 3)] == [5, 1, 7]


def test_what_is_not_there_is_not_moved_out() -> None:
    with pytest.raises(TensorError, match="has no entry"):
        VersionTable(Memory(), 1).spill(1)
    with pytest.raises(ValueError, match="room for 0"):
        VersionTable(Memory(), 0)
