"""Revocation lists of AMD: a key that was taken back signs nothing, and a list that proves nothing is refused."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd.certificates import KeyKind
from carnet_ref.attestation.amd.policy import DEFAULT_POLICY
from carnet_ref.attestation.amd.report import Product
from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.appraisal import AppraisalStep
from tests.fixtures.simulated_snp import LISTS_LAST, NOW, VCEK, VLEK, SimulatedAmd, amd, appraised, flipped

DAY = timedelta(days=1)
LIST = amd().revocation_list()
ASKED = replace(DEFAULT_POLICY, require=DEFAULT_POLICY.require | {"revocation"})


def der(crl: x509.CertificateRevocationList) -> bytes:
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
    for crl in (LIST, amd().revocation_list(amd().authority(VLEK))):
        found = appraised(crls=[FORMS[form](der(crl))], policy=ASKED)
        assert (found.accepted, "revocation not checked" in found.not_compared) == (True, False), found.steps[-1]


def test_without_a_list_an_acceptance_says_that_nobody_looked() -> None:
    found = appraised()
    assert (found.accepted, "revocation not checked" in found.not_compared) == (True, True)
    assert appraised(policy=ASKED).failed_step == "policy"


@pytest.mark.parametrize("kind", [VCEK, VLEK])
def test_a_revoked_signing_key_is_refused(kind: KeyKind) -> None:
    crl = der(amd().revocation_list(amd().authority(kind)))
    found = appraised(kind=kind, crls=[der(LIST), crl])
    assert (found.failed_step, "was revoked" in found.steps[-1].detail) == ("revocation", True)
    other = VLEK if kind is VCEK else VCEK
    assert appraised(kind=other, crls=[crl]).accepted


def test_a_root_that_revokes_itself_is_refused() -> None:
    step = revocation(der(amd().revocation_list(amd().root)))
    assert (step.ok, "'ARK-Milan' 10000 was revoked" in step.detail) == (False, True)


def _foreign() -> bytes:
    return der(SimulatedAmd(Product.MILAN, NOW, keys="foreign").revocation_list())


def _signed_with(mask: hashes.HashAlgorithm, salt: int) -> bytes:
    return der(amd().revocation_list(signature=padding.PSS(padding.MGF1(mask), salt)))


REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "of another line": (
        "by CN=ARK-Genoa,O=Carnet TEST, not by the root",
        lambda: der(amd(Product.GENOA).revocation_list()),
    ),
    "by the signing key": (
        "by CN=SEV-Milan,O=Carnet TEST, not by the root",
        lambda: der(amd().revocation_list(by=VCEK)),
    ),
    "by a foreign root of the same name": ("is not signed by", _foreign),
    "changed": ("is not signed by", lambda: flipped(der(LIST), 8 * len(der(LIST)) - 1)),
    "of PKCS 1": ("is not signed by", lambda: der(amd().revocation_list(signature=padding.PKCS1v15()))),
    "of another mask": ("is not signed by", lambda: _signed_with(hashes.SHA256(), 48)),
    "of another salt": ("is not signed by", lambda: _signed_with(hashes.SHA384(), 32)),
    "partial": ("so it is partial", lambda: der(amd().revocation_list(partial=True))),
    "of tomorrow": ("counts from 2026-01-02", lambda: der(amd().revocation_list(at=NOW + DAY))),
    "too old": ("counts from", lambda: der(amd().revocation_list(at=NOW - LISTS_LAST - DAY))),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_list_that_proves_nothing_is_refused(what: str) -> None:
    reason, made = REFUSED[what]
    for lists in ([made()], [der(LIST), made()]):
        step = revocation(*lists)
        assert (step.ok, reason in step.detail) == (False, True), step


@pytest.mark.parametrize("days", [0, 180])
def test_a_list_counts_up_to_its_next_update(days: int) -> None:
    assert appraised(crls=[der(LIST)], at=NOW + days * DAY).accepted
    assert appraised(crls=[der(LIST)], at=NOW + 181 * DAY).failed_step == "revocation"


def test_the_list_of_a_root_says_nothing_where_the_signing_key_itself_is_trusted() -> None:
    anchors = Anchors({AnchorRole.AMD_SEV: (amd(Product.MILAN).authority(VCEK),)})
    assert appraised(anchors=anchors).accepted
    for crl in (LIST, amd().revocation_list(by=VCEK)):
        assert appraised(anchors=anchors, crls=[der(crl)]).failed_step == "revocation"


MALFORMED = {
    "nothing": b"",
    "text": b"no list",
    "a certificate": amd().root.public_bytes(Encoding.DER),
    "a certificate in PEM": amd().root.public_bytes(Encoding.PEM),
    "two lists in PEM": 2 * LIST.public_bytes(Encoding.PEM),
    "a list in PEM and a certificate": LIST.public_bytes(Encoding.PEM) + amd().root.public_bytes(Encoding.PEM),
    "PEM that is cut short": LIST.public_bytes(Encoding.PEM)[:-40],
    "DER that is cut short": der(LIST)[:-1],
    "DER that is longer": der(LIST) + b"\0",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_list_is_refused_at_parse(what: str) -> None:
    assert appraised(crls=[MALFORMED[what]]).failed_step == "parse"
