"""Collateral in the files that Intel's service delivers: told by content, put together, and then the same as in one."""

from __future__ import annotations

import base64
import json
from itertools import permutations
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.intel.collateral import PARTS, collateral_of, parse_collateral
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, appraised

FIELDS = json.loads(PLATFORM.collateral)
OTHER = json.loads(SimulatedPlatform(b"another platform", NOW).collateral)


def reply(key: str, name: str, fields: dict[str, str] = FIELDS) -> bytes:
    """Return a document as Intel's service replies with it."""
    return f'{{"{key}":{fields[name]},"signature":"{fields[f"{name}_signature"]}"}}'.encode()


FILES = {
    "tcb_info": reply("tcbInfo", "tcb_info"),
    "qe_identity": reply("enclaveIdentity", "qe_identity"),
    "tcb_info_issuer_chain": FIELDS["tcb_info_issuer_chain"].encode(),
    "root_ca_crl": bytes.fromhex(FIELDS["root_ca_crl"]),
    "pck_crl": bytes.fromhex(FIELDS["pck_crl"]),
}
PCK_CHAIN = FIELDS["pck_crl_issuer_chain"].encode()


def files(**changes: bytes) -> list[bytes]:
    return list((FILES | changes).values())


@pytest.mark.mends("E7")
def test_the_files_are_what_one_object_is_whatever_their_order() -> None:
    whole = parse_collateral(PLATFORM.collateral)
    for order in permutations([*files(), PCK_CHAIN], 6):
        assert parse_collateral(collateral_of(order)) == whole
    assert appraised(QUOTE, collateral=collateral_of([*files(), PCK_CHAIN])).claims["tcb_status"] == "UpToDate"


def test_the_chain_of_the_pck_authority_may_be_left_out() -> None:
    assert parse_collateral(collateral_of(files())).pck_crl_chain == ()
    assert appraised(QUOTE, collateral=collateral_of(files())).accepted


def as_pem(der: bytes) -> bytes:
    return x509.load_der_x509_crl(der).public_bytes(Encoding.PEM)


FORMS = {
    "PEM": as_pem,
    "hexadecimal": lambda der: der.hex().encode() + b"\n",
    "0x": lambda der: b"0x" + der.hex().encode(),
    "base64": base64.encodebytes,
}


@pytest.mark.mends("E7")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["root_ca_crl", "pck_crl"])
def test_a_revocation_list_is_read_in_each_form(name: str, form: str) -> None:
    assert collateral_of(files(**{name: FORMS[form](FILES[name])})) == collateral_of(files())


def test_a_chain_is_read_as_the_header_of_a_reply_has_it() -> None:
    header = quote(FIELDS["tcb_info_issuer_chain"]).encode()
    assert collateral_of(files(tcb_info_issuer_chain=header)) == collateral_of(files())


def test_the_same_file_may_come_twice_and_one_object_stays_as_it_is() -> None:
    assert collateral_of([*files(), *files()]) == collateral_of(files())
    assert collateral_of([PLATFORM.collateral]) == PLATFORM.collateral


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(MalformedError, match=f"without {PARTS[name]}$"):
        collateral_of([data for part, data in FILES.items() if part != name])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("tcb_info", reply("tcbInfo", "tcb_info", OTHER)),
        ("qe_identity", reply("enclaveIdentity", "qe_identity", OTHER)),
        ("tcb_info_issuer_chain", OTHER["tcb_info_issuer_chain"].encode()),
        ("root_ca_crl", bytes.fromhex(OTHER["root_ca_crl"])),
        ("pck_crl", bytes.fromhex(OTHER["pck_crl"])),
    ],
)
def test_two_files_that_differ_about_a_part_are_refused(name: str, other: bytes) -> None:
    with pytest.raises(MalformedError, match=f"one file for {PARTS[name]}, found two"):
        collateral_of([*files(), other])


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_another_platform_is_refused_by_the_appraisal(name: str) -> None:
    theirs = {
        "tcb_info": reply("tcbInfo", "tcb_info", OTHER),
        "qe_identity": reply("enclaveIdentity", "qe_identity", OTHER),
        "tcb_info_issuer_chain": OTHER["tcb_info_issuer_chain"].encode(),
        "root_ca_crl": bytes.fromhex(OTHER["root_ca_crl"]),
        "pck_crl": bytes.fromhex(OTHER["pck_crl"]),
    }[name]
    assert appraised(QUOTE, collateral=collateral_of(files(**{name: theirs}))).failed_step == "collateral-signature"


FOREIGN = {
    "a quote": (QUOTE, "a quote of an Intel TDX virtual machine"),
    "text": (b"no collateral!", "other text"),
    "an empty file": (b"", "nothing"),
    "another object": (b'{"a": 1}', "an object with 'a'"),
    "a whole object": (PLATFORM.collateral, "Intel's collateral"),
    "a list": (b"[1]", "another list"),
    "the platform's certificate": (
        PLATFORM.pck_chain[0].certificate.public_bytes(Encoding.PEM),
        "certificates that begin with 'Intel SGX PCK Certificate'",
    ),
    "a list cut short": (FILES["root_ca_crl"][:-1], "expected a DER CRL"),
    "a list in PEM cut short": (as_pem(FILES["root_ca_crl"])[:-40], "expected a CRL in PEM"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_another_file_is_one_error_that_says_what_came(what: str) -> None:
    data, words = FOREIGN[what]
    with pytest.raises(MalformedError) as refused:
        collateral_of([*files(), data])
    assert words in str(refused.value)
