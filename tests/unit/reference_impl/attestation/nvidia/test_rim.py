"""Reference values and OCSP replies: each defect is named, what is used is what was signed, and nothing is fetched."""

import base64
import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from carnet_ref.attestation import appraise
from carnet_ref.attestation.appraisal import AnchorRole, Appraisal
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.attestation.nvidia import ocsp as nvidia_ocsp
from carnet_ref.attestation.nvidia.ocsp import RevocationError, check_not_revoked, parse_ocsp
from carnet_ref.attestation.nvidia.rim import LARGEST, RimKind, appraise_rim, parse_rim
from carnet_ref.attestation.nvidia.xml_verifier import LocaleFreeVerifier
from carnet_ref.wire import MalformedError
from tests.fixtures import nvidia_pki as pki
from tests.fixtures.remembered import forget

W = pki.world()
GOOD = W.rims()[0]
SIGNATURE = "{http://www.w3.org/2000/09/xmldsig#}Signature"


def appraised(document: bytes) -> Appraisal:
    return appraise_rim(document, at=pki.AT, anchors=W.anchors.of(AnchorRole.NVIDIA_RIM))


def _swap(old: str, new: str, count: int = 1) -> Callable[[], bytes]:
    def changed() -> bytes:
        text = GOOD.decode()
        assert old in text
        return text.replace(old, new, count).encode()

    return changed


def test_a_good_rim_is_accepted_and_says_what_it_is_about() -> None:
    appraisal = appraised(GOOD)
    assert appraisal.accepted
    assert appraisal.claims == {"version": pki.DRIVER, "product": "GH100", "active": list(pki.DRIVER_INDICES)}
    assert parse_rim(GOOD).kind is RimKind.DRIVER
    assert parse_rim(W.rims()[1]).kind is RimKind.VBIOS


def answer(document: bytes = GOOD, **changes: Any) -> bytes:
    """Return what NVIDIA's RIM service answers; its digest is not looked at."""
    named = {"id": "NV_GPU_DRIVER_GH100_1", "rim_format": "SWID", "sha256": "", "request_id": ""}
    return json.dumps(named | {"rim": base64.b64encode(document).decode()} | changes).encode()


@pytest.mark.parametrize("written", [answer, base64.b64encode], ids=["an answer of the service", "base64"])
def test_a_rim_counts_the_same_however_it_is_written(written: Callable[[bytes], bytes]) -> None:
    assert appraised(written(GOOD)) == appraised(GOOD)
    assert appraise(written(GOOD), at=pki.AT, anchors=W.anchors).accepted
    altered = _swap(VALUE, VALUE.swapcase().replace("A", "B", 1))()
    assert appraised(written(altered)).failed_step == appraised(altered).failed_step == "signature"
    assert appraised(written(GOOD[:-1])).failed_step == "parse"


@pytest.mark.parametrize("rim", [None, 5, "", "no base64!", base64.b64encode(b"{}").decode()])
def test_an_answer_of_the_service_without_a_rim_is_refused(rim: object) -> None:
    appraisal = appraised(answer(rim=rim))
    assert appraisal.failed_step == "parse"
    assert kind_of(answer(rim=rim)) == "an answer of NVIDIA's RIM service"


VALUE = pki.measurement(9).hex()
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
    "an empty Payload": ("1 to 256 measurements", lambda: pki.sign_rim(_without_resources(), W.rim_signer)),
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
    root = etree.fromstring(pki.rim_xml(pki.DRIVER, {}))
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
    return pki.sign_rim(
        pki.rim_xml(pki.DRIVER, {9: [pki.measurement(9)]}), pki.issue("Test RIM Signer", None, ca=False)
    )


def _signed_by_authority() -> bytes:
    return pki.sign_rim(pki.rim_xml(pki.DRIVER, {9: [pki.measurement(9)]}), W.rim_root)


def _signed_by_responder() -> bytes:
    purposes = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])
    responder = pki.issue("Test OCSP Responder", W.rim_root, ca=False, extensions=[(purposes, True)])
    return pki.sign_rim(pki.rim_xml(pki.DRIVER, {9: [pki.measurement(9)]}), responder)


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
    evil = etree.fromstring(pki.rim_xml(pki.DRIVER, {9: [bytes(48)]}))
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

    root = etree.fromstring(pki.rim_xml(pki.DRIVER, {9: [bytes(48)]}))
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
    "a changed value": ("signature", "does not verify", lambda: GOOD.replace(VALUE.encode(), bytes(48).hex().encode())),
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
    assert appraised(bytes(etree.tostring(root))).failed_step in ("parse", "chain", "signature")


@pytest.mark.parametrize("at", [pki.AT - 365 * pki.DAY, pki.END + pki.DAY])
def test_a_signer_counts_only_while_its_certificate_is_valid(at: datetime) -> None:
    appraisal = appraise_rim(GOOD, at=at, anchors=W.anchors.of(AnchorRole.NVIDIA_RIM))
    assert appraisal.failed_step == "validity"


def test_what_is_read_is_compared_with_what_was_signed() -> None:
    """Even a reader that saw other values than the verifier would be found out."""
    from carnet_ref.attestation.appraisal import Checklist, RefusedError
    from carnet_ref.attestation.nvidia.rim import check_rim

    misread = replace(parse_rim(GOOD), golden={9: (bytes(48),)})
    with pytest.raises(RefusedError, match="not what the document says"):
        check_rim(Checklist(), misread, at=pki.AT, anchors=W.anchors.of(AnchorRole.NVIDIA_RIM))


