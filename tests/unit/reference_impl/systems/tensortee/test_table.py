"""What is kept of a tensor: a version that goes on only, and a MAC that binds each line; and what both cost."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.checks import Checks
from carnet_ref.systems.tensortee.memory import (
    LINE_BYTES,
    MOST,
    Address,
    Memory,
    VersionTable,
    decrypt,
    encrypt,
    line_mac,
    total,
)
from carnet_ref.systems.tensortee.session import Keys, TensorError
from carnet_ref.wire import number
from docs._ext.carnet_pages import metadata_cost as tensortee_cost
from docs._ext.carnet_pages.metadata_cost import lines


@pytest.mark.verifies("tensortee-REQ-WRITE-02")
def test_a_pass_takes_the_next_version() -> None:
    table = VersionTable(Memory(), 4)
    assert table.version(1) == 0
    table.advance(1, 1)
    for version in (0, 1, 3):
        with pytest.raises(TensorError, match="does not follow version 1"):
            table.advance(1, version)
    assert table.version(1) == 1


@pytest.mark.verifies("tensortee-REQ-KEY-03")
def test_after_the_last_version_a_new_key_is_due() -> None:
    table = VersionTable(Memory(), 4)
    table.take(1, MOST)
    with pytest.raises(TensorError, match="a new key"):
        table.advance(1, MOST + 1)
    with pytest.raises(TensorError, match="under a new key only"):
        table.start_again(1)
    assert table.version(1) == MOST


@pytest.mark.verifies("tensortee-REQ-HAND-03")
def test_a_descriptor_moves_the_version_on_only() -> None:
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


@pytest.mark.verifies("tensortee-REQ-TABLE-01")
def test_an_old_entry_is_not_taken_back() -> None:
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


@pytest.mark.verifies("tensortee-REQ-TABLE-01")
@pytest.mark.parametrize(
    "entries", [{}, {1: TWO, 2: ONE}, {1: ONE}, {1: number(0), 2: TWO}, {1: b"", 2: ONE + TWO}, {1: bytes(99), 2: TWO}]
)
def test_entries_that_were_changed_are_noticed(entries: dict[int, bytes]) -> None:
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


KEYS = Keys(bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96)))
HERE = Address(1, 2, 3)
OTHERS = [Address(2, 2, 3), Address(1, 3, 3), Address(1, 2, 4)]
BLOCK = bytes(range(LINE_BYTES))
NUMBERS = st.integers(0, MOST)
ADDRESSES = st.builds(Address, NUMBERS, NUMBERS, NUMBERS)


@given(ADDRESSES, st.binary(min_size=LINE_BYTES, max_size=LINE_BYTES))
def test_a_line_comes_back(address: Address, block: bytes) -> None:
    assert decrypt(KEYS, address, encrypt(KEYS, address, block)) == block


@given(ADDRESSES, ADDRESSES)
def test_no_two_addresses_have_one_iv(one: Address, other: Address) -> None:
    assert (one.nonce == other.nonce) == (one == other)


@pytest.mark.parametrize("other", OTHERS)
def test_elsewhere_a_line_is_something_else(other: Address) -> None:
    assert decrypt(KEYS, other, encrypt(KEYS, HERE, BLOCK)) != BLOCK


@pytest.mark.verifies("tensortee-REQ-MAC-01")
@pytest.mark.parametrize("other", OTHERS)
def test_a_mac_binds_tensor_line_and_version(other: Address) -> None:
    assert line_mac(KEYS, HERE, BLOCK) != line_mac(KEYS, other, BLOCK)


@given(st.permutations(range(5)))
def test_the_lines_of_a_tensor_may_come_in_any_order(order: list[int]) -> None:
    macs = [line_mac(KEYS, Address(1, line, 1), BLOCK) for line in range(5)]
    assert total(macs[line] for line in order) == total(macs)


@given(st.binary(min_size=LINE_BYTES, max_size=LINE_BYTES).filter(any))
def test_the_same_change_in_two_lines_cancels_in_tags_and_not_in_macs(change: bytes) -> None:
    """A GCM tag is linear in the ciphertext, so the XOR of two of them does not notice."""
    places = [Address(1, 0, 1), Address(1, 1, 1)]
    lines = [encrypt(KEYS, place, BLOCK) for place in places]
    for checks, noticed in ((Checks(), True), (ChecksWithout(frozenset({"mac-nonlinear"})), False)):
        was = total(line_mac(KEYS, place, line, checks) for place, line in zip(places, lines, strict=True))
        there = (bytes((a ^ b for a, b in zip(line, change, strict=True))) for line in lines)
        now = total(line_mac(KEYS, place, line, checks) for place, line in zip(places, there, strict=True))
        assert (was != now) == noticed


@pytest.mark.parametrize("parts", [(-1, 0, 0), (0, MOST + 1, 0), (0, 0, MOST + 1)])
def test_an_address_is_in_its_range(parts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="no line"):
        Address(*parts)


@pytest.mark.parametrize("size", [0, LINE_BYTES - 1, LINE_BYTES + 1])
def test_a_block_has_the_size_of_a_line(size: int) -> None:
    with pytest.raises(ValueError, match="a line has"):
        encrypt(KEYS, HERE, bytes(size))


KIB, MIB = 2**10, 2**20
SIZES = st.integers(1, 2**40)


@given(SIZES)
def test_a_tensor_costs_the_same_however_large_it_is(size: int) -> None:
    assert tensortee_cost.tensor_granular(size) == tensortee_cost.tensor_granular(1)
    assert (tensortee_cost.tensor_granular(size).in_memory, tensortee_cost.tensor_granular(size).moved) == (0, 0)


@given(SIZES)
def test_lines_cost_no_less(size: int) -> None:
    assert tensortee_cost.line_granular(size).moved >= tensortee_cost.tensor_granular(size, spilled_among=2).moved
    assert (
        tensortee_cost.traffic(size, tensortee_cost.line_granular(size))
        > tensortee_cost.traffic(size, tensortee_cost.tensor_granular(size))
        == 1
    )


def test_lines_take_a_quarter_and_the_tree_and_entries_without_room_a_path_of_it() -> None:
    """An eighth for versions, an eighth for MACs, and for the tree a seventh of the former at most."""
    assert tensortee_cost.tree(8**4) == [8**3, 8**2, 8]
    kept = tensortee_cost.line_granular(64 * MIB)
    assert 1.25 < tensortee_cost.traffic(64 * MIB, kept) < 1.25 + 1 / 56
    assert kept.in_memory == kept.moved * 64
    assert tensortee_cost.tensor_granular(MIB, spilled_among=2).moved == 1
    assert tensortee_cost.tensor_granular(MIB, spilled_among=2**10).moved == 1 + len(tensortee_cost.tree(2**9)) == 3
    assert tensortee_cost.tensor_granular(MIB, spilled_among=2**10).in_memory == tensortee_cost.ENTRY_BYTES
    assert tensortee_cost.transfer(MIB, direct=True) == 0
    assert tensortee_cost.transfer(MIB, direct=False) == 4 * lines(MIB)
    assert tensortee_cost.traffic(16 * MIB, tensortee_cost.tensor_granular(16 * MIB, spilled_among=2**10)) < 1.021
    assert tensortee_cost.traffic(16 * MIB, tensortee_cost.line_granular(16 * MIB)) > 1.25


@pytest.mark.parametrize("size", [0, -1])
def test_nothing_is_said_of_no_tensor(size: int) -> None:
    for cost in (lines, tensortee_cost.line_granular, tensortee_cost.tensor_granular):
        with pytest.raises(ValueError, match="a tensor of"):
            cost(size)
