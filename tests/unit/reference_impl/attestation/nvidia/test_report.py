"""Reports, device certificates, and documents with both: any bytes are read whole or end in a typed error."""

import json
import random
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_POLICY, appraise_gpu
from carnet_ref.attestation.nvidia.report import (
    BLACKWELL_DICE,
    HOPPER_DICE,
    MOST_DEVICES,
    DebugState,
    DeviceEvidence,
    DeviceKind,
    Mode,
    chips,
    device_evidence,
    firmware_id,
    parse_device_mode,
    parse_report,
    product,
    ueid,
)
from carnet_ref.wire import MalformedError
from tests.fixtures import nvidia_pki as pki
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS, entries, entry, google, request
from tests.fuzz.test_parsers import mutated

LEAF = pki.world().device.leaf
GOOD = pki.report(LEAF)
RECORD = 45
OPAQUE_START = RECORD + 64 * 55 + 32


def test_a_report_is_read_field_by_field_and_a_switch_states_no_driver() -> None:
    read = parse_report(GOOD)
    assert (read.nonce, read.slot, read.responder_nonce) == (pki.NONCE, 0, b"\xee" * 32)
    assert read.measurements == tuple(pki.measurement(index) for index in range(64))
    assert (read.driver_version, read.vbios_version, read.firmware_id) == (pki.DRIVER, pki.VBIOS, pki.FIRMWARE_ID)
    assert read.kind is DeviceKind.GPU
    assert read.signed + read.signature == GOOD
    read = parse_report(pki.report(LEAF, opaque={6: b"96.10.55.00.01", 25: b"\x01\0"}))
    assert (read.kind, read.vbios_version, read.driver_version) == (DeviceKind.SWITCH, "96.10.55.00.01", None)
    assert read.firmware_id is None


@pytest.mark.parametrize(
    ("opaque", "mode"),
    [
        ({36: b"\0\0"}, Mode.SINGLE_GPU),
        ({36: b"\x01\0"}, Mode.MULTI_GPU),
        ({36: b"\x02\0"}, Mode.PROTECTED_PCIE),
        ({36: b"\x03\0"}, None),
        ({36: b"\0\0", 21: b"\xaa"}, Mode.SINGLE_GPU),
        ({21: b"\xaa"}, Mode.PROTECTED_PCIE),
        ({21: b"\x55"}, None),
        ({}, None),
    ],
)
def test_the_mode_is_what_the_newer_field_says(opaque: dict[int, bytes], mode: Mode | None) -> None:
    assert parse_report(pki.report(LEAF, opaque=opaque)).mode is mode


