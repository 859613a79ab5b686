"""Collateral is read as published: signed bytes stay as they are, and nothing is guessed."""

from __future__ import annotations

import json

import pytest

from carnet_ref.attestation.intel.collateral import PCK_CHAIN, parse_collateral, split_reply
from carnet_ref.attestation.revocation_lists import parse_crl
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import PLATFORM

FIELDS = json.loads(PLATFORM.collateral)
TCB_INFO = json.loads(FIELDS["tcb_info"])
QE_IDENTITY = json.loads(FIELDS["qe_identity"])
SOFT_LEVEL = QE_IDENTITY["tcbLevels"][0] | {"tcbStatus": "SWHardeningNeeded"}


def with_fields(**changes: object) -> bytes:
    return json.dumps({name: value for name, value in (FIELDS | changes).items() if value is not None}).encode()


def with_tcb_info(**changes: object) -> bytes:
    return with_fields(tcb_info=json.dumps(TCB_INFO | changes))


def with_level(**changes: object) -> bytes:
    (level,) = TCB_INFO["tcbLevels"]
    return with_tcb_info(tcbLevels=[level | changes])


def with_versions(**changes: object) -> bytes:
    return with_level(tcb=TCB_INFO["tcbLevels"][0]["tcb"] | changes)


def test_collateral_is_read_whole() -> None:
    collateral = parse_collateral(PLATFORM.collateral)
    assert collateral.tcb_info.fmspc == PLATFORM.fmspc
    assert collateral.signed_tcb_info.body == FIELDS["tcb_info"].encode()
    assert collateral.qe_identity.isvprodid == QE_IDENTITY["isvprodid"]
    assert len(collateral.tcb_info.levels) == len(collateral.tcb_info.module_identities) == 1


def test_a_whole_reply_of_the_service_is_the_same_as_value_and_signature() -> None:
    replies = {
        "tcb_info": f'{{"tcbInfo":{FIELDS["tcb_info"]},"signature":"{FIELDS["tcb_info_signature"]}"}}',
        "tcb_info_signature": None,
        "qe_identity": f'{{"enclaveIdentity":{FIELDS["qe_identity"]},"signature":"{FIELDS["qe_identity_signature"]}"}}',
        "qe_identity_signature": None,
    }
    assert parse_collateral(with_fields(**replies)) == parse_collateral(PLATFORM.collateral)


@pytest.mark.parametrize("chain", ["tcb_info_issuer_chain", "qe_identity_issuer_chain", PCK_CHAIN])
def test_a_chain_with_the_root_first_is_refused_with_the_order_that_is_expected(chain: str) -> None:
    end = "-----END CERTIFICATE-----\n"
    each = [block + end for block in FIELDS[chain].split(end) if block.strip()]
    assert len(each) == 2
    expected = "issuer chain: expected the signer's certificate first and the root last, found the root first"
    with pytest.raises(MalformedError, match=expected):
        parse_collateral(with_fields(**{chain: "".join(reversed(each))}))


def test_the_signed_value_of_a_reply_keeps_its_white_space() -> None:
    body = b'{ "id" : "TDX" , "signature":"not the one" }'
    signed = split_reply(b'{"tcbInfo":' + body + b',"signature":"' + b"ab" * 64 + b'"}\n', "tcbInfo")
    assert (signed.body, signed.signature) == (body, b"\xab" * 64)


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b'{"tcbInfo":{}}',
        b'{"tcbInfo":{},"signature":"ab"}',
        b'{"tcbInfo":{},"signature":"' + b"ab" * 64,
        b'{ "tcbInfo":{},"signature":"' + b"ab" * 64 + b'"}',
        b'{"enclaveIdentity":{},"signature":"' + b"ab" * 64 + b'"}',
        b'{"tcbInfo":{},"signature":"' + b"zz" * 64 + b'"}',
    ],
)
def test_a_reply_of_another_layout_is_malformed(reply: bytes) -> None:
    with pytest.raises(MalformedError):
        split_reply(reply, "tcbInfo")


@pytest.mark.parametrize("field", sorted(set(FIELDS) - {"tcb_info_signature", "qe_identity_signature"}))
def test_every_field_is_needed(field: str) -> None:
    with pytest.raises(MalformedError):
        parse_collateral(with_fields(**{field: None}))


def test_the_chain_of_the_pck_authority_may_be_empty_since_quotes_have_it() -> None:
    assert parse_collateral(with_fields(**{PCK_CHAIN: ""})).pck_crl_chain == ()


@pytest.mark.parametrize(
    "collateral",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b"[" * 100_000,
        PLATFORM.collateral[:-1] + b',"tcb_info":"twice"}',
        with_fields(tcb_info="{}"),
        with_fields(tcb_info_signature="ab"),
        with_fields(root_ca_crl="00"),
        with_fields(root_ca_crl="zz"),
        with_fields(pck_crl=7),
        with_fields(tcb_info_issuer_chain="no certificate"),
        with_tcb_info(id="SGX"),
        with_tcb_info(version=2),
        with_tcb_info(version=True),
        with_tcb_info(fmspc="00"),
        with_tcb_info(fmspc=" 0e501000000"),
        with_tcb_info(issueDate="2026-01-01"),
        with_tcb_info(tcbEvaluationDataNumber=-1),
        with_tcb_info(tcbType=1),
        with_tcb_info(tcbType=None),
        with_tcb_info(tdxModule=[]),
        with_tcb_info(tdxModuleIdentities={}),
        with_tcb_info(tcbLevels=[7]),
        with_level(tcbStatus="Fine"),
        with_level(advisoryIDs="INTEL-SA-1"),
        with_level(tcb=None),
        with_versions(sgxtcbcomponents=[{"svn": 1}] * 15),
        with_versions(tdxtcbcomponents=[{"svn": 1}] * 17),
        with_versions(tdxtcbcomponents=[{"svn": 256}] * 16),
        with_versions(pcesvn="13"),
        with_versions(pcesvn=1.5),
        with_fields(qe_identity=json.dumps(QE_IDENTITY | {"id": "QE"})),
        with_fields(qe_identity=json.dumps(QE_IDENTITY | {"mrsigner": "00"})),
        with_fields(qe_identity=json.dumps(QE_IDENTITY | {"tcbLevels": [SOFT_LEVEL]})),
    ],
)
def test_anything_else_is_malformed(collateral: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_collateral(collateral)


@pytest.mark.parametrize("crl", [b"", b"0", bytes.fromhex(FIELDS["root_ca_crl"])[:-1]])
def test_a_list_that_is_no_revocation_list_is_malformed(crl: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_crl(crl)
