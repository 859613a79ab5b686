"""Certificate paths: links, authorities, lengths, critical extensions; any bytes are a path or a typed error."""

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto import certificate_path
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import DAY, END, START, Authority, issue, pem, usage
from tests.fixtures.simulated_snp import VCEK, amd, endorsement

ROOT = issue("Root", None)
MIDDLE = issue("Middle", ROOT)
LEAF = issue("Leaf", MIDDLE, ca=False)
CHAIN = pem([LEAF.certificate, MIDDLE.certificate, ROOT.certificate])
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\0")
Purpose = x509.oid.ExtendedKeyUsageOID
Path_ = Sequence[x509.Certificate]


def certificates(*authorities: Authority) -> list[x509.Certificate]:
    return [authority.certificate for authority in authorities]


@pytest.mark.parametrize("path", [(LEAF, MIDDLE, ROOT), (LEAF, MIDDLE)])
def test_a_path_leads_to_its_anchor_whether_it_is_named_or_not(path: tuple[Authority, ...]) -> None:
    anchors = [*certificates(issue("Another", None)), ROOT.certificate]
    assert certificate_path.check_path(certificates(*path), anchors) == ROOT.certificate


def _limited() -> Path_:
    limited = issue("Limited", ROOT, path_length=0)
    below = issue("Below", limited)
    return certificates(issue("Leaf", below, ca=False), below, limited)


def _at_the_limit() -> Path_:
    limited = issue("Limited", ROOT, path_length=0)
    return certificates(issue("Leaf", limited, ca=False), limited)


def _half_an_authority(**half: Any) -> Path_:
    middle = issue("Half", ROOT, **half)
    return certificates(issue("Leaf", middle, ca=False), middle)


def _signed_with(key: Any, **further: Any) -> Path_:
    authority = issue("Other", ROOT, key=key, **further)
    return certificates(issue("Leaf", authority, ca=False), authority)


NAME_CONSTRAINTS = x509.NameConstraints([x509.DNSName("example.org")], None)


def _for(*purposes: x509.ObjectIdentifier, critical: bool = True) -> dict[str, Any]:
    return {"extensions": [(x509.ExtendedKeyUsage(purposes), critical)]}


def _under_a_namesake() -> Path_:
    namesake = issue("Root", None)
    return certificates(issue("Leaf", namesake, ca=False), namesake)


def _with_an_unused_bit() -> Path_:
    leaf = next(
        each for each in (issue("Leaf", ROOT, ca=False) for _ in range(64)) if not each.certificate.signature[-1] & 1
    )
    whole, size = leaf.certificate.public_bytes(Encoding.DER), len(leaf.certificate.signature)
    changed = x509.load_der_x509_certificate(whole[: -size - 1] + b"\1" + whole[-size:])
    changed.verify_directly_issued_by(ROOT.certificate)
    return [changed]


