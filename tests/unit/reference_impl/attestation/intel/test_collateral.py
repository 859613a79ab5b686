"""Collateral, in one object or in files, and PCK certificates: read as published, and nothing is guessed."""

import base64
import json
from itertools import permutations
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.intel import certificates
from carnet_ref.attestation.intel.collateral import PARTS, PCK_CHAIN, collateral_of, parse_collateral, split_reply
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.attestation.revocation_lists import parse_crl
from carnet_ref.attestation.simulated.authority import Authority
from carnet_ref.attestation.simulated.gpu import SimulatedGpu
from carnet_ref.attestation.simulated.td import COMPONENTS, PCESVN, SimulatedPlatform
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, appraised

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


def test_collateral_is_read_whole_as_value_and_signature_or_as_a_whole_reply() -> None:
    collateral = parse_collateral(PLATFORM.collateral)
    assert collateral.tcb_info.fmspc == PLATFORM.fmspc
    assert collateral.signed_tcb_info.body == FIELDS["tcb_info"].encode()
    assert collateral.qe_identity.isvprodid == QE_IDENTITY["isvprodid"]
    assert len(collateral.tcb_info.levels) == len(collateral.tcb_info.module_identities) == 1
    replies = {
        "tcb_info": f'{{"tcbInfo":{FIELDS["tcb_info"]},"signature":"{FIELDS["tcb_info_signature"]}"}}',
        "tcb_info_signature": None,
        "qe_identity": f'{{"enclaveIdentity":{FIELDS["qe_identity"]},"signature":"{FIELDS["qe_identity_signature"]}"}}',
        "qe_identity_signature": None,
    }
    assert parse_collateral(with_fields(**replies)) == parse_collateral(PLATFORM.collateral)
    body = b'{ "id" : "TDX" , "signature":"not the one" }'
    signed = split_reply(b'{"tcbInfo":' + body + b',"signature":"' + b"ab" * 64 + b'"}\n', "tcbInfo")
    assert (signed.body, signed.signature) == (body, b"\xab" * 64)
    assert parse_collateral(with_fields(**{PCK_CHAIN: ""})).pck_crl_chain == ()


@pytest.mark.parametrize("chain", ["tcb_info_issuer_chain", "qe_identity_issuer_chain", PCK_CHAIN])
def test_a_chain_with_the_root_first_is_refused_with_the_order_that_is_expected(chain: str) -> None:
    end = "-----END CERTIFICATE-----\n"
    each = [block + end for block in FIELDS[chain].split(end) if block.strip()]
    assert len(each) == 2
    expected = "issuer chain: expected the signer's certificate first and the root last, found the root first"
    with pytest.raises(MalformedError, match=expected):
        parse_collateral(with_fields(**{chain: "".join(reversed(each))}))


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


OTHERS_FIELDS = json.loads(SimulatedPlatform(b"another platform", NOW).collateral)


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
PCK_CHAIN_FILE = FIELDS["pck_crl_issuer_chain"].encode()


def files(**changes: bytes) -> list[bytes]:
    return list((FILES | changes).values())


@pytest.mark.mends("E7")
def test_the_files_are_what_one_object_is_whatever_their_order() -> None:
    whole = parse_collateral(PLATFORM.collateral)
    for order in permutations([*files(), PCK_CHAIN_FILE], 6):
        assert parse_collateral(collateral_of(order)) == whole
    assert appraised(QUOTE, collateral=collateral_of([*files(), PCK_CHAIN_FILE])).claims["tcb_status"] == "UpToDate"


def test_a_chain_may_be_left_out_or_quoted_and_a_file_may_come_twice() -> None:
    assert parse_collateral(collateral_of(files())).pck_crl_chain == ()
    assert appraised(QUOTE, collateral=collateral_of(files())).accepted
    header = quote(FIELDS["tcb_info_issuer_chain"]).encode()
    assert collateral_of(files(tcb_info_issuer_chain=header)) == collateral_of(files())
    assert collateral_of([*files(), *files()]) == collateral_of(files())
    assert collateral_of([PLATFORM.collateral]) == PLATFORM.collateral


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


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_missing_is_named_and_one_of_another_platform_refused(name: str) -> None:
    with pytest.raises(MalformedError, match=f"without {PARTS[name]}$"):
        collateral_of([data for part, data in FILES.items() if part != name])
    theirs = {
        "tcb_info": reply("tcbInfo", "tcb_info", OTHERS_FIELDS),
        "qe_identity": reply("enclaveIdentity", "qe_identity", OTHERS_FIELDS),
        "tcb_info_issuer_chain": OTHERS_FIELDS["tcb_info_issuer_chain"].encode(),
        "root_ca_crl": bytes.fromhex(OTHERS_FIELDS["root_ca_crl"]),
        "pck_crl": bytes.fromhex(OTHERS_FIELDS["pck_crl"]),
    }[name]
    assert appraised(QUOTE, collateral=collateral_of(files(**{name: theirs}))).failed_step == "collateral-signature"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("tcb_info", reply("tcbInfo", "tcb_info", OTHERS_FIELDS)),
        ("qe_identity", reply("enclaveIdentity", "qe_identity", OTHERS_FIELDS)),
        ("tcb_info_issuer_chain", OTHERS_FIELDS["tcb_info_issuer_chain"].encode()),
        ("root_ca_crl", bytes.fromhex(OTHERS_FIELDS["root_ca_crl"])),
        ("pck_crl", bytes.fromhex(OTHERS_FIELDS["pck_crl"])),
    ],
)
def test_two_files_that_differ_about_a_part_are_refused(name: str, other: bytes) -> None:
    with pytest.raises(MalformedError, match=f"one file for {PARTS[name]}, found two"):
        collateral_of([*files(), other])


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