MALFORMED = {
    "another SPDM version": {0: 0x12},
    "another request": {1: 0xE1},
    "a request without a signature": {2: 0x00},
    "a request for one block": {3: 0x01},
    "another version of the response": {37: 0x12},
    "another response": {38: 0x61},
    "more blocks than the record has": {41: 65},
    "fewer blocks than the record has": {41: 63},
    "a longer record": {42: 0xC1},
    "a block out of place": {RECORD: 2},
    "another measurement specification": {RECORD + 1: 2},
    "a block of another size": {RECORD + 2: 50},
    "a value of another size": {RECORD + 5: 47},
    "opaque data longer than the report": {OPAQUE_START + 1: 0xFF},
    "an opaque field longer than the data": {OPAQUE_START + 5: 0xFF},
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_report_is_a_typed_error(what: str) -> None:
    data = bytearray(GOOD)
    for place, value in MALFORMED[what].items():
        data[place] = value
    with pytest.raises(MalformedError):
        parse_report(bytes(data))


@pytest.mark.parametrize(
    ("opaque", "reason"),
    [
        ({**pki.OPAQUE, 20: b"short"}, "a firmware id of 48 bytes"),
        ({**pki.OPAQUE, 3: b"55\xff0\0"}, "a version in ASCII"),
        ({**pki.OPAQUE, 6: b"96.10\n.55"}, "a version in ASCII"),
    ],
)
def test_a_malformed_opaque_field_is_a_typed_error(opaque: dict[int, bytes], reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        parse_report(pki.report(LEAF, opaque=opaque))


def test_no_field_and_no_name_of_a_list_of_devices_comes_twice() -> None:
    start = OPAQUE_START + 2
    first = GOOD[start : start + 4 + len(pki.OPAQUE[3])]
    length = int.from_bytes(GOOD[OPAQUE_START:start], "little") + len(first)
    doubled = GOOD[:OPAQUE_START] + length.to_bytes(2, "little") + first + GOOD[start:]
    with pytest.raises(MalformedError, match="each field once"):
        parse_report(doubled)
    text = json.dumps(entries(DEVICES[:1])).replace('"evidence":', '"evidence": "AA", "evidence":')
    with pytest.raises(MalformedError, match="comes twice"):
        device_evidence(text.encode())


STATED = pki.report(LEAF, stated=pki.NOT_DEBUGGED)
MODE_BLOCK = RECORD + 64 * 55


def test_a_report_may_state_a_device_mode_behind_its_digests() -> None:
    read = parse_report(STATED)
    assert read.device_mode == parse_device_mode(pki.NOT_DEBUGGED)
    assert read.measurements == parse_report(GOOD).measurements
    assert parse_report(GOOD).device_mode is None


@pytest.mark.parametrize(
    ("place", "value"),
    [(41, 64), (41, 66), (MODE_BLOCK, 0xFD), (MODE_BLOCK + 2, 0x14), (MODE_BLOCK + 4, 5), (MODE_BLOCK + 5, 15)],
    ids=["no block for it", "one more block", "another index", "another size", "a digest of it", "a shorter value"],
)
def test_a_malformed_device_mode_is_a_typed_error(place: int, value: int) -> None:
    data = bytearray(STATED)
    data[place] = value
    with pytest.raises(MalformedError):
        parse_report(bytes(data))


@given(st.binary(max_size=20))
def test_any_bytes_are_a_device_mode_or_a_typed_error(data: bytes) -> None:
    try:
        read = parse_device_mode(data)
    except MalformedError:
        return
    assert read.encode() == data


@pytest.mark.parametrize("bit", range(32))
def test_a_debug_state_that_is_not_defined_is_refused(bit: int) -> None:
    stated = pki.NOT_DEBUGGED[:12] + (1 << bit).to_bytes(4, "little")
    if bit >= len(DebugState):
        with pytest.raises(MalformedError, match="debug states that are defined"):
            parse_device_mode(stated)
    else:
        assert parse_device_mode(stated).is_debugged is (1 << bit != DebugState.INVASIVE_SINCE_MANUFACTURING)


@pytest.mark.parametrize("length", [*range(0, len(GOOD), 211), len(GOOD) - 1])
def test_a_truncated_report_is_a_typed_error(length: int) -> None:
    with pytest.raises(MalformedError):
        parse_report(GOOD[:length])


@given(st.binary(min_size=1, max_size=100))
def test_nothing_may_follow(more: bytes) -> None:
    with pytest.raises(MalformedError, match="nothing more"):
        parse_report(GOOD + more)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_report(data)


@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=8), st.integers(0, 60))
def test_a_damaged_report_is_a_report_or_a_typed_error(place: int, put: bytes, cut: int) -> None:
    damaged = GOOD[:place] + put + GOOD[place + cut :]
    try:
        read = parse_report(damaged)
    except MalformedError:
        return
    assert read.signed + read.signature == damaged
    assert (read.kind, read.mode, read.driver_version, read.vbios_version) is not None


def test_nothing_may_follow_a_device_mode_nor_the_blocks_of_a_record() -> None:
    with pytest.raises(MalformedError, match="device mode"):
        parse_device_mode(pki.NOT_DEBUGGED + b"\0")
    behind = MODE_BLOCK + 7 + len(pki.NOT_DEBUGGED)
    size = (behind - RECORD + 1).to_bytes(3, "little")
    longer = STATED[:42] + size + STATED[45:behind] + b"\0" + STATED[behind:]
    with pytest.raises(MalformedError, match="measurement record"):
        parse_report(longer)


