"""PCK certificates: the SGX extension as specified, or nothing."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.intel.certificates import (
    SGX_EXTENSION,
    SgxExtension,
    SgxItem,
    TcbSequence,
    p256_key,
    parse_pck_certificate,
    parse_pck_chain,
)
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.attestation.simulated.authority import Authority
from carnet_ref.attestation.simulated.gpu import SimulatedGpu
from carnet_ref.attestation.simulated.td import COMPONENTS, PCESVN, SimulatedPlatform
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE

PEM = parse_quote(QUOTE).signature.pck_chain
LEAF = PLATFORM.pck_chain[0].certificate
OID = x509.ObjectIdentifier(SGX_EXTENSION)


def sgx_extension() -> bytes:
    value = LEAF.extensions.get_extension_for_oid(OID).value
    assert isinstance(value, x509.UnrecognizedExtension)
    return value.value


def leaf_with(extension: bytes) -> x509.Certificate:
    authority = Authority(b"seed", ec.SECP256R1(), hashes.SHA256(), NOW, NOW)
    value = x509.UnrecognizedExtension(OID, extension)
    return authority.issue("a platform", None, authority=False, extensions=[value]).certificate


def test_the_extension_says_what_the_platform_is() -> None:
    chain = parse_pck_chain(PEM)
    assert chain.leaf.fmspc == PLATFORM.fmspc
    assert chain.leaf.tcb.components == COMPONENTS
    assert (chain.leaf.tcb.pcesvn, chain.leaf.pceid, len(chain.leaf.ppid)) == (PCESVN, bytes(2), 16)
    assert [chain.issuer, chain.root] == [issued.certificate for issued in PLATFORM.pck_chain[1:]]


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
    parse_pck_chain(issued[0].certificate.public_bytes(Encoding.PEM) + above)
    with pytest.raises(MalformedError, match="unused bits"):
        parse_pck_chain(changed.public_bytes(Encoding.PEM) + above)


def test_one_nul_may_end_the_text() -> None:
    assert parse_pck_chain(PEM + b"\0") == parse_pck_chain(PEM)


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
        parse_pck_chain(text)


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
        parse_pck_certificate(leaf_with(extension))


def test_a_version_of_thousands_of_digits_is_malformed_and_nothing_worse() -> None:
    """Python writes no decimal number of that size: an error message must not try to."""
    extension = asn1.decode_der(SgxExtension, sgx_extension())
    versions = extension.tcb.value.parse(TcbSequence)
    versions.pcesvn = SgxItem(oid=versions.pcesvn.oid, value=_tlv(b"\x02\x82\x08\x00\x80" + bytes(2047)))
    extension.tcb = SgxItem(oid=extension.tcb.oid, value=_tlv(asn1.encode_der(versions)))
    with pytest.raises(MalformedError, match="security version"):
        parse_pck_certificate(leaf_with(asn1.encode_der(extension)))


def _tlv(data: bytes) -> asn1.TLV:
    return asn1.decode_der(asn1.TLV, data)


def test_the_same_extension_in_another_certificate_is_read() -> None:
    assert parse_pck_certificate(leaf_with(sgx_extension())).fmspc == PLATFORM.fmspc


def test_a_certificate_without_the_extension_is_no_platform() -> None:
    with pytest.raises(MalformedError, match="SGX extension"):
        parse_pck_certificate(PLATFORM.tcb_signer.certificate)


def test_keys_are_on_p256() -> None:
    p256_key(LEAF)
    with pytest.raises(MalformedError):
        p256_key(SimulatedGpu(b"seed", NOW).certificates[0])
