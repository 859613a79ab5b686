"""OCSP replies: any bytes are a reply or a typed error, and a reply is about exactly one certificate of one issuer."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.nvidia.ocsp import LARGEST, RevocationError, check_not_revoked, parse_ocsp
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import AT, DAY, issue, ocsp_reply, usage, world

W = world()
ROOT, MODEL, PROVISIONER = W.device.path[:3]
GOOD = ocsp_reply(MODEL, ROOT)
SIGNING = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])


def test_a_good_reply_counts_from_this_update_to_next_update() -> None:
    reply = parse_ocsp(GOOD)
    for at in (AT - DAY, AT, AT + DAY):
        check_not_revoked(reply, MODEL.certificate, ROOT.certificate, at)
    for at in (AT - 1.01 * DAY, AT + 1.01 * DAY, AT + 19 * DAY):
        with pytest.raises(RevocationError, match="counts from"):
            check_not_revoked(reply, MODEL.certificate, ROOT.certificate, at)


def test_a_reply_is_about_a_certificate_of_its_issuer() -> None:
    reply = parse_ocsp(GOOD)
    namesake = issue("Test Device Identity CA", None)
    assert reply.is_about(MODEL.certificate, ROOT.certificate)
    assert not reply.is_about(MODEL.certificate, namesake.certificate)
    assert not reply.is_about(PROVISIONER.certificate, ROOT.certificate)


def test_a_reply_that_only_says_try_later_is_a_typed_error() -> None:
    later = ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER).public_bytes(Encoding.DER)
    with pytest.raises(MalformedError, match="TRY_LATER"):
        parse_ocsp(later)


def test_a_reply_with_a_certificate_of_no_known_version_is_signed_by_nobody() -> None:
    version = bytes.fromhex("a003020102")
    responder = issue("Responder", ROOT, ca=False, extensions=[(SIGNING, False)])
    answered = ocsp_reply(MODEL, ROOT, responder)
    assert answered.count(version) == 1
    check_not_revoked(parse_ocsp(answered), MODEL.certificate, ROOT.certificate, AT)
    damaged = parse_ocsp(answered.replace(version, version[:-1] + b"\x05"))
    with pytest.raises(RevocationError, match="signed neither"):
        check_not_revoked(damaged, MODEL.certificate, ROOT.certificate, AT)


@pytest.mark.mends("L5")
def test_a_responder_with_a_weak_key_answers_for_nobody() -> None:
    """The same responder with a strong key is heard."""
    for curve, heard in ((ec.SECP192R1(), False), (ec.SECP256R1(), True)):
        key = ec.generate_private_key(curve)
        responder = issue("Responder", ROOT, ca=False, key=key, extensions=[(SIGNING, False)])
        assert _is_good(ocsp_reply(MODEL, ROOT, responder)) is heard


def _is_good(data: bytes) -> bool:
    try:
        check_not_revoked(parse_ocsp(data), MODEL.certificate, ROOT.certificate, AT)
    except (MalformedError, RevocationError):
        return False
    return True


def test_a_reply_with_a_certificate_signed_in_an_unknown_way_is_refused() -> None:
    answered = ocsp_reply(MODEL, ROOT, issue("Responder", ROOT, ca=False, extensions=[(SIGNING, False)]))
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
        (False, {"ca": True, "key_usage": usage(signs=True, issues=False)}),
        (False, {"ca": False, "key_usage": usage(signs=False, issues=False)}),
    ],
    ids=["an end entity", "an authority", "an authority that signs", "a key that signs nothing"],
)
def test_a_responder_is_an_end_entity_that_signs(appointed: bool, how: dict[str, Any]) -> None:
    reply = parse_ocsp(ocsp_reply(MODEL, ROOT, issue("Responder", ROOT, **how, extensions=[(SIGNING, True)])))
    said = contextlib.nullcontext() if appointed else pytest.raises(RevocationError, match="signed neither")
    with said:
        check_not_revoked(reply, MODEL.certificate, ROOT.certificate, AT)


def test_a_long_reply_is_not_read() -> None:
    with pytest.raises(MalformedError, match="at most"):
        parse_ocsp(bytes(LARGEST + 1))


@given(st.binary(max_size=100))
def test_any_bytes_are_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_ocsp(data)


@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=4), st.integers(0, 8))
def test_a_damaged_reply_is_refused(place: int, put: bytes, cut: int) -> None:
    damaged = GOOD[:place] + put + GOOD[place + cut :]
    try:
        reply = parse_ocsp(damaged)
        check_not_revoked(reply, MODEL.certificate, ROOT.certificate, AT)
    except (MalformedError, RevocationError):
        return
    assert reply == parse_ocsp(GOOD) or reply.signed == parse_ocsp(GOOD).signed