SHA_384 = bytes.fromhex("0609608648016503040202")
SHA_256 = bytes.fromhex("0609608648016503040201")


def _der(tag: int, body: bytes) -> bytes:
    length = bytes([len(body)]) if len(body) < 128 else b"\x81" + bytes([len(body)])
    return bytes([tag]) + length + body


def _fwid(digest: bytes, algorithm: bytes = SHA_384) -> bytes:
    return _der(0x30, algorithm + _der(0x04, digest))


def _tcb_info(*fwids: bytes) -> bytes:
    return _der(0x30, _der(0x80, b"NVIDIA") + _der(0x83, b"\x01") + _der(0xA6, b"".join(fwids)))


def _leaf(oid: x509.ObjectIdentifier, value: bytes) -> x509.Certificate:
    extension = x509.UnrecognizedExtension(oid, value)
    return pki.issue("GB100 A01 GSP FMC LF", None, ca=False, extensions=[(extension, False)]).certificate


def test_a_leaf_of_either_generation_names_its_firmware_and_no_other_certificate_does() -> None:
    assert firmware_id(pki.world().device.leaf.certificate) == pki.FIRMWARE_ID
    assert firmware_id(_leaf(BLACKWELL_DICE, _tcb_info(_fwid(pki.FIRMWARE_ID), _fwid(bytes(48))))) == pki.FIRMWARE_ID
    assert firmware_id(pki.world().root.certificate) is None


@pytest.mark.parametrize(
    ("oid", "value"),
    [
        (HOPPER_DICE, b""),
        (HOPPER_DICE, b"\x30\0"),
        (HOPPER_DICE, _tcb_info(_fwid(pki.FIRMWARE_ID))),
        (BLACKWELL_DICE, _tcb_info()),
        (BLACKWELL_DICE, _tcb_info(_fwid(pki.FIRMWARE_ID[:32], SHA_256))),
        (BLACKWELL_DICE, _tcb_info(_fwid(pki.FIRMWARE_ID)) + b"\0"),
    ],
)
def test_an_extension_of_another_kind_is_a_typed_error(oid: x509.ObjectIdentifier, value: bytes) -> None:
    with pytest.raises(MalformedError, match="DICE extension"):
        firmware_id(_leaf(oid, value))


@given(st.sampled_from([HOPPER_DICE, BLACKWELL_DICE]), st.binary(max_size=60))
def test_any_extension_is_a_firmware_id_or_a_typed_error(oid: x509.ObjectIdentifier, value: bytes) -> None:
    with pytest.raises(MalformedError):
        firmware_id(_leaf(oid, value))


@pytest.mark.parametrize(
    ("name", "chip"), [("GH100 A01 GSP FMC LF", "GH100"), ("LS_10 A01 FSP FMC LF", "LS10"), (" ", "")]
)
def test_the_chip_is_the_first_word_of_the_name(name: str, chip: str) -> None:
    leaf = pki.issue(name, None, ca=False, serial=4711).certificate
    assert (product(leaf), ueid(leaf)) == (chip, "4711")


@pytest.mark.parametrize(
    ("line", "said", "names"),
    [
        ("GB20X", b"GB202\0", {"GB20X", "GB202"}),
        ("GB20X", b"GB203", {"GB20X", "GB203"}),
        ("GB100", b"GB100\0", {"GB100"}),
        ("GB100", b"GB102\0", {"GB100"}),
        ("GB20X", b"GB100\0", {"GB20X"}),
        ("GB20X", b"GB20X\0", {"GB20X"}),
        ("GB20X", b"GB2020\0", {"GB20X"}),
        ("GB20X", b"GB202\0X", {"GB20X"}),
        ("GB20X", b"\xff\0", {"GB20X"}),
        ("GB20X", b"", {"GB20X"}),
        ("GH100", None, {"GH100"}),
    ],
)
def test_a_report_names_one_chip_of_the_line_that_its_leaf_is_for(
    line: str, said: bytes | None, names: set[str]
) -> None:
    maker = pki.issue(f"{line} A01 GSP FMC LF", None, ca=False)
    opaque = pki.OPAQUE if said is None else {**pki.OPAQUE, 35: said}
    assert chips(parse_report(pki.report(maker, opaque=opaque)), maker.certificate) == names