WRONG: dict[str, tuple[str, Callable[[], Path_]]] = {
    "a root of its own": ("no trust anchor", lambda: certificates(issue("Lonely", None, ca=False))),
    "a namesake of the root": ("not issued by", lambda: certificates(issue("Leaf", issue("Root", None), ca=False))),
    "a namesake of the root at the end": ("'Root' is not issued by 'Root', a namesake with", _under_a_namesake),
    "a signature with an unused bit": ("unused bits, whose number is not signed", _with_an_unused_bit),
    "a link left out": ("not issued by", lambda: certificates(LEAF, ROOT)),
    "the order turned round": ("signs evidence", lambda: certificates(ROOT, MIDDLE, LEAF)),
    "an authority at the bottom": ("signs evidence", lambda: certificates(MIDDLE, ROOT)),
    "an authority at the bottom whose key signs other things too": (
        "signs evidence",
        lambda: certificates(issue("x", ROOT, key_usage=usage(signs=True, issues=False))),
    ),
    "a key that answers OCSP requests": (
        "for OCSPSigning, and for nothing else",
        lambda: certificates(issue("x", ROOT, ca=False, **_for(Purpose.OCSP_SIGNING))),
    ),
    "a key for purposes that are not critical": (
        "for serverAuth, clientAuth, and for nothing else",
        lambda: certificates(
            issue("x", ROOT, ca=False, **_for(Purpose.SERVER_AUTH, Purpose.CLIENT_AUTH, critical=False))
        ),
    ),
    "a key for a purpose that nobody knows": (
        "for 1.2.3.4, and for nothing else",
        lambda: certificates(issue("x", ROOT, ca=False, **_for(UNKNOWN.oid))),
    ),
    "an authority for something else": (
        "for codeSigning, and for nothing else",
        lambda: _half_an_authority(**_for(Purpose.CODE_SIGNING)),
    ),
    "a leaf as authority": ("may not issue", lambda: certificates(issue("x", LEAF, ca=False), LEAF, MIDDLE)),
    "an authority whose key may not sign certificates": (
        "may not issue",
        lambda: _half_an_authority(key_usage=usage(signs=True, issues=False)),
    ),
    "a key that may sign certificates of no authority": (
        "may not issue",
        lambda: _half_an_authority(ca=False, key_usage=usage(signs=False, issues=True)),
    ),
    "more authorities than allowed": ("has 1", _limited),
    "a critical extension": (
        "unknown critical extension 1.2.3.4",
        lambda: certificates(issue("Leaf", ROOT, ca=False, extensions=[(UNKNOWN, True)])),
    ),
    "an RSA key of 1024 bits": ("RSA of 1024 bits", lambda: _signed_with(rsa.generate_private_key(65537, 1024))),
    "an RSA key of 2048 bits": ("RSA of 2048 bits", lambda: _signed_with(rsa.generate_private_key(65537, 2048))),
    "a key on P-192": ("on secp192r1", lambda: _signed_with(ec.generate_private_key(ec.SECP192R1()))),
    "a key on P-224": ("on secp224r1", lambda: _signed_with(ec.generate_private_key(ec.SECP224R1()))),
    "a key on a curve of others": ("on secp256k1", lambda: _signed_with(ec.generate_private_key(ec.SECP256K1()))),
    "a weak key at the bottom": (
        "on secp192r1",
        lambda: certificates(issue("Leaf", ROOT, ca=False, key=ec.generate_private_key(ec.SECP192R1()))),
    ),
    "the root twice": ("twice on the path", lambda: certificates(LEAF, MIDDLE, ROOT, ROOT)),
    "an authority twice": ("twice on the path", lambda: certificates(LEAF, MIDDLE, MIDDLE, ROOT)),
    "an authority that certifies itself": (
        "twice on the path",
        lambda: certificates(LEAF, issue("Middle", MIDDLE, key=MIDDLE.key), MIDDLE, ROOT),
    ),
    "name constraints": ("name constraints", lambda: _half_an_authority(extensions=[(NAME_CONSTRAINTS, False)])),
    "critical name constraints": (
        "name constraints",
        lambda: _half_an_authority(extensions=[(NAME_CONSTRAINTS, True)]),
    ),
    "an authority with a critical extension": (
        "unknown critical extension 1.2.3.4",
        lambda: _half_an_authority(extensions=[(UNKNOWN, True)]),
    ),
    "critical policies": (
        "unknown critical extension 2.5.29.36",
        lambda: _half_an_authority(extensions=[(x509.PolicyConstraints(0, None), True)]),
    ),
    "certificates after the root": ("no trust anchor", lambda: certificates(LEAF, MIDDLE, ROOT, issue("x", None))),
}


@pytest.mark.mends("L5")
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_path_is_refused(what: str) -> None:
    reason, made = WRONG[what]
    with pytest.raises(certificate_path.PathError, match=reason):
        certificate_path.check_path(made(), certificates(ROOT))


def test_a_path_at_its_limit_an_unknown_extension_and_a_key_for_any_purpose_are_accepted() -> None:
    assert certificate_path.check_path(_at_the_limit(), certificates(ROOT)) == ROOT.certificate
    harmless = issue("Leaf", ROOT, ca=False, extensions=[(UNKNOWN, False)])
    assert certificate_path.check_path(certificates(harmless), certificates(ROOT)) == ROOT.certificate
    authority = issue("Any", ROOT, **_for(Purpose.ANY_EXTENDED_KEY_USAGE))
    leaf = issue("Leaf", authority, ca=False, **_for(Purpose.TIME_STAMPING, Purpose.ANY_EXTENDED_KEY_USAGE))
    assert certificate_path.check_path(certificates(leaf, authority), certificates(ROOT)) == ROOT.certificate


