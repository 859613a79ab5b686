"""Trust anchors: a table that checks itself, replaced as a whole and never by roots of tests."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from carnet_ref.attestation.anchors import AnchorRole, anchors_from_pem, default_anchors
from carnet_ref.crypto.certificate_path import fingerprint, name
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import pem, world
from tests.fixtures.simulated_quotes import QUOTE

ROWS = json.loads(resources.files("carnet_ref.attestation").joinpath("anchors.json").read_text("utf-8"))
PUBLISHED = {
    AnchorRole.INTEL_SGX: ["44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3"],
    AnchorRole.NVIDIA_DEVICE: ["102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48"],
    AnchorRole.NVIDIA_RIM: ["12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1"],
    AnchorRole.AMD_SEV: [
        "69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd",
        "4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1",
        "1f084161a44bb6d93778a904877d4819cafa5d05ef4193b2ded9dd9c73dd3f6a",
    ],
}


def test_each_row_has_a_role_a_name_a_fingerprint_and_a_source() -> None:
    assert all({"role", "name", "sha256", "source", "certificate"} == set(row) for row in ROWS)
    assert all(row["source"].startswith("https://") for row in ROWS)


@pytest.mark.parametrize("role", AnchorRole)
def test_the_defaults_are_the_roots_that_the_vendors_publish(role: AnchorRole) -> None:
    anchors = default_anchors().of(role)
    assert [fingerprint(anchor) for anchor in anchors] == PUBLISHED[role]
    names = [row["name"] for row in ROWS if row["role"] == role]
    assert names == [anchor.subject.rfc4514_string() for anchor in anchors]


def test_no_root_of_tests_is_among_the_defaults() -> None:
    names = [name(anchor) for role in AnchorRole for anchor in default_anchors().of(role)]
    assert not [each for each in names if "test" in each.lower() or "sim" in each.lower()]


def test_given_certificates_replace_every_default() -> None:
    given = anchors_from_pem(pem([world().root.certificate]))
    assert all(given.of(role) == (world().root.certificate,) for role in AnchorRole)


@pytest.mark.parametrize(
    "data",
    [
        b"nothing",
        world().device.chain(),
        b"\xff" + pem([world().root.certificate]),
        QUOTE,
    ],
    ids=["no certificate", "a device's own chain", "raw bytes around a root", "a quote"],
)
def test_anything_but_certificates_of_authorities_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        anchors_from_pem(data)
