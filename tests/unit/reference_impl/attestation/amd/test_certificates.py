"""AMD's certificates, files of them and revocation lists: read strictly, and followed to a root."""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat import asn1
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd import certificates
from carnet_ref.attestation.amd.appraisal import DEFAULT_POLICY
from carnet_ref.attestation.amd.certificates import (
    ARK,
    ASK,
    CLOUD,
    HARDWARE_ID,
    LARGEST_FILE,
    MOST_ENTRIES,
    PRODUCT_NAME,
    SECURITY_VERSIONS,
    KeyKind,
    endorsement_key,
    endorsement_path,
    known_authorities,
    parse_certificates,
    parse_endorsement_key,
)
from carnet_ref.attestation.amd.report import Product
from carnet_ref.attestation.appraisal import AnchorRole, Anchors, AppraisalStep, default_anchors
from carnet_ref.attestation.simulated.authority import Authority
from carnet_ref.crypto.certificate_path import PathError, common_name
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_snp import (
    KINDS,
    LISTS_LAST,
    NOW,
    TCBS,
    TEST_CLOUD,
    VCEK,
    VLEK,
    SimulatedAmd,
    amd,
    appraised,
    certificate_table,
    chip,
    der,
    endorsement,
    flipped,
    pem,
)

TURIN = Product.TURIN


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


@pytest.mark.parametrize("name", ["Venice", "Venice-A0"])
@pytest.mark.parametrize("kind", KeyKind)
def test_a_certificate_of_venice_is_refused_because_its_tcb_cannot_be_read(name: str, kind: KeyKind) -> None:
    named: dict[str, bytes | None] = {PRODUCT_NAME: asn1.encode_der(asn1.IA5String(name))}
    with pytest.raises(MalformedError, match="Venice, whose TCB_VERSION is not known here"):
        parse_endorsement_key(chip(TURIN).endorsement(kind, changed=named))


def test_a_turin_without_fmc_and_a_key_on_another_curve_are_refused() -> None:
    with pytest.raises(MalformedError, match=r"3\.9"):
        parse_endorsement_key(chip(TURIN).endorsement(changed={f"{SECURITY_VERSIONS}.9": None}))
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


def test_another_amd_with_the_same_names_is_not_trusted() -> None:
    theirs = SimulatedAmd(Product.MILAN, NOW, keys="foreign")
    leaf = parse_endorsement_key(theirs.chip(b"a chip").endorsement())
    for given in ([theirs.authority(VCEK), theirs.root], [amd().authority(VCEK), theirs.root], [theirs.root]):
        with pytest.raises(PathError):
            endorsement_path(leaf, given, [amd().root])
    ours = parse_endorsement_key(endorsement())
    path = endorsement_path(ours, [theirs.authority(VCEK), amd().authority(VCEK), theirs.root], [amd().root])
    assert path.anchor == amd().root


@pytest.mark.parametrize("authority", [False, True], ids=["a chip", "a root that signs with ECDSA"])
def test_an_endorsement_key_is_issued_by_no_other_and_with_pss(authority: bool) -> None:
    """A chip's key has the right name and is no authority; ECDSA is as strong as PSS and not what AMD signs with."""
    issuing = Authority(b"chip", ec.SECP384R1(), hashes.SHA384(), NOW, NOW + timedelta(days=1))
    issuer = issuing.issue("ARK-Milan" if authority else "SEV-Milan", None, authority=authority)
    extensions = [
        x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value)
        for oid, value in chip().extensions(VCEK, TCBS[Product.MILAN]).items()
    ]
    key = parse_endorsement_key(issuing.issue("SEV-VCEK", issuer, authority=False, extensions=extensions).certificate)
    given, roots = ([], [issuer.certificate]) if authority else ([issuer.certificate], [amd().root])
    with pytest.raises(PathError, match="RSASSA-PSS" if authority else None):
        endorsement_path(key, given, roots)


def test_amds_signing_keys_are_at_hand_and_no_anchors() -> None:
    roots_of_amd = default_anchors().of(AnchorRole.AMD_SEV)
    assert {common_name(each) for each in roots_of_amd} == {f"ARK-{product}" for product in Product}
    names = {common_name(each) for each in known_authorities()}
    assert names == {f"SEV-{extra}{product}" for extra in ("", "VLEK-") for product in Product}
    assert not set(known_authorities()) & set(roots_of_amd)
    for authority in known_authorities():
        (root,) = [root for root in roots_of_amd if root.subject == authority.issuer]
        authority.verify_directly_issued_by(root)