@pytest.mark.mends("L5")
@pytest.mark.parametrize(
    ("reason", "root"),
    [
        ("on secp192r1", {"key": ec.generate_private_key(ec.SECP192R1())}),
        ("name constraints", {"extensions": [(NAME_CONSTRAINTS, True)]}),
        ("critical extension", {"extensions": [(UNKNOWN, True)]}),
    ],
    ids=["a weak key", "name constraints", "a critical extension"],
)
def test_an_anchor_is_judged_like_those_below_it(reason: str, root: dict[str, Any]) -> None:
    anchor = issue("Anchor", None, **root)
    leaf = issue("Leaf", anchor, ca=False)
    for path in (certificates(leaf), certificates(leaf, anchor)):
        with pytest.raises(certificate_path.PathError, match=reason):
            certificate_path.check_path(path, certificates(anchor))


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP521R1()),
        rsa.generate_private_key(65537, 3072),
    ],
    ids=["P-256", "P-521", "RSA-3072"],
)
def test_a_key_of_enough_bits_is_accepted(key: Any) -> None:
    assert certificate_path.check_path(_signed_with(key), certificates(ROOT)) == ROOT.certificate


def test_a_root_for_something_else_is_no_anchor_and_without_one_nothing_is_trusted() -> None:
    root = issue("Root", None, **_for(Purpose.CODE_SIGNING))
    with pytest.raises(certificate_path.PathError, match="codeSigning"):
        certificate_path.check_path(certificates(issue("Leaf", root, ca=False)), certificates(root))
    with pytest.raises(certificate_path.PathError):
        certificate_path.check_path(certificates(LEAF, MIDDLE, ROOT), [])


def test_of_anchors_with_one_name_the_one_that_issued_counts() -> None:
    namesakes = certificates(issue("Root", None), ROOT, issue("Root", None))
    for anchors in (namesakes, namesakes[::-1]):
        for path in ((LEAF, MIDDLE), (LEAF, MIDDLE, ROOT)):
            assert certificate_path.check_path(certificates(*path), anchors) == ROOT.certificate


def test_a_path_is_valid_while_all_of_it_is() -> None:
    short = issue("Short", ROOT, ca=False, start=START + DAY, end=END - DAY)
    assert certificate_path.validity(certificates(short, ROOT)) == (START + DAY, END - DAY)


@pytest.mark.mends("E6")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no certificate",
        CHAIN[:-40],
        CHAIN.replace(b"MII", b"MIJ", 1),
        CHAIN + b" " * certificate_path.LARGEST_CHAIN,
        pem([LEAF.certificate] * (certificate_path.LONGEST_PATH + 1)),
        b"subject=CN = leaf\n" + CHAIN,
        CHAIN + b"and more",
        CHAIN + b"\0",
        CHAIN.replace(b"-----END CERTIFICATE-----\n", b"-----END CERTIFICATE-----\n# next\n", 1),
        CHAIN.replace(b"-----BEGIN CERTIFICATE-----\n", b"-----BEGIN CERTIFICATE-----\nProc-Type: 4\n\n", 1),
    ],
    ids=[
        "nothing",
        "text",
        "cut",
        "damaged",
        "too long",
        "too many",
        "text before",
        "text behind",
        "a zero behind",
        "text between",
        "a header",
    ],
)
def test_what_is_no_chain_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError, match="certificate chain"):
        certificate_path.parse_pem_chain(data)


def test_white_space_may_stand_around_certificates_of_which_there_is_one_and_not_too_many() -> None:
    spaced = b"\r\n" + CHAIN.replace(b"-----BEGIN", b"\n\n-----BEGIN") + b" \n"
    assert certificate_path.parse_pem_chain(spaced) == certificate_path.parse_pem_chain(CHAIN)
    with pytest.raises(MalformedError):
        certificate_path.parse_der_chain([])
    with pytest.raises(MalformedError, match=f"at most {certificate_path.LARGEST_CHAIN} bytes"):
        certificate_path.parse_der_chain([bytes(certificate_path.LARGEST_CHAIN), b"\0"])