def test_files_that_the_verifier_itself_cannot_read_are_no_bad_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    with monkeypatch.context() as patched:
        patched.setattr(LocaleFreeVerifier, "schema_files", ["missing.xsd"])
        with pytest.raises(OSError, match=r"missing\.xsd"):
            appraised(GOOD)

    def undecodable(*_: object, **__: object) -> None:
        b"\xc2".decode("ascii")

    monkeypatch.setattr(LocaleFreeVerifier, "verify", undecodable)
    with pytest.raises(UnicodeDecodeError):
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


ROOT, MODEL, PROVISIONER = W.device.path[:3]
OCSP_GOOD = pki.ocsp_reply(MODEL, ROOT)
SIGNING = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])


def test_a_good_reply_counts_until_its_next_update_about_a_certificate_of_its_issuer() -> None:
    reply = parse_ocsp(OCSP_GOOD)
    for at in (pki.AT - pki.DAY, pki.AT, pki.AT + pki.DAY):
        check_not_revoked(reply, MODEL.certificate, ROOT.certificate, at)
    for at in (pki.AT - 1.01 * pki.DAY, pki.AT + 1.01 * pki.DAY, pki.AT + 19 * pki.DAY):
        with pytest.raises(RevocationError, match="counts from"):
            check_not_revoked(reply, MODEL.certificate, ROOT.certificate, at)
    reply = parse_ocsp(OCSP_GOOD)
    namesake = pki.issue("Test Device Identity CA", None)
    assert reply.is_about(MODEL.certificate, ROOT.certificate)
    assert not reply.is_about(MODEL.certificate, namesake.certificate)
    assert not reply.is_about(PROVISIONER.certificate, ROOT.certificate)


def test_a_reply_that_only_says_try_later_and_a_long_one_are_typed_errors() -> None:
    later = ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER).public_bytes(Encoding.DER)
    with pytest.raises(MalformedError, match="TRY_LATER"):
        parse_ocsp(later)
    with pytest.raises(MalformedError, match="at most"):
        parse_ocsp(bytes(nvidia_ocsp.LARGEST + 1))


def test_a_reply_with_a_certificate_of_no_known_version_is_signed_by_nobody() -> None:
    version = bytes.fromhex("a003020102")
    responder = pki.issue("Responder", ROOT, ca=False, extensions=[(SIGNING, False)])
    answered = pki.ocsp_reply(MODEL, ROOT, responder)
    assert answered.count(version) == 1
    check_not_revoked(parse_ocsp(answered), MODEL.certificate, ROOT.certificate, pki.AT)
    damaged = parse_ocsp(answered.replace(version, version[:-1] + b"\x05"))
    with pytest.raises(RevocationError, match="signed neither"):
        check_not_revoked(damaged, MODEL.certificate, ROOT.certificate, pki.AT)


@pytest.mark.mends("L5")
def test_a_responder_with_a_weak_key_answers_for_nobody() -> None:
    """The same responder with a strong key is heard."""
    for curve, heard in ((ec.SECP192R1(), False), (ec.SECP256R1(), True)):
        key = ec.generate_private_key(curve)
        responder = pki.issue("Responder", ROOT, ca=False, key=key, extensions=[(SIGNING, False)])
        assert _is_good(pki.ocsp_reply(MODEL, ROOT, responder)) is heard


def _is_good(data: bytes) -> bool:
    try:
        check_not_revoked(parse_ocsp(data), MODEL.certificate, ROOT.certificate, pki.AT)
    except (MalformedError, RevocationError):
        return False
    return True


def test_a_reply_with_a_certificate_signed_in_an_unknown_way_is_refused() -> None:
    answered = pki.ocsp_reply(MODEL, ROOT, pki.issue("Responder", ROOT, ca=False, extensions=[(SIGNING, False)]))
    ecdsa_with_sha384 = bytes.fromhex("06082a8648ce3d040303")
    places = [found.start() + 9 for found in re.finditer(re.escape(ecdsa_with_sha384), answered)]
    assert len(places) == 3  # of the reply, and twice of the certificate
    for place in places:
        assert not _is_good(answered[:place] + b"\x5b" + answered[place + 1 :])


@pytest.mark.parametrize(
    ("appointed", "how"),
    [
        (True, {"ca": False}),
        (False, {"ca": True}),
        (False, {"ca": True, "key_usage": pki.usage(signs=True, issues=False)}),
        (False, {"ca": False, "key_usage": pki.usage(signs=False, issues=False)}),
    ],
    ids=["an end entity", "an authority", "an authority that signs", "a key that signs nothing"],
)
def test_a_responder_is_an_end_entity_that_signs(appointed: bool, how: dict[str, Any]) -> None:
    reply = parse_ocsp(pki.ocsp_reply(MODEL, ROOT, pki.issue("Responder", ROOT, **how, extensions=[(SIGNING, True)])))
    said = contextlib.nullcontext() if appointed else pytest.raises(RevocationError, match="signed neither")
    with said:
        check_not_revoked(reply, MODEL.certificate, ROOT.certificate, pki.AT)


@given(st.binary(max_size=100))
def test_any_bytes_are_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_ocsp(data)


@given(st.integers(0, len(OCSP_GOOD) - 1), st.binary(max_size=4), st.integers(0, 8))
def test_a_damaged_reply_is_refused(place: int, put: bytes, cut: int) -> None:
    damaged = OCSP_GOOD[:place] + put + OCSP_GOOD[place + cut :]
    try:
        reply = parse_ocsp(damaged)
        check_not_revoked(reply, MODEL.certificate, ROOT.certificate, pki.AT)
    except (MalformedError, RevocationError):
        return
    assert reply == parse_ocsp(OCSP_GOOD) or reply.signed == parse_ocsp(OCSP_GOOD).signed
