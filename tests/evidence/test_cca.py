"""A CCA token that TF-RMM made, and manifests that Veraison publishes."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from carnet_ref.attestation.appraisal import Anchors, Appraisal
from carnet_ref.attestation.cca.appraisal import DEFAULT_POLICY
from carnet_ref.attestation.cca.references import PLATFORM_PROFILE, REALM_PROFILE
from carnet_ref.attestation.corim import parse_corim
from carnet_ref.attestation.formats import AppraisalContext, OptionValues, appraise_files

FOLDER = Path(os.environ.get("CARNET_EVIDENCE", "/nowhere"))
TOKENS = FOLDER / "20-veraison-ccatoken" / "tf-rmm"
MANIFESTS = FOLDER / "21-veraison-corim" / "cca" / "testcases"
NONCE = b"\xab" * 64


def appraised(token: bytes, *manifests: bytes, nonce: bytes = NONCE) -> Appraisal:
    key = (TOKENS / "cca_platform.pub").read_bytes()
    given = OptionValues({"platform-key": key, "nonce": nonce, "reference": manifests, "reference-key": None})
    against = AppraisalContext(datetime(2026, 6, 1, tzinfo=UTC), DEFAULT_POLICY, Anchors({}))
    return appraise_files("cca", [token], given, against)


@pytest.mark.skipif(not TOKENS.is_dir(), reason="CARNET_EVIDENCE names no folder with tokens of TF-RMM")
def test_a_token_of_the_reference_firmware_is_accepted_and_no_seventh_bit_of_it_can_change() -> None:
    token = (TOKENS / "cca_token.cbor").read_bytes()
    appraisal = appraised(token)
    assert appraisal.accepted, appraisal.steps[-1]
    assert appraised(token, nonce=bytes(64)).failed_step == "nonce"
    for bit in range(0, 8 * len(token), 7):
        changed = bytearray(token)
        changed[bit // 8] ^= 1 << bit % 8
        assert not appraised(bytes(changed)).accepted, bit


@pytest.mark.skipif(not MANIFESTS.is_dir(), reason="CARNET_EVIDENCE names no folder with manifests of Veraison")
def test_published_manifests_are_read() -> None:
    platform, realm = (
        parse_corim((MANIFESTS / f"cca-{name}-valid.cbor").read_bytes()) for name in ("platform", "realm")
    )
    assert (platform.profile, len(platform.references[0].values), len(platform.keys)) == (PLATFORM_PROFILE, 2, 1)
    assert (realm.profile, len(realm.references[0].values), len(realm.keys)) == (REALM_PROFILE, 6, 0)