@given(st.binary(max_size=100))
def test_any_bytes_are_a_typed_error(data: bytes) -> None:
    for read in (certificate_path.parse_pem_chain, lambda each: certificate_path.parse_der_chain([each])):
        with pytest.raises(MalformedError):
            read(data)


DER = LEAF.certificate.public_bytes(Encoding.DER)


@given(st.integers(0, len(DER) - 1), st.binary(max_size=4), st.integers(0, 8))
def test_a_damaged_certificate_is_refused(place: int, put: bytes, cut: int) -> None:
    damaged = DER[:place] + put + DER[place + cut :]
    try:
        (leaf,) = certificate_path.parse_der_chain([damaged])
        certificate_path.check_path([leaf, *certificates(MIDDLE)], certificates(ROOT))
    except (MalformedError, certificate_path.PathError):
        return
    assert leaf.tbs_certificate_bytes == LEAF.certificate.tbs_certificate_bytes


ZERO_SERIAL = endorsement().public_bytes(Encoding.DER)
NEGATIVE_SERIAL = ZERO_SERIAL.replace(bytes.fromhex("a003020102020100"), bytes.fromhex("a0030201020201ff"))


def test_a_serial_number_of_zero_is_read_where_it_may_be_and_one_below_never() -> None:
    """AMD gives every endorsement key that number; no warning of `cryptography` comes through."""
    assert certificate_path.parse_der_chain([ZERO_SERIAL], zero_serial=True) == (endorsement(),)
    assert certificate_path.parse_pem_chain(pem([endorsement()]), zero_serial=True) == (endorsement(),)
    with pytest.raises(MalformedError, match="serial number"):
        certificate_path.parse_der_chain([ZERO_SERIAL])
    with pytest.raises(MalformedError, match="serial number"):
        certificate_path.parse_pem_chain(pem([endorsement()]))
    for zero_serial in (False, True):
        with pytest.raises(MalformedError, match="serial number"):
            certificate_path.parse_der_chain([NEGATIVE_SERIAL], zero_serial=zero_serial)


def test_a_key_that_is_not_said_to_sign_signs_where_it_is_said_that_it_may() -> None:
    path, anchors = [endorsement(), amd().authority(VCEK)], [amd().root]
    assert certificate_path.check_path(path, anchors, unstated_usage=True) == amd().root
    with pytest.raises(certificate_path.PathError, match="does not say what its key is for"):
        certificate_path.check_path(path, anchors)


@pytest.mark.parametrize(
    "made",
    [
        lambda: certificates(issue("x", ROOT, ca=False, key_usage=usage(signs=True, issues=True))),
        lambda: certificates(issue("x", ROOT, ca=False, key_usage=usage(signs=False, issues=False))),
        lambda: certificates(MIDDLE),
    ],
    ids=["signs certificates", "signs nothing", "an authority"],
)
def test_what_a_certificate_does_say_of_its_key_counts_even_then(made: Callable[[], Path_]) -> None:
    with pytest.raises(certificate_path.PathError, match="not a certificate of a key that signs evidence"):
        certificate_path.check_path(made(), certificates(ROOT), unstated_usage=True)


def test_certificates_that_another_thread_reads_by_other_rules_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What warns is refused by filters of the whole process, which end with whoever set them first."""
    data = endorsement().public_bytes(Encoding.DER)  # with the serial number 0, which only AMD's may have
    genuine, begun, beside, ended = x509.load_der_x509_certificate, *(threading.Event() for _ in range(3))

    def slowly(read: bytes) -> x509.Certificate:
        ours = threading.current_thread() is threading.main_thread()
        (beside if ours else begun).set()
        (ended if ours else beside).wait(0.2)
        return genuine(read)

    def of_amd() -> None:
        certificate_path.parse_der_chain([data], zero_serial=True)
        ended.set()

    monkeypatch.setattr(x509, "load_der_x509_certificate", slowly)
    before, other = list(warnings.filters), threading.Thread(target=of_amd)
    other.start()
    assert begun.wait(10)
    with pytest.raises(MalformedError, match="serial number"):
        certificate_path.parse_der_chain([data])
    other.join()
    assert list(warnings.filters) == before
