"""Reference values: each defect is named, what is used is what was signed, and nothing is fetched or expanded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from carnet_ref.attestation.anchors import AnchorRole
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.nvidia.rim import LARGEST, RimKind, appraise_rim, parse_rim
from carnet_ref.attestation.nvidia.xml_verifier import LocaleFreeVerifier
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import (
    AT,
    DAY,
    DRIVER,
    DRIVER_INDICES,
    END,
    issue,
    measurement,
    rim_xml,
    sign_rim,
    world,
)

W = world()
GOOD = W.rims()[0]
SIGNATURE = "{http://www.w3.org/2000/09/xmldsig#}Signature"
RESOURCE = '<n:Resource type="Measurement" index="9" active="True" alternatives="1" size="48"'


def appraised(document: bytes) -> Appraisal:
    return appraise_rim(document, at=AT, anchors=W.anchors.of(AnchorRole.NVIDIA_RIM))


def _swap(old: str, new: str, count: int = 1) -> Callable[[], bytes]:
    def changed() -> bytes:
        text = GOOD.decode()
        assert old in text
        return text.replace(old, new, count).encode()

    return changed


def test_a_good_rim_is_accepted_and_says_what_it_is_about() -> None:
    appraisal = appraised(GOOD)
    assert appraisal.accepted
    assert appraisal.claims == {"version": DRIVER, "product": "GH100", "active": list(DRIVER_INDICES)}
    assert parse_rim(GOOD).kind is RimKind.DRIVER
    assert parse_rim(W.rims()[1]).kind is RimKind.VBIOS


VALUE = measurement(9).hex()
DEFECTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "no XML": ("an XML document", lambda: b"no XML"),
    "nothing": ("an XML document", lambda: b""),
    "too long": ("at most", lambda: GOOD + b" " * LARGEST),
    "another root": ("a SoftwareIdentity", lambda: b"<ReferenceIntegrityManifest/>"),
    "a root without its namespace": ("a SoftwareIdentity", lambda: b"<SoftwareIdentity/>"),
    "a document type": ("no document type", lambda: b"<!DOCTYPE a>" + GOOD),
    "an entity": ("no document type", lambda: b'<!DOCTYPE a [<!ENTITY b "c">]>' + GOOD),
    "an entity of a file": (
        "no document type",
        lambda: b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>' + GOOD,
    ),
    "no Payload": ("one Payload", _swap("n:Payload", "n:Load", 2)),
    "an empty Payload": ("1 to 256 measurements", lambda: sign_rim(_without_resources(), W.rim_signer)),
    "no Meta": ("one Meta", _swap("<n:Meta ", "<n:Data ")),
    "no version": ("colloquialVersion", _swap("colloquialVersion", "version")),
    "no product": ("product", _swap("product=", "produce=")),
    "no tag id": ("tagId", _swap("tagId", "tag")),
    "an index twice": ("each index once", _swap('index="9"', 'index="8"')),
    "an index that is no number": ("index to be a number", _swap('index="9"', 'index="abc"')),
    "a negative index": ("index to be a number", _swap('index="9"', 'index="-9"')),
    "no index": ("to have index", _swap('index="9"', 'place="9"')),
    "a size that is no number": ("size to be a number", _swap('size="48"', 'size="abc"')),
    "another size": ("size 48", _swap('size="48"', 'size="32"')),
    "no size": ("to have size", _swap('size="48"', 'length="48"')),
    "alternatives that are no number": ("alternatives to be a number", _swap('alternatives="1"', 'alternatives="xyz"')),
    "no alternatives": ("to have alternatives", _swap("alternatives=", "options=")),
    "more alternatives than values": ("to count the values", _swap('alternatives="1"', 'alternatives="2"')),
    "fewer alternatives than values": ("to count the values", _swap("v:Hash0", 'v:Hash1="aa" v:Hash0')),
    "no value": ("to count the values", _swap("v:Hash0", "v:Digest0")),
    "a value without its namespace": ("to have Hash0", _swap("v:Hash0", "Hash0")),
    "a short value": ("a SHA-384 value", _swap(VALUE, VALUE[:-2])),
    "a value that is not hexadecimal": ("a SHA-384 value", _swap(VALUE, "x" * 96)),
    "active that is neither": ("active", _swap('active="True"', 'active="true"')),
    "a certificate that is not base64": (
        "certificates in base64",
        _swap("<ds:X509Certificate>", "<ds:X509Certificate>!"),
    ),
    "a certificate that is none": ("X.509", lambda: _with_certificate("AAAA")),
    "no certificate": ("certificates in X509Data", lambda: _without("X509Certificate")),
    "no X509Data": ("one X509Data", lambda: _without("X509Data")),
    "no KeyInfo": ("one KeyInfo", lambda: _without("KeyInfo")),
    "no signature": ("one Signature", lambda: _without("Signature")),
}


def _without_resources() -> str:
    root = etree.fromstring(rim_xml(DRIVER, {}))
    payload = root.find("{*}Payload")
    assert payload is not None
    for resource in list(payload):
        payload.remove(resource)
    return etree.tostring(root).decode()


def _without(tag: str) -> bytes:
    root = etree.fromstring(GOOD)
    for element in list(root.iter(f"{{*}}{tag}")):
        parent = element.getparent()
        assert parent is not None
        parent.remove(element)
    return bytes(etree.tostring(root))


def _with_certificate(text: str) -> bytes:
    root = etree.fromstring(GOOD)
    next(root.iter("{*}X509Certificate")).text = text
    return bytes(etree.tostring(root))


@pytest.mark.parametrize("what", DEFECTS)
def test_a_malformed_rim_is_refused_while_parsing(what: str) -> None:
    reason, made = DEFECTS[what]
    appraisal = appraised(made())
    assert appraisal.failed_step == "parse"
    assert reason in appraisal.steps[-1].detail


def _stranger() -> bytes:
    return sign_rim(rim_xml(DRIVER, {9: [measurement(9)]}), issue("Test RIM Signer", None, ca=False))


def _signed_by_authority() -> bytes:
    return sign_rim(rim_xml(DRIVER, {9: [measurement(9)]}), W.rim_root)


def _signed_by_responder() -> bytes:
    purposes = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])
    responder = issue("Test OCSP Responder", W.rim_root, ca=False, extensions=[(purposes, True)])
    return sign_rim(rim_xml(DRIVER, {9: [measurement(9)]}), responder)


def _other_values() -> bytes:
    return GOOD.replace(VALUE.encode(), bytes(48).hex().encode())


def _other_signature() -> bytes:
    root = etree.fromstring(GOOD)
    other = etree.fromstring(W.rims()[1])
    mine, theirs = root.find(SIGNATURE), other.find(SIGNATURE)
    assert mine is not None
    assert theirs is not None
    root.replace(mine, theirs)
    return bytes(etree.tostring(root))


def _wrapped_in_object() -> bytes:
    """Move the signed tag into the signature and point the reference there; the tag outside has other values."""
    original = etree.fromstring(GOOD)
    signature = original.find(SIGNATURE)
    assert signature is not None
    evil = etree.fromstring(rim_xml(DRIVER, {9: [bytes(48)]}))
    signed = etree.fromstring(GOOD)
    inner = signed.find(SIGNATURE)
    assert inner is not None
    signed.remove(inner)
    signed.set("Id", "signed")
    signature.append(signed)
    reference = next(signature.iter("{*}Reference"))
    reference.set("URI", "#signed")
    evil.append(signature)
    return bytes(etree.tostring(evil))


def _signs_another_element() -> bytes:
    """Let the trusted signer sign, by its Id, an element that is not the tag."""
    from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureMethod
    from signxml.signer import XMLSigner

    root = etree.fromstring(rim_xml(DRIVER, {9: [bytes(48)]}))
    etree.SubElement(root, "Part").set("Id", "part")
    method = XMLSigner(
        signature_algorithm=SignatureMethod.ECDSA_SHA384,
        digest_algorithm=DigestAlgorithm.SHA384,
        c14n_algorithm=CanonicalizationMethod.CANONICAL_XML_1_1,
    )
    certificates = [W.rim_signer.certificate, W.rim_root.certificate]
    signed = method.sign(
        root, key=W.rim_signer.key, cert=certificates, reference_uri="part", always_add_key_value=False
    )
    return bytes(etree.tostring(signed))


REFUSED: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "a signer that nobody vouches for": ("chain", "no trust anchor", _stranger),
    "an authority as signer": ("chain", "signs evidence", _signed_by_authority),
    "an OCSP responder as signer": ("chain", "OCSPSigning", _signed_by_responder),
    "a changed value": ("signature", "does not verify", _other_values),
    "the signature of another RIM": ("signature", "does not verify", _other_signature),
    "a changed product": ("signature", "does not verify", _swap('product="GH100"', 'product="GB100"')),
    "the signed tag hidden in the signature": ("parse", "one Payload", _wrapped_in_object),
    "a signature over another element": ("signature", "no RIM", _signs_another_element),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_at_its_step(what: str) -> None:
    step, reason, made = REFUSED[what]
    appraisal = appraised(made())
    assert (appraisal.failed_step, reason in appraisal.steps[-1].detail) == (step, True), appraisal.steps[-1]


PARTS = [part.tag.rpartition("}")[2] for part in etree.fromstring(GOOD).iterfind(f"{SIGNATURE}//{{*}}*")]


@pytest.mark.parametrize("text", [None, "", "!", "AAAA"])
@pytest.mark.parametrize("place", range(len(PARTS)), ids=PARTS)
def test_a_signature_of_which_a_part_is_emptied_is_refused(place: int, text: str | None) -> None:
    root = etree.fromstring(GOOD)
    part = root.findall(f"{SIGNATURE}//{{*}}*")[place]
    part.attrib.clear()
    part[:] = []
    part.text = text
    appraisal = appraised(bytes(etree.tostring(root)))
    assert appraisal.failed_step in ("parse", "chain", "signature")


@pytest.mark.parametrize("at", [AT - 365 * DAY, END + DAY])
def test_a_signer_counts_only_while_its_certificate_is_valid(at: datetime) -> None:
    appraisal = appraise_rim(GOOD, at=at, anchors=W.anchors.of(AnchorRole.NVIDIA_RIM))
    assert appraisal.failed_step == "validity"


def test_what_is_read_is_compared_with_what_was_signed() -> None:
    """Even a reader that saw other values than the verifier would be found out."""
    from carnet_ref.attestation.appraisal import Checklist, RefusedError
    from carnet_ref.attestation.nvidia.rim import check_rim

    misread = replace(parse_rim(GOOD), golden={9: (bytes(48),)})
    with pytest.raises(RefusedError, match="not what the document says"):
        check_rim(Checklist(), misread, at=AT, anchors=W.anchors.of(AnchorRole.NVIDIA_RIM))


def test_bytes_that_the_verifier_itself_cannot_decode_are_no_bad_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of its own files: the document was read before. Nothing is known of the signature then."""

    def undecodable(*_: object, **__: object) -> None:
        b"\xc2".decode("ascii")

    monkeypatch.setattr(LocaleFreeVerifier, "verify", undecodable)
    with pytest.raises(UnicodeDecodeError):
        appraised(GOOD)


def test_schemas_that_cannot_be_read_are_no_bad_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocaleFreeVerifier, "schema_files", ["missing.xsd"])
    with pytest.raises(OSError, match=r"missing\.xsd"):
        appraised(GOOD)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_rim_or_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_rim(data)


@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=8), st.integers(0, 40))
def test_a_damaged_rim_is_refused(place: int, put: bytes, cut: int) -> None:
    damaged = GOOD[:place] + put + GOOD[place + cut :]
    appraisal = appraised(damaged)
    same = etree.tostring(etree.fromstring(GOOD), method="c14n")
    assert not appraisal.accepted or _canonical(damaged) == same or parse_rim(damaged).golden == parse_rim(GOOD).golden


def _canonical(data: bytes) -> bytes:
    return bytes(etree.tostring(etree.fromstring(data), method="c14n"))
