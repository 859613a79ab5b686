"""Evidence that is made to be slow is refused or appraised at once, whatever its shape."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from lxml import etree

from carnet_ref.attestation.anchors import AnchorRole
from carnet_ref.attestation.nvidia.rim import LARGEST, LIMITS, appraise_rim, parse_bounded
from carnet_ref.attestation.nvidia.wrappers import MOST_DEVICES, device_evidence
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import AT, world
from tests.fixtures.slow_evidence import GOOD, RIMS, namespaces, nested, rim
from tests.repo.tracked import ROOT

SECONDS = 2.0
"""What a mebibyte of evidence may take: the requirement itself."""
WITHIN = {
    "namespaces as many as may be",
    "attributes as many as may be",
    "text to be escaped",
    "references to characters",
    "a huge signature",
}
"""What keeps to every limit, and so is canonicalised, and refused because nobody signed it."""


@pytest.mark.mends("M1")
def test_no_evidence_of_a_mebibyte_takes_long() -> None:
    """Measured in a process of its own, in seconds of its processor."""
    assert all(len(rim(name)) <= LARGEST for name in RIMS)
    ran = subprocess.run(
        (sys.executable, "-m", "tests.fixtures.slow_evidence"), cwd=ROOT, capture_output=True, check=True, timeout=90
    )
    slow = {name: seconds for name, seconds in json.loads(ran.stdout).items() if seconds > SECONDS}
    assert slow == {}


@pytest.mark.mends("M1")
@pytest.mark.parametrize("name", RIMS)
def test_what_is_beyond_a_limit_is_refused_before_it_is_canonicalised(name: str) -> None:
    appraisal = appraise_rim(rim(name), at=AT, anchors=world().anchors.of(AnchorRole.NVIDIA_RIM))
    assert appraisal.failed_step == ("signature" if name in WITHIN else "parse")


AT_LIMIT: dict[str, Callable[[int], str]] = {
    "elements": lambda count: "<e>" + "<e/>" * (count - 1) + "</e>",
    "levels of elements": lambda count: nested(count, 1),
    "attributes": lambda count: (
        "<e>" + _elements(count // 64, 64) + _elements(1 if count % 64 else 0, count % 64) + "</e>"
    ),
    "attributes of one element": lambda count: _elements(1, count),
    "namespace declarations": lambda count: f"<e{namespaces(count - 1)} xmlns='urn:x'/>",
    "characters in the value of an attribute": lambda count: f'<e a="{"x" * count}"/>',
    "comments and processing instructions": lambda count: (
        "<!--x-->" * (count // 2) + "<e><?a?>" + "</e>" + ("<!--y-->" * (count - count // 2 - 1))
    ),
}


def _elements(count: int, attributes: int) -> str:
    return ("<e" + "".join(f' a{number}=""' for number in range(attributes)) + "/>") * count


@pytest.mark.mends("M1")
@pytest.mark.parametrize("unit", LIMITS)
def test_each_limit_is_where_it_says(unit: str) -> None:
    made = AT_LIMIT[unit]
    assert isinstance(parse_bounded(made(LIMITS[unit]).encode(), "a test"), etree._Element)
    with pytest.raises(MalformedError, match=f"a test: expected at most {LIMITS[unit]} {unit}, found more"):
        parse_bounded(made(LIMITS[unit] + 1).encode(), "a test")


@pytest.mark.parametrize(
    "declaration",
    ["", "\ufeff", "<?xml version='1.0'?>", '<?xml version="1.0" encoding="UTF-8" standalone="no" ?>\n'],
)
def test_utf_8_is_read_whether_it_is_declared_or_not(declaration: str) -> None:
    assert parse_bounded((declaration + "<é/>").encode(), "a test").tag == "é"


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe<\0e\0/\0>\0",
        b"<\0e\0/\0>\0",
        b"<?xml version='1.0' encoding='latin-1'?><e/>",
        b"<?xml version='1.1'?><e/>",
        b"<?xml encoding='utf-8'?><e/>",
        "<e>ö</e>".encode("latin-1"),
    ],
    ids=["UTF-16", "UTF-16 without a mark", "a declaration", "another version", "no version", "Latin-1"],
)
def test_no_other_encoding_is_read(data: bytes) -> None:
    with pytest.raises(MalformedError, match="UTF-8"):
        parse_bounded(data, "a test")


@pytest.mark.mends("M1")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<ds:X509Data>", "<ds:KeyValue/><ds:X509Data>", "X509Data in KeyInfo, found KeyValue, X509Data"),
        ("</ds:SignedInfo>", "<ds:Reference/></ds:SignedInfo>", "Reference in SignedInfo"),
        ("</ds:Signature>", "<ds:Object/></ds:Signature>", "KeyInfo in Signature"),
        ("</ds:Transforms>", "<ds:Transform/></ds:Transforms>", "at most 2 transforms"),
    ],
    ids=["a key", "a second reference", "an object", "a third transform"],
)
def test_a_signature_has_the_parts_of_a_genuine_one(old: str, new: str, said: str) -> None:
    document = GOOD.replace(old, new, 1).encode()
    appraisal = appraise_rim(document, at=AT, anchors=world().anchors.of(AnchorRole.NVIDIA_RIM))
    assert (appraisal.failed_step, said in appraisal.steps[-1].detail) == ("parse", True), appraisal.steps[-1]


def test_a_bundle_has_so_many_devices_at_most() -> None:
    device = b'{"evidence":"AA==","certificate":"%s"}' % b"LS0tLS1CRUdJTiA="
    assert len(device_evidence(b"[" + b",".join([device] * MOST_DEVICES) + b"]")) == MOST_DEVICES
    for bundle in (b"[" + b",".join([device] * (MOST_DEVICES + 1)) + b"]", b'{"gpus":[%s0]}' % (b"0," * MOST_DEVICES)):
        with pytest.raises(MalformedError, match=f"at most {MOST_DEVICES} devices"):
            device_evidence(bundle)
