"""Endorsement keys: their extensions are read strictly, and their path is followed to a root."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.amd.certificates import (
    CLOUD,
    HARDWARE_ID,
    PRODUCT_NAME,
    SECURITY_VERSIONS,
    KeyKind,
    endorsement_key,
    endorsement_path,
    known_authorities,
    parse_endorsement_key,
)
from carnet_ref.attestation.amd.report import Product
from carnet_ref.attestation.anchors import AnchorRole, Anchors, default_anchors
from carnet_ref.attestation.simulated.authority import Authority
from carnet_ref.crypto.certificate_path import PathError, common_name
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_snp import KINDS, NOW, TCBS, TEST_CLOUD, VCEK, VLEK, SimulatedAmd, amd, chip, endorsement

TURIN = Product.TURIN


def roots(anchors: Anchors) -> tuple[x509.Certificate, ...]:
    return anchors.of(AnchorRole.AMD_SEV)


@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_an_endorsement_key_says_what_it_was_issued_for(product: Product, kind: KeyKind) -> None:
    key = parse_endorsement_key(endorsement(product, kind))
    assert (key.kind, key.product, key.tcb) == (kind, product, TCBS[product])
    assert key.hardware_id == (chip(product).hardware_id if kind is VCEK else None)
    assert key.cloud == (TEST_CLOUD if kind is VLEK else None)


def test_a_hardware_id_may_be_wrapped_in_an_octet_string() -> None:
    """AMD's service has written it in both ways; the id is the same."""
    for product in Product:
        wrapped = asn1.encode_der(chip(product).hardware_id)
        certificate = chip(product).endorsement(changed={HARDWARE_ID: wrapped})
        assert parse_endorsement_key(certificate).hardware_id == chip(product).hardware_id


IA5 = asn1.encode_der(asn1.IA5String("Milan-B0"))
INVALID: dict[str, dict[str, bytes | None]] = {
    "no product": {PRODUCT_NAME: None},
    "an unknown product": {PRODUCT_NAME: asn1.encode_der(asn1.IA5String("Naples-B0"))},
    "a product in another string type": {PRODUCT_NAME: asn1.encode_der("Milan-B0")},
    "a product with bytes behind it": {PRODUCT_NAME: IA5 + b"\0"},
    "no boot loader version": {f"{SECURITY_VERSIONS}.1": None},
    "no microcode version": {f"{SECURITY_VERSIONS}.8": None},
    "a version above 255": {f"{SECURITY_VERSIONS}.8": asn1.encode_der(256)},
    "a version of five thousand digits": {f"{SECURITY_VERSIONS}.8": b"\x02\x82\x08\x00" + b"\x7f" * 2048},
    "a negative version": {f"{SECURITY_VERSIONS}.8": asn1.encode_der(-1)},
    "a version that is no number": {f"{SECURITY_VERSIONS}.8": b"\x04\x01\x01"},
    "a version of a part that Milan does not have": {f"{SECURITY_VERSIONS}.9": asn1.encode_der(1)},
    "a reserved version": {f"{SECURITY_VERSIONS}.4": asn1.encode_der(1)},
    "a short hardware id": {HARDWARE_ID: bytes(63)},
    "a hardware id of Turin": {HARDWARE_ID: bytes(8)},
    "a hardware id in a wrapper of another length": {HARDWARE_ID: b"\x04\x41" + bytes(64)},
    "neither chip nor cloud": {HARDWARE_ID: None},
    "chip and cloud": {CLOUD: IA5},
}


@pytest.mark.parametrize("what", INVALID)
def test_a_certificate_that_does_not_follow_the_profile_is_malformed(what: str) -> None:
    with pytest.raises(MalformedError, match="endorsement key certificate"):
        parse_endorsement_key(chip().endorsement(changed=INVALID[what]))


def test_a_turin_has_an_fmc() -> None:
    with pytest.raises(MalformedError, match=r"3\.9"):
        parse_endorsement_key(chip(TURIN).endorsement(changed={f"{SECURITY_VERSIONS}.9": None}))


def test_a_key_on_another_curve_is_no_endorsement_key() -> None:
    key = ec.derive_private_key(7, ec.SECP256R1()).public_key()
    certificate = amd().certify(VCEK, key, chip().extensions(VCEK, TCBS[Product.MILAN]))
    with pytest.raises(MalformedError, match="secp384r1"):
        parse_endorsement_key(certificate)


