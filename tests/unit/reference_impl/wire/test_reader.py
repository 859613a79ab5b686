"""Errors of readers name the field that is wrong: by what was expected, what was found, and where it begins."""

import pytest

from carnet_ref.attestation.intel.event_log import parse_event_log
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.wire import MalformedError, Reader, number, to_number
from tests.fixtures.simulated_quotes import QUOTE, edited, of_tdx_15

DATA = bytes(range(10))


@pytest.mark.mends("E9")
def test_an_error_is_at_the_field_that_was_read_last() -> None:
    reader = Reader(DATA, "thing")
    reader.take(2, "first")
    assert reader.malformed("less", str(reader.number(4, "second"))).offset == 2


def test_what_is_missing_or_too_much_is_told_where_it_begins() -> None:
    reader = Reader(DATA, "thing")
    reader.take(8, "first")
    with pytest.raises(MalformedError) as error:
        reader.take(4, "second")
    assert error.value.offset == 8
    reader = Reader(DATA, "thing")
    reader.take(8, "first")
    with pytest.raises(MalformedError) as error:
        reader.end()
    assert error.value.offset == 8


VERSION_5 = of_tdx_15()
SIGNATURE = 48 + 584 + 4
QUOTES = {
    "the version": (edited(QUOTE, 0, b"\7\0"), 0),
    "the key type": (edited(QUOTE, 2, b"\3\0"), 2),
    "the TEE type": (edited(QUOTE, 4, b"\x82\0\0\0"), 4),
    "the vendor": (edited(QUOTE, 12, bytes(16)), 12),
    "the body type": (edited(VERSION_5, 48, b"\7\0"), 48),
    "the body size": (edited(VERSION_5, 50, bytes(4)), 50),
    "the certification data": (edited(QUOTE, SIGNATURE + 128, b"\7\0"), 128),
}


@pytest.mark.mends("E9")
@pytest.mark.parametrize("what", QUOTES)
def test_errors_in_quotes_are_where_the_field_is(what: str) -> None:
    quote, offset = QUOTES[what]
    with pytest.raises(MalformedError) as error:
        parse_quote(quote)
    assert error.value.offset == offset


@pytest.mark.mends("E9")
def test_errors_in_event_logs_are_where_the_field_is() -> None:
    with pytest.raises(MalformedError) as error:
        parse_event_log(bytes(4) + b"\7\0\0\0" + bytes(60))
    assert error.value.offset == 4


def test_a_counter_is_read_as_it_was_written() -> None:
    assert to_number(number(7), "a message", "count") == 7


@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_counter_of_another_size_is_malformed(size: int) -> None:
    with pytest.raises(MalformedError, match="a message"):
        to_number(bytes(size), "a message", "count")