W = pki.world()
DEVICES = [(pki.report(each.leaf), each.chain()) for each in (W.device, pki.device(W.root))]
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
    (found,) = device_evidence(DEVICES[0][0])
    assert (found.found_in, found.chain) == (None, None)


def test_a_report_was_asked_with_the_nonce_beside_it() -> None:
    """Source: NVIDIA Attestation SDK, ``gpu/evidence.cpp``, whose verifier expects the nonce of the document."""
    for name in ("SDK list", "one device", "service request", "Intel Trust Authority", "evidences alone"):
        document = json.dumps(GPU_DOCUMENTS[name](DEVICES))
        asked = DEVICES[0][0][4:36].hex()
        assert read(json.loads(document.replace(asked, asked.upper())))[0].report == DEVICES[0][0]
        for other in (asked[:-1] + "!", "00" * 31, "0x" + asked):
            with pytest.raises(MalformedError, match="asked with the nonce beside it"):
                read(json.loads(document.replace(asked, other)))
        empty = json.loads(document.replace(f'"{asked}"', "null"))
        assert read(empty)[0].report == DEVICES[0][0]
    both = request(DEVICES)
    for changed in ({**both, "nonce": "00" * 32}, {**both, "nonce": ["00"]}):
        with pytest.raises(MalformedError, match="asked with the nonce beside it"):
            read(changed)
    trust_authority = GPU_DOCUMENTS["Intel Trust Authority"](DEVICES)
    trust_authority["nvgpu"]["gpu_nonce"] = "00" * 32
    with pytest.raises(MalformedError, match="asked with the nonce beside it"):
        read(trust_authority)


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
    "no device of Google's": ({"deviceReports": []}, "at least one device"),
    "Google's as an object": ({"deviceReports": {}}, "a list of messages"),
    "Google's by both names": ({"deviceReports": [], "device_reports": []}, "readers may differ"),
    "Google's without GPUs": ({"deviceReports": [{"nvidiaReport": {}}]}, "spt or mpt, found neither"),
    "Google's of both kinds": ({"deviceReports": [{"nvidiaReport": {"spt": {}, "mpt": {}}}]}, "found both"),
    "Google's of another maker": ({"deviceReports": [{"tpuReport": {}}]}, "nvidia_report: expected a message"),
    "Google's without a report": (
        {"deviceReports": [{"nvidiaReport": {"spt": {"gpuQuote": {"attestationReport": 7}}}}]},
        "attestation_report: expected base64",
    ),
    "too many of Google's": (google([DEVICES[0]] * (MOST_DEVICES + 1)), f"at most {MOST_DEVICES} devices"),
    "too many devices": ([entry(DEVICES[0])] * (MOST_DEVICES + 1), f"at most {MOST_DEVICES} devices"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_anything_else_is_one_error_that_says_what_came(what: str) -> None:
    document, words = FOREIGN[what]
    with pytest.raises(MalformedError) as refused:
        read(document)
    assert words in str(refused.value)
    assert "expected" in str(refused.value)


def appraised(found: DeviceEvidence) -> Appraisal:
    assert found.chain is not None
    return appraise_gpu(found.report, found.chain, at=pki.AT, policy=DEFAULT_POLICY, anchors=W.anchors)


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", GPU_DOCUMENTS)
def test_a_changed_document_is_refused_or_has_the_same_report(name: str, count: int) -> None:
    data, draw = json.dumps(GPU_DOCUMENTS[name](DEVICES[:1])).encode(), random.Random(f"{count} {name}")
    assert _accepted_as_before(data)
    assert sum(_accepted_as_before(mutated(data, draw)) for _ in range(count)) < count


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
