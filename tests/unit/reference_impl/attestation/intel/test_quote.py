"""Quotes are read whole or not at all."""

import re

import pytest

from carnet_ref.attestation.intel.quote import LARGEST_QUOTE, PADDING_LIMIT, WrongKindError, parse_quote
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import QUOTE, REPORT_DATA, edited

BODY = QUOTE[48:632]
REST = QUOTE[632:]


def version_5(kind: int, size: int, body: bytes) -> bytes:
    head = edited(QUOTE[:48], 0, b"\5\0")
    return head + kind.to_bytes(2, "little") + size.to_bytes(4, "little") + body + REST


def test_a_quote_of_version_4_has_its_fields_where_they_are_specified() -> None:
    quote = parse_quote(QUOTE)
    assert (quote.version, quote.padding, quote.signed) == (4, 0, QUOTE[:632])
    assert quote.report.report_data == REPORT_DATA
    assert quote.report.attributes.sept_ve_disable
    assert not quote.report.attributes.debug
    assert quote.report.tee_tcb_svn_2 is None


def test_a_quote_of_version_5_says_type_and_size_of_its_report_and_signs_them() -> None:
    old = parse_quote(version_5(2, 584, BODY))
    new = parse_quote(version_5(3, 648, BODY + b"s" * 16 + b"m" * 48))
    assert (len(old.signed), len(new.signed)) == (54 + 584, 54 + 648)
    assert (new.report.tee_tcb_svn_2, new.report.mrservicetd) == (b"s" * 16, b"m" * 48)
    assert old.report.mrservicetd is None


@pytest.mark.parametrize(
    "quote",
    [
        edited(QUOTE, 0, b"\3\0\2\0\0\0\0\0"),
        edited(QUOTE, 4, b"\0\0\0\0"),
        version_5(1, 384, BODY[:384]),
    ],
    ids=["version 3", "version 4", "version 5"],
)
def test_a_quote_of_an_sgx_enclave_is_recognised_as_another_kind(quote: bytes) -> None:
    with pytest.raises(WrongKindError, match="SGX enclave"):
        parse_quote(quote)


@pytest.mark.parametrize(
    ("what", "quote"),
    [
        ("version", edited(QUOTE, 0, b"\6\0")),
        ("attestation key type", edited(QUOTE, 2, b"\3\0")),
        ("TEE type", edited(QUOTE, 4, b"\x82")),
        ("QE vendor id", edited(QUOTE, 12, b"\0")),
        ("body type", version_5(4, 584, BODY)),
        ("bytes of body", version_5(3, 584, BODY)),
        ("certification data type 6", edited(QUOTE, 636 + 128, b"\5\0")),
        ("certification data type 5", edited(QUOTE, 636 + 134 + 448 + 34, b"\6\0")),
        ("signature data", QUOTE[:-1]),
        ("nothing more", QUOTE[:632] + (len(REST) - 3).to_bytes(4, "little") + REST[4:] + b"\0"),
    ],
)
def test_a_quote_of_another_layout_is_malformed(what: str, quote: bytes) -> None:
    with pytest.raises(MalformedError, match=re.escape(what)) as error:
        parse_quote(quote)
    assert not isinstance(error.value, WrongKindError)


@pytest.mark.parametrize(("padding", "read"), [(bytes(PADDING_LIMIT), True), (bytes(PADDING_LIMIT + 1), False)])
def test_zeros_may_follow_up_to_the_limit(padding: bytes, read: bool) -> None:
    if read:
        assert parse_quote(QUOTE + padding).padding == PADDING_LIMIT
    else:
        with pytest.raises(MalformedError, match="padding"):
            parse_quote(QUOTE + padding)


def test_what_follows_a_quote_is_zero() -> None:
    with pytest.raises(MalformedError, match="1 non-zero bytes"):
        parse_quote(QUOTE + b"\0\0\1\0")


def test_a_quote_is_not_larger_than_any_quote() -> None:
    with pytest.raises(MalformedError, match="at most"):
        parse_quote(bytes(LARGEST_QUOTE + 1))


def test_nothing_may_follow_the_certificates_in_a_quote() -> None:
    """One byte more, and the two sizes around it say so."""
    size = int.from_bytes(REST[134:138], "little") + 1
    longer = (len(REST) - 3).to_bytes(4, "little") + REST[4:134] + size.to_bytes(4, "little") + REST[138:] + b"\0"
    with pytest.raises(MalformedError, match="QE report certification data"):
        parse_quote(QUOTE[:632] + longer)
