"""Lines: each address and version has its key stream, and a MAC binds all of them and is not linear."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.checks import Checks
from carnet_ref.systems.tensortee.memory import LINE_BYTES, MOST, Address, decrypt, encrypt, line_mac, total
from carnet_ref.systems.tensortee.session import Keys

Verifies = Callable[[str, object], None]

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


@pytest.mark.parametrize("other", OTHERS)
def test_a_mac_binds_tensor_line_and_version(other: Address, record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-MAC-01")
    assert line_mac(KEYS, HERE, BLOCK) != line_mac(KEYS, other, BLOCK)


@given(st.permutations(range(5)))
def test_the_lines_of_a_tensor_may_come_in_any_order(order: list[int]) -> None:
    macs = [line_mac(KEYS, Address(1, line, 1), BLOCK) for line in range(5)]
    assert total(macs[line] for line in order) == total(macs)


def changed(line: bytes, change: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(line, change, strict=True))


@given(st.binary(min_size=LINE_BYTES, max_size=LINE_BYTES).filter(any))
def test_the_same_change_in_two_lines_cancels_in_tags_and_not_in_macs(change: bytes) -> None:
    """A GCM tag is linear in the ciphertext, so the XOR of two of them does not notice."""
    places = [Address(1, 0, 1), Address(1, 1, 1)]
    lines = [encrypt(KEYS, place, BLOCK) for place in places]
    for checks, noticed in ((Checks(), True), (ChecksWithout(frozenset({"mac-nonlinear"})), False)):
        was = total(line_mac(KEYS, place, line, checks) for place, line in zip(places, lines, strict=True))
        there = (changed(line, change) for line in lines)
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