LEAF, AUTHORITY, ROOT = endorsement(), amd().authority(KeyKind.VCEK), amd().root
CLOUD_KEY = endorsement(kind=KeyKind.VLEK)
ALL = (LEAF, AUTHORITY, ROOT)
GUIDS = (certificates.VCEK.bytes, ASK.bytes, ARK.bytes)
TABLE = certificate_table([(guid, der(each)) for guid, each in zip(GUIDS, ALL, strict=True)])
PEM_TABLE = certificate_table([(guid, pem(each)) for guid, each in zip(GUIDS, ALL, strict=True)])
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
        PEM_TABLE,
        base64.b64encode(PEM_TABLE),
        certificate_table([(GUIDS[0], pem(LEAF)), (GUIDS[1], der(AUTHORITY)), (GUIDS[2], pem(ROOT))]),
    ],
    ids=[
        "PEM",
        "DER",
        "hexadecimal",
        "base64",
        "base64 of PEM",
        "table",
        "table in a page",
        "table of PEM",
        "table of PEM in base64",
        "table of both",
    ],
)
def test_the_same_certificates_come_out_of_every_form(data: bytes) -> None:
    assert parse_certificates(data) == ALL


def test_a_table_has_guids_in_the_order_of_their_digits_and_the_rest_is_passed_over() -> None:
    assert TABLE.startswith(bytes.fromhex("63da758de6644564adc5f4b93be8accd"))
    with pytest.raises(MalformedError, match="certificate table"):
        parse_certificates(certificate_table([(certificates.VCEK.bytes_le, der(LEAF))]))
    table = certificate_table(
        [
            (OTHER, b"no certificate"),
            (certificates.VCEK.bytes, der(LEAF)),
            (certificates.VLEK.bytes, der(CLOUD_KEY)),
        ]
    )
    assert parse_certificates(table) == (LEAF, CLOUD_KEY)
    (leaf,) = parse_certificates(LEAF.public_bytes(Encoding.DER))
    assert leaf == LEAF
    assert bytes.fromhex("a003020102020100") in leaf.tbs_certificate_bytes


MALFORMED_FILES = {
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
    "a table of PEM that is cut short": PEM_TABLE[:-40],
    "a table with PEM that is none": certificate_table([(certificates.VCEK.bytes, b"-----BEGIN CERTIFICATE-----")]),
    "a table of other things": certificate_table([(OTHER, b"no certificate")]),
    "a table with too many entries": certificate_table([(bytes([n]) * 16, b"") for n in range(1, MOST_ENTRIES + 2)]),
    "a table with two of a kind": certificate_table(
        [(certificates.VCEK.bytes, der(LEAF)), (certificates.VCEK.bytes, der(LEAF))]
    ),
    "a table that reaches beyond itself": certificate_table([(certificates.VCEK.bytes, der(LEAF))])[:-1],
    "a table with an offset beyond all": certificates.VCEK.bytes + b"\xff" * 8 + bytes(24),
    "a table with something else for a certificate": certificate_table([(certificates.VCEK.bytes, bytes(100))]),
}


@pytest.mark.parametrize("what", MALFORMED_FILES)
def test_what_is_no_file_of_certificates_is_one_typed_error(what: str) -> None:
    with pytest.raises(MalformedError):
        parse_certificates(MALFORMED_FILES[what])


DAY = timedelta(days=1)
REVOCATION_LIST = amd().revocation_list()
ASKED = replace(DEFAULT_POLICY, require=DEFAULT_POLICY.require | {"revocation"})


def der_of(crl: x509.CertificateRevocationList) -> bytes:
    return crl.public_bytes(Encoding.DER)


def revocation(*lists: bytes) -> AppraisalStep:
    """Return the step about revocation, of an ordinary report."""
    return next(step for step in appraised(crls=lists).steps if step.id == "revocation")


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "DER": bytes,
    "PEM": lambda data: x509.load_der_x509_crl(data).public_bytes(Encoding.PEM),
    "hexadecimal": lambda data: data.hex().encode(),
    "base64": base64.b64encode,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_list_that_revokes_nothing_of_the_path_affirms_it(form: str) -> None:
    for crl in (REVOCATION_LIST, amd().revocation_list(amd().authority(VLEK))):
        found = appraised(crls=[FORMS[form](der_of(crl))], policy=ASKED)
        assert (found.accepted, "revocation not checked" in found.not_compared) == (True, False), found.steps[-1]


