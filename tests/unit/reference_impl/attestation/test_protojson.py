"""Messages in the JSON form of protocol buffers: each field by either name, in every form that parsers have to take."""

import base64
from typing import Any

import pytest

from carnet_ref.attestation.protojson import Message
from carnet_ref.wire import MalformedError


def message(**fields: Any) -> Message:
    return Message(fields, "a message")


@pytest.mark.parametrize("name", ["some_number2", "someNumber2"])
def test_a_field_is_found_by_the_name_of_the_schema_and_in_camel_case(name: str) -> None:
    assert message(**{name: 258}).number("some_number2", 2) == b"\2\1"
    assert message(**{name: {"a": 1}}).message("some_number2").number("a", 1) == b"\1"
    assert message(**{name: None}).has("some_number2") is False


def test_a_field_under_both_names_is_refused() -> None:
    with pytest.raises(MalformedError, match="both"):
        message(some_number=1, someNumber=1).number("some_number", 1)


def test_a_field_that_is_left_out_has_its_default() -> None:
    empty = message()
    assert (empty.number("a", 3), empty.octets("a"), empty.octet_lists("a", 1)) == (bytes(3), b"", ())
    assert not empty.has("a")


@pytest.mark.parametrize("value", [18446744073709551615, "18446744073709551615"])
def test_a_number_of_64_bits_is_text_or_a_number(value: Any) -> None:
    assert message(a=value).number("a", 8) == b"\xff" * 8


@pytest.mark.parametrize("data", [b"", b"\xfb\xff\xfe", b"a", b"ab", b"abc"])
def test_bytes_are_base64_of_either_alphabet_with_or_without_padding(data: bytes) -> None:
    for text in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()):
        assert message(a=text).octets("a") == data == message(a=text.rstrip("=")).octets("a")
        assert message(a=[text]).octet_lists("a", len(data)) == (data,)


@pytest.mark.parametrize("value", [-1, 256, 1.5, True, "-1", "0x1", "1" * 21, "", [], {}, "1e3"], ids=ascii)
def test_what_is_no_number_of_one_byte_is_one_typed_error(value: Any) -> None:
    with pytest.raises(MalformedError):
        message(a=value).number("a", 1)


@pytest.mark.parametrize("value", [1, "!", "é", ["AA"], {}, "A", "AAAA"], ids=ascii)
def test_what_is_not_one_byte_in_base64_is_one_typed_error(value: Any) -> None:
    with pytest.raises(MalformedError):
        message(a=value).octets("a", 1)
    with pytest.raises(MalformedError):
        message(a=[value]).octet_lists("a", 1)


@pytest.mark.parametrize("value", [None, 1, "", []])
def test_what_is_no_message_or_list_is_one_typed_error(value: Any) -> None:
    with pytest.raises(MalformedError):
        message(a=value).message("a")
    with pytest.raises(MalformedError):
        message(a="AA").octet_lists("a", 1)


def test_an_enumeration_is_a_word_or_a_number_and_zero_where_it_is_left_out() -> None:
    message = Message({"hash": "SHA256", "other": 11, "flag": True, "list": []}, "x")
    assert [message.word(name) for name in ("hash", "other", "none")] == ["SHA256", 11, 0]
    for name in ("flag", "list"):
        with pytest.raises(MalformedError, match="a word or a number"):
            message.word(name)
