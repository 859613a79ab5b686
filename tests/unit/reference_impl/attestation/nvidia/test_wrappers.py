"""Documents with reports of NVIDIA devices: each known one is read, anything else is one error that names it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.attestation.nvidia.policy import DEFAULT_POLICY
from carnet_ref.attestation.nvidia.wrappers import MOST_DEVICES, DeviceEvidence, device_evidence
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import AT, device, report, world
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS, entries, entry, request
from tests.fuzz.test_parsers import mutated

W = world()
DEVICES = [(report(each.leaf), each.chain()) for each in (W.device, device(W.root))]
ONE = ("one device",)


def read(document: Any) -> tuple[DeviceEvidence, ...]:
    return device_evidence(json.dumps(document).encode())


@pytest.mark.mends("E3")
@pytest.mark.parametrize("name", GPU_DOCUMENTS)
def test_each_document_gives_its_devices_and_says_what_it_is(name: str) -> None:
    found = read(GPU_DOCUMENTS[name](DEVICES))
    expected = DEVICES[:1] if name in ONE else DEVICES
    assert [(each.report, each.chain) for each in found] == expected
    assert all(each.found_in for each in found)
    assert [each.name for each in found] == [str(place) for place in range(len(found))]


def test_documents_are_told_apart_by_name_and_devices_by_place() -> None:
    names = {name: read(make(DEVICES))[0].found_in for name, make in GPU_DOCUMENTS.items()}
    assert names["service request"] == "a request to NVIDIA's remote attestation service, device 0 of 2"
    assert names["one device"] == "an object with the evidence and certificate of one device"
    assert "nvidia_payload" in str(names["payload as text"])
    assert len(set(names.values())) >= 6


def test_a_report_alone_was_found_in_nothing() -> None:
    (found,) = device_evidence(DEVICES[0][0])
    assert (found.found_in, found.chain) == (None, None)


FOREIGN: dict[str, tuple[Any, str]] = {
    "a token": ([["JWT", "e30"], {"GPU-0": "e30"}], "a token of NVIDIA's remote attestation service"),
    "claims": ({"GPU-0": {"eat_nonce": "00"}}, "the claims of an attestation token"),
    "SEV-SNP": ({"platform": "snp", "evidence": {"attestation_report": "AA"}}, "an AMD SEV-SNP report"),
    "a quote": ({"quote": "00", "event_log": "[]"}, "a document with a quote"),
    "collateral": ({"tcb_info": "{}", "qe_identity": "{}"}, "Intel's collateral"),
    "an object of no kind": ({"a": 1, "b": 2}, "an object with 'a', 'b'"),
    "an empty object": ({}, "an empty object"),
    "numbers": ([1, 2], "another list"),
    "two sets of devices": ({**request(DEVICES), "gpus": []}, "readers may differ"),
    "a payload in a payload": (
        {"nvidia_payload": json.dumps({"nvidia_payload": "{}"})},
        "found a document with evidence of NVIDIA devices",
    ),
    "a payload that is no JSON": ({"nvidia_payload": "nonsense"}, "nvidia_payload: expected JSON"),
    "a payload that is a number": ({"nvidia_payload": 1}, "found a JSON int"),
    "evidences that are no list": ({"gpu": {"evidences": {}}}, "expected a list, found an empty object"),
    "a device without its report": ([{"certificate": "AA"}], "an object with evidence"),
    "a device without its chain": (request([]) | {"evidence_list": [{"evidence": "AA"}]}, "an object with certificate"),
    "evidence that is no text": ([{"evidence": 1, "certificate": "AA"}], "evidence to be text"),
    "no device": (request([]), "at least one device"),
    "too many devices": ([entry(DEVICES[0])] * (MOST_DEVICES + 1), f"at most {MOST_DEVICES} devices"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_anything_else_is_one_error_that_says_what_came(what: str) -> None:
    document, words = FOREIGN[what]
    with pytest.raises(MalformedError) as refused:
        read(document)
    assert words in str(refused.value)
    assert "expected" in str(refused.value)


def test_a_list_of_devices_may_hold_no_name_twice() -> None:
    text = json.dumps(entries(DEVICES[:1])).replace('"evidence":', '"evidence": "AA", "evidence":')
    with pytest.raises(MalformedError, match="comes twice"):
        device_evidence(text.encode())


def appraised(found: DeviceEvidence) -> Appraisal:
    assert found.chain is not None
    return appraise_gpu(found.report, found.chain, at=AT, policy=DEFAULT_POLICY, anchors=W.anchors)


@pytest.mark.parametrize("name", GPU_DOCUMENTS)
def test_a_changed_document_is_refused_or_has_the_same_report(name: str) -> None:
    data, draw = json.dumps(GPU_DOCUMENTS[name](DEVICES[:1])).encode(), random.Random(name)
    assert _accepted_as_before(data)
    assert sum(_accepted_as_before(mutated(data, draw)) for _ in range(150)) < 150


@pytest.mark.slow
@pytest.mark.parametrize("name", GPU_DOCUMENTS)
def test_a_thousand_changed_documents_are_refused_or_have_the_same_report(name: str) -> None:
    data, draw = json.dumps(GPU_DOCUMENTS[name](DEVICES[:1])).encode(), random.Random(f"more {name}")
    assert sum(_accepted_as_before(mutated(data, draw)) for _ in range(1000)) < 1000


def _accepted_as_before(data: bytes) -> bool:
    """Return whether changed evidence is accepted, which it may be only where everything signed is as it was."""
    try:
        found = device_evidence(data)
        chains = [each.chain for each in found]
    except MalformedError:
        return False
    if None in chains:
        return False
    verdicts = [appraised(each) for each in found]
    for each, verdict in zip(found, verdicts, strict=True):
        assert not verdict.accepted or each.report == DEVICES[0][0]
    return all(verdict.accepted for verdict in verdicts)
