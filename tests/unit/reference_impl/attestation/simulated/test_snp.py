"""A simulated AMD makes reports of the real format, and nobody takes them for real."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from carnet_ref.attestation.amd.certificates import KeyKind
from carnet_ref.attestation.amd.report import REPORT_BYTES, SIGNED_BYTES, Product, parse_report
from carnet_ref.attestation.anchors import default_anchors
from carnet_ref.attestation.simulated.authority import TEST
from tests.fixtures.simulated_snp import (
    KINDS,
    NOW,
    REPORT_DATA,
    TCBS,
    SimulatedAmd,
    amd,
    appraised,
    chip,
    encode_report,
    endorsement,
    signed,
)


@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_a_simulated_report_is_accepted_with_its_test_root_alone(product: Product, kind: KeyKind) -> None:
    assert appraised(product=product, kind=kind).accepted
    assert appraised(product=product, kind=kind, anchors=default_anchors()).failed_step == "chain"
    other = amd(next(line for line in Product if line is not product)).anchors
    assert appraised(product=product, kind=kind, anchors=other).failed_step == "chain"


def test_every_certificate_names_the_organisation_of_the_tests() -> None:
    for product, kind in KINDS:
        for certificate in (endorsement(product, kind), amd(product).authority(kind), amd(product).root):
            assert f"O={TEST}" in certificate.subject.rfc4514_string()


def test_a_report_is_signed_as_amd_writes_it() -> None:
    """Checked with the parts of `cryptography` alone: r and s are little-endian, in fields of 72 bytes."""
    report = signed()
    assert len(report) == REPORT_BYTES
    r, s = (int.from_bytes(report[place : place + 72], "little") for place in (0x2A0, 0x2E8))
    key = endorsement().public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(encode_dss_signature(r, s), report[:SIGNED_BYTES], ec.ECDSA(hashes.SHA384()))


def test_a_chip_has_a_key_for_each_tcb_and_kind_and_another_id_than_other_chips() -> None:
    tcb = TCBS[Product.MILAN]
    newer = type(tcb)(Product.MILAN, {**tcb.parts, "snp": 25})
    keys = [chip().key(kind, version) for kind in KeyKind for version in (tcb, newer)]
    assert len({key.public_numbers() for key in [*keys, chip(seed=b"another chip").key()]}) == 5
    assert chip().hardware_id != chip(seed=b"another chip").hardware_id
    assert [len(chip(product).hardware_id) for product in Product] == [64, 64, 8]


def test_reports_and_keys_are_the_same_for_the_same_seed() -> None:
    again = SimulatedAmd(Product.MILAN, NOW).chip(b"a chip")
    assert again.sign(again.report(REPORT_DATA)) == signed()
    assert again.key().public_numbers() == chip().key().public_numbers()


def test_bytes_that_are_no_report_can_be_signed_too() -> None:
    with pytest.raises(ValueError, match="version"):
        parse_report(chip().sign_bytes(bytes(SIGNED_BYTES)))
    report = chip().report(REPORT_DATA)
    assert chip().sign_bytes(encode_report(report)) == chip().sign(report)
