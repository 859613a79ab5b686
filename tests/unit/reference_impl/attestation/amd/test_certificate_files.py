"""Files of certificates: PEM, DER, several in a row, and the table that a host hands out."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd.certificates import (
    ARK,
    ASK,
    LARGEST_FILE,
    MOST_ENTRIES,
    VCEK,
    VLEK,
    KeyKind,
    parse_certificates,
)
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_snp import amd, certificate_table, der, endorsement, pem

LEAF, AUTHORITY, ROOT = endorsement(), amd().authority(KeyKind.VCEK), amd().root
CLOUD_KEY = endorsement(kind=KeyKind.VLEK)
ALL = (LEAF, AUTHORITY, ROOT)
GUIDS = (VCEK.bytes, ASK.bytes, ARK.bytes)
TABLE = certificate_table([(guid, der(each)) for guid, each in zip(GUIDS, ALL, strict=True)])
OTHER = bytes(range(16))


@pytest.mark.parametrize(
    "data",
    [
        pem(*ALL),
        der(*ALL),
        der(*ALL).hex().encode(),
        base64.b64encode(der(*ALL)),
        base64.b64encode(pem(*ALL)),
        TABLE,
        TABLE + bytes(4096),
    ],
    ids=["PEM", "DER", "hexadecimal", "base64", "base64 of PEM", "table", "table in a page"],
)
def test_the_same_certificates_come_out_of_every_form(data: bytes) -> None:
    assert parse_certificates(data) == ALL


def test_a_table_has_guids_in_the_order_of_their_digits() -> None:
    assert TABLE.startswith(bytes.fromhex("63da758de6644564adc5f4b93be8accd"))
    with pytest.raises(MalformedError, match="certificate table"):
        parse_certificates(certificate_table([(VCEK.bytes_le, der(LEAF))]))


def test_what_else_is_in_a_table_is_passed_over() -> None:
    table = certificate_table([(OTHER, b"no certificate"), (VCEK.bytes, der(LEAF)), (VLEK.bytes, der(CLOUD_KEY))])
    assert parse_certificates(table) == (LEAF, CLOUD_KEY)


MALFORMED = {
    "nothing": b"",
    "text": b"no certificate",
    "zeros": bytes(48),
    "one byte": b"\x30",
    "cut short": der(*ALL)[:-1],
    "one byte more": der(*ALL) + b"\0",
    "something between": der(LEAF) + b"\0" + der(AUTHORITY),
    "PEM and DER": pem(LEAF) + der(AUTHORITY),
    "PEM that is cut short": pem(*ALL)[:-40],
    "more than a path has": der(*[LEAF] * 11),
    "larger than any": der(LEAF) + bytes(LARGEST_FILE),
    "a table without an end": TABLE[:71],
    "a table with entries alone": certificate_table([(OTHER, b"")] * 1)[:24],
    "a table that ends in an entry": TABLE[:30],
    "a table of other things": certificate_table([(OTHER, b"no certificate")]),
    "a table with too many entries": certificate_table([(bytes([n]) * 16, b"") for n in range(1, MOST_ENTRIES + 2)]),
    "a table with two of a kind": certificate_table([(VCEK.bytes, der(LEAF)), (VCEK.bytes, der(LEAF))]),
    "a table that reaches beyond itself": certificate_table([(VCEK.bytes, der(LEAF))])[:-1],
    "a table with an offset beyond all": VCEK.bytes + b"\xff" * 8 + bytes(24),
    "a table with something else for a certificate": certificate_table([(VCEK.bytes, bytes(100))]),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_anything_else_is_one_typed_error(what: str) -> None:
    with pytest.raises(MalformedError):
        parse_certificates(MALFORMED[what])


def test_a_certificate_keeps_its_serial_number_zero() -> None:
    (leaf,) = parse_certificates(LEAF.public_bytes(Encoding.DER))
    assert leaf == LEAF
    assert bytes.fromhex("a003020102020100") in leaf.tbs_certificate_bytes