def test_of_both_kinds_the_one_that_is_asked_for_counts() -> None:
    both = [endorsement(kind=VCEK), endorsement(kind=VLEK), amd().root]
    assert [endorsement_key(both, kind).kind for kind in KeyKind] == list(KeyKind)
    with pytest.raises(MalformedError, match="one endorsement key"):
        endorsement_key(both, None)


@pytest.mark.parametrize("certificates", [[], [amd().root, amd().authority(VCEK)], [endorsement(), endorsement()]])
def test_without_one_endorsement_key_there_is_nothing_to_appraise_with(certificates: list[x509.Certificate]) -> None:
    with pytest.raises(MalformedError, match="one endorsement key"):
        endorsement_key(certificates, VCEK)


@pytest.mark.parametrize("given", ["authority", "all", "all, the other way round"])
@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_a_path_leads_over_the_signing_key_to_the_root(product: Product, kind: KeyKind, given: str) -> None:
    leaf, authority, root = endorsement(product, kind), amd(product).authority(kind), amd(product).root
    orders = {"authority": [authority], "all": [leaf, authority, root]}
    certificates = orders.get(given, [root, authority, leaf])
    path = endorsement_path(parse_endorsement_key(leaf), certificates, [root])
    assert path.certificates == (leaf, authority, root)


def test_a_signing_key_may_be_the_anchor() -> None:
    authority = amd().authority(VCEK)
    path = endorsement_path(parse_endorsement_key(endorsement()), [], [authority])
    assert path.certificates == (endorsement(), authority)


def foreign() -> SimulatedAmd:
    """Return an AMD with the right names and other keys."""
    return SimulatedAmd(Product.MILAN, NOW, keys="foreign")


def test_another_amd_with_the_same_names_is_not_trusted() -> None:
    theirs = foreign()
    leaf = parse_endorsement_key(theirs.chip(b"a chip").endorsement())
    for given in ([theirs.authority(VCEK), theirs.root], [amd().authority(VCEK), theirs.root], [theirs.root]):
        with pytest.raises(PathError):
            endorsement_path(leaf, given, [amd().root])
    ours = parse_endorsement_key(endorsement())
    path = endorsement_path(ours, [theirs.authority(VCEK), amd().authority(VCEK), theirs.root], [amd().root])
    assert path.anchor == amd().root


def test_an_endorsement_key_does_not_issue_another() -> None:
    """A chip's key signs the certificate of another: it has the right name above it, and is no authority."""
    issuing = Authority(b"chip", ec.SECP384R1(), hashes.SHA384(), NOW, NOW + timedelta(days=1))
    chip_key = issuing.issue("SEV-Milan", None, authority=False)
    extensions = [
        x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value)
        for oid, value in chip().extensions(VCEK, TCBS[Product.MILAN]).items()
    ]
    below = issuing.issue("SEV-VCEK", chip_key, authority=False, extensions=extensions)
    with pytest.raises(PathError):
        endorsement_path(parse_endorsement_key(below.certificate), [chip_key.certificate], [amd().root])


def test_links_are_signed_with_pss() -> None:
    """The root issues with ECDSA, which is as strong, and is not what AMD does."""
    issuing = Authority(b"root", ec.SECP384R1(), hashes.SHA384(), NOW, NOW + timedelta(days=1))
    root = issuing.issue("ARK-Milan", None, authority=True)
    extensions = [
        x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value)
        for oid, value in chip().extensions(VCEK, TCBS[Product.MILAN]).items()
    ]
    leaf = issuing.issue("SEV-VCEK", root, authority=False, extensions=extensions)
    with pytest.raises(PathError, match="RSASSA-PSS"):
        endorsement_path(parse_endorsement_key(leaf.certificate), [], [root.certificate])


def test_amds_signing_keys_are_at_hand_and_no_anchors() -> None:
    roots_of_amd = roots(default_anchors())
    assert {common_name(each) for each in roots_of_amd} == {f"ARK-{product}" for product in Product}
    names = {common_name(each) for each in known_authorities()}
    assert names == {f"SEV-{extra}{product}" for extra in ("", "VLEK-") for product in Product}
    assert not set(known_authorities()) & set(roots_of_amd)
    for authority in known_authorities():
        (root,) = [root for root in roots_of_amd if root.subject == authority.issuer]
        authority.verify_directly_issued_by(root)