PEM = parse_quote(QUOTE).signature.pck_chain
LEAF = PLATFORM.pck_chain[0].certificate
SGX_OID = x509.ObjectIdentifier(certificates.SGX_EXTENSION)


def sgx_extension() -> bytes:
    value = LEAF.extensions.get_extension_for_oid(SGX_OID).value
    assert isinstance(value, x509.UnrecognizedExtension)
    return value.value


def leaf_with(extension: bytes) -> x509.Certificate:
    authority = Authority(b"seed", ec.SECP256R1(), hashes.SHA256(), NOW, NOW)
    value = x509.UnrecognizedExtension(SGX_OID, extension)
    return authority.issue("a platform", None, authority=False, extensions=[value]).certificate


def test_a_signature_with_unused_bits_is_refused_although_it_verifies() -> None:
    """The number of unused bits is not signed, and a zero bit may be left unused without any other change."""
    platforms = (SimulatedPlatform(bytes([seed]), NOW) for seed in range(64))
    issued = next(
        found for found in (each.pck_chain for each in platforms) if not found[0].certificate.signature[-1] & 1
    )
    whole = issued[0].certificate.public_bytes(Encoding.DER)
    place = len(whole) - len(issued[0].certificate.signature) - 1
    changed = x509.load_der_x509_certificate(whole[:place] + b"\1" + whole[place + 1 :])
    changed.verify_directly_issued_by(issued[1].certificate)
    above = b"".join(each.certificate.public_bytes(Encoding.PEM) for each in issued[1:])
    certificates.parse_pck_chain(issued[0].certificate.public_bytes(Encoding.PEM) + above)
    with pytest.raises(MalformedError, match="unused bits"):
        certificates.parse_pck_chain(changed.public_bytes(Encoding.PEM) + above)


def test_the_extension_says_what_the_platform_is_in_any_certificate() -> None:
    assert certificates.parse_pck_chain(PEM + b"\0") == certificates.parse_pck_chain(PEM)
    assert certificates.parse_pck_certificate(leaf_with(sgx_extension())).fmspc == PLATFORM.fmspc
    with pytest.raises(MalformedError, match="SGX extension"):
        certificates.parse_pck_certificate(PLATFORM.tcb_signer.certificate)
    certificates.p256_key(LEAF)
    with pytest.raises(MalformedError):
        certificates.p256_key(SimulatedGpu(b"seed", NOW).certificates[0])
    chain = certificates.parse_pck_chain(PEM)
    assert chain.leaf.fmspc == PLATFORM.fmspc
    assert chain.leaf.tcb.components == COMPONENTS
    assert (chain.leaf.tcb.pcesvn, chain.leaf.pceid, len(chain.leaf.ppid)) == (PCESVN, bytes(2), 16)
    assert [chain.issuer, chain.root] == [issued.certificate for issued in PLATFORM.pck_chain[1:]]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        PEM + b"\0\0",
        PEM + b"\n",
        b"\n" + PEM,
        PEM[:-1],
        PEM.replace(b"\n", b"\r\n"),
        PEM.replace(b"-----END CERTIFICATE-----\n", b"-----END CERTIFICATE-----\n\n", 1),
        LEAF.public_bytes(Encoding.DER),
        LEAF.public_bytes(Encoding.PEM),
        PEM + LEAF.public_bytes(Encoding.PEM),
    ],
)
def test_a_chain_is_exactly_three_certificates_in_pem(text: bytes) -> None:
    with pytest.raises(MalformedError):
        certificates.parse_pck_chain(text)


@pytest.mark.parametrize(
    "extension",
    [
        b"",
        b"\x30\x00",
        sgx_extension()[:-1],
        sgx_extension() + b"\0",
        sgx_extension().replace(b"\x04\x06" + PLATFORM.fmspc, b"\x02\x06" + PLATFORM.fmspc),
        sgx_extension().replace(b"\x04\x02\0\0", b"\x02\x02\1\0"),
        sgx_extension().replace(bytes.fromhex("0d0103"), bytes.fromhex("0d0104")),
        sgx_extension().replace(b"\x02\x01\x0d", b"\x02\x01\xff"),
    ],
    ids=["empty", "nothing", "cut short", "longer", "FMSPC a number", "PCEID a number", "other name", "negative"],
)
def test_an_extension_of_another_form_is_malformed(extension: bytes) -> None:
    with pytest.raises(MalformedError):
        certificates.parse_pck_certificate(leaf_with(extension))


def test_a_version_of_thousands_of_digits_is_malformed_and_nothing_worse() -> None:
    """Python writes no decimal number of that size: an error message must not try to."""
    extension = asn1.decode_der(certificates.SgxExtension, sgx_extension())
    versions = extension.tcb.value.parse(certificates.TcbSequence)
    versions.pcesvn = certificates.SgxItem(oid=versions.pcesvn.oid, value=_tlv(b"\x02\x82\x08\x00\x80" + bytes(2047)))
    extension.tcb = certificates.SgxItem(oid=extension.tcb.oid, value=_tlv(asn1.encode_der(versions)))
    with pytest.raises(MalformedError, match="security version"):
        certificates.parse_pck_certificate(leaf_with(asn1.encode_der(extension)))


def _tlv(data: bytes) -> asn1.TLV:
    return asn1.decode_der(asn1.TLV, data)