def test_without_a_list_an_acceptance_says_that_nobody_looked() -> None:
    found = appraised()
    assert (found.accepted, "revocation not checked" in found.not_compared) == (True, True)
    assert appraised(policy=ASKED).failed_step == "policy"


@pytest.mark.parametrize("kind", [VCEK, VLEK])
def test_a_revoked_signing_key_is_refused(kind: KeyKind) -> None:
    crl = der_of(amd().revocation_list(amd().authority(kind)))
    found = appraised(kind=kind, crls=[der_of(REVOCATION_LIST), crl])
    assert (found.failed_step, "was revoked" in found.steps[-1].detail) == ("revocation", True)
    other = VLEK if kind is VCEK else VCEK
    assert appraised(kind=other, crls=[crl]).accepted


def test_a_root_that_revokes_itself_is_refused_unless_the_signing_key_itself_is_trusted() -> None:
    step = revocation(der_of(amd().revocation_list(amd().root)))
    assert (step.ok, "'ARK-Milan' 10000 was revoked" in step.detail) == (False, True)
    anchors = Anchors({AnchorRole.AMD_SEV: (amd(Product.MILAN).authority(VCEK),)})
    assert appraised(anchors=anchors).accepted
    for crl in (REVOCATION_LIST, amd().revocation_list(by=VCEK)):
        assert appraised(anchors=anchors, crls=[der_of(crl)]).failed_step == "revocation"


def _foreign() -> bytes:
    return der_of(SimulatedAmd(Product.MILAN, NOW, keys="foreign").revocation_list())


def _signed_with(mask: hashes.HashAlgorithm, salt: int) -> bytes:
    return der_of(amd().revocation_list(signature=padding.PSS(padding.MGF1(mask), salt)))


REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "of another line": (
        "by CN=ARK-Genoa,O=Carnet TEST, not by the root",
        lambda: der_of(amd(Product.GENOA).revocation_list()),
    ),
    "by the signing key": (
        "by CN=SEV-Milan,O=Carnet TEST, not by the root",
        lambda: der_of(amd().revocation_list(by=VCEK)),
    ),
    "by a foreign root of the same name": ("is not signed by", _foreign),
    "changed": ("is not signed by", lambda: flipped(der_of(REVOCATION_LIST), 8 * len(der_of(REVOCATION_LIST)) - 1)),
    "of PKCS 1": ("is not signed by", lambda: der_of(amd().revocation_list(signature=padding.PKCS1v15()))),
    "of another mask": ("is not signed by", lambda: _signed_with(hashes.SHA256(), 48)),
    "of another salt": ("is not signed by", lambda: _signed_with(hashes.SHA384(), 32)),
    "partial": ("so it is partial", lambda: der_of(amd().revocation_list(partial=True))),
    "of tomorrow": ("counts from 2026-01-02", lambda: der_of(amd().revocation_list(at=NOW + DAY))),
    "too old": ("counts from", lambda: der_of(amd().revocation_list(at=NOW - LISTS_LAST - DAY))),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_list_that_proves_nothing_is_refused(what: str) -> None:
    reason, made = REFUSED[what]
    for lists in ([made()], [der_of(REVOCATION_LIST), made()]):
        step = revocation(*lists)
        assert (step.ok, reason in step.detail) == (False, True), step


@pytest.mark.parametrize("days", [0, 180])
def test_a_list_counts_up_to_its_next_update(days: int) -> None:
    assert appraised(crls=[der_of(REVOCATION_LIST)], at=NOW + days * DAY).accepted
    assert appraised(crls=[der_of(REVOCATION_LIST)], at=NOW + 181 * DAY).failed_step == "revocation"


MALFORMED_LISTS = {
    "nothing": b"",
    "text": b"no list",
    "a certificate": amd().root.public_bytes(Encoding.DER),
    "a certificate in PEM": amd().root.public_bytes(Encoding.PEM),
    "two lists in PEM": 2 * REVOCATION_LIST.public_bytes(Encoding.PEM),
    "a list in PEM and a certificate": REVOCATION_LIST.public_bytes(Encoding.PEM)
    + amd().root.public_bytes(Encoding.PEM),
    "PEM that is cut short": REVOCATION_LIST.public_bytes(Encoding.PEM)[:-40],
    "DER that is cut short": der_of(REVOCATION_LIST)[:-1],
    "DER that is longer": der_of(REVOCATION_LIST) + b"\0",
}


@pytest.mark.parametrize("what", MALFORMED_LISTS)
def test_what_is_no_list_is_refused_at_parse(what: str) -> None:
    assert appraised(crls=[MALFORMED_LISTS[what]]).failed_step == "parse"
