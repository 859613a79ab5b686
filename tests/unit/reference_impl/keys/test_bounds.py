"""Bounds on AES-256-GCM, against the numbers that the drafts and standards work out, and against the driver's."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.keys.bounds import (
    DRIVER_UNITS,
    Load,
    driver_units,
    log2,
    one_key_confidentiality,
    one_key_integrity,
    one_key_units,
)

COUNTS = st.integers(1, 2**40)


@pytest.mark.parametrize("exponent", range(50, 66))
def test_the_driver_takes_the_draft_s_bound_on_one_key_to_the_nearest_unit(exponent: int) -> None:
    assert driver_units(exponent) - one_key_units(exponent) in {0, 1}
    assert abs((driver_units(exponent) + 1) ** 2 - 2 ** (129 - exponent)) <= driver_units(exponent) + 1


def test_the_driver_has_sixteen_limits() -> None:
    assert list(DRIVER_UNITS) == list(range(50, 66))
    with pytest.raises(KeyMaterialError) as refused:
        driver_units(66)
    assert str(refused.value) == "attacker advantage: 2^-66; the driver knows exponents from 50 to 65"


@given(st.integers(50, 65))
def test_the_most_units_of_one_key_are_within_its_bound_and_one_more_is_not(exponent: int) -> None:
    units = one_key_units(exponent)
    assert one_key_confidentiality(units, 0) <= Fraction(1, 2**exponent) < one_key_confidentiality(units + 1, 0)


def test_one_key_as_in_the_example_of_the_draft() -> None:
    """Section 6.6: at most 2^-50, messages of at most 2^7 blocks; 2^32.5 messages, and 2^64 attempts."""
    messages = round(2**32.5)
    assert log2(one_key_confidentiality(messages * 2**7, messages)) == pytest.approx(-50, abs=0.03)
    assert one_key_integrity(2**64, 2**7) <= Fraction(1, 2**50)


def test_many_keys_as_in_the_example_of_the_draft() -> None:
    """Section 7.4: at most 2^-50, 2^7 blocks a message, 2^27 blocks a key; 2^42 messages and as many attempts."""
    load = Load(blocks=2**42 * 2**7, attempts=2**42, longest=2**7, most=2**27)
    assert log2(load.integrity) == pytest.approx(-50, abs=1e-5)
    assert log2(load.confidentiality) == pytest.approx(-51, abs=1e-5)


def test_a_connection_as_in_tls() -> None:
    """RFC 8446, 5.5: 2^24.5 records of 2^14 bytes; the draft says that this is to keep confidentiality at 2^-60."""
    records = round(2**24.5)
    assert log2(one_key_confidentiality(records * 2**10, records)) == pytest.approx(-60, abs=0.005)


@pytest.mark.parametrize(("octets", "packets"), [(2**11, 2**28), (2**16, 2**23)])
def test_a_connection_as_in_quic(octets: int, packets: int) -> None:
    """RFC 9001, B.1.1: 2 (q l)^2 / 2^128 is at most 2^-57; the draft's bound on the same is a fourth of that."""
    blocks = packets * octets // 16
    assert Fraction(2 * blocks**2, 2**128) == Fraction(1, 2**57)
    assert log2(one_key_confidentiality(blocks, packets)) == pytest.approx(-59, abs=0.03)


@given(COUNTS, st.integers(0, 2**20), st.integers(1, 2**16), st.integers(1, 64))
def test_more_of_anything_never_lowers_a_bound(blocks: int, attempts: int, longest: int, keys: int) -> None:
    load = Load(blocks * keys, attempts, longest, blocks)
    assert load.confidentiality <= load.integrity
    for more in (
        Load(blocks * keys + 1, attempts, longest, blocks),
        Load(blocks * keys, attempts + 1, longest, blocks),
        Load(blocks * keys, attempts, longest + 1, blocks),
        Load(blocks * keys, attempts, longest, blocks + 1),
    ):
        assert more.integrity >= load.integrity


@given(st.integers(2**20, 2**36), st.integers(2, 64))
def test_the_bound_on_many_keys_is_four_times_what_one_gives_for_each(blocks: int, keys: int) -> None:
    together = Load(blocks * keys, keys, 2**16, blocks)
    assert log2(together.confidentiality) == pytest.approx(
        log2(4 * keys * one_key_confidentiality(blocks, 0)), abs=1e-3
    )
