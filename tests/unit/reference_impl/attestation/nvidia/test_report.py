"""Reading reports: every length and constant is checked, and any bytes end in a report or a typed error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.nvidia.report import DebugState, DeviceKind, Mode, parse_device_mode, parse_report
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import (
    DRIVER,
    FIRMWARE_ID,
    NONCE,
    NOT_DEBUGGED,
    OPAQUE,
    VBIOS,
    measurement,
    report,
    world,
)

LEAF = world().device.leaf
GOOD = report(LEAF)
RECORD = 45
OPAQUE_START = RECORD + 64 * 55 + 32


def test_a_report_is_read_field_by_field() -> None:
    read = parse_report(GOOD)
    assert (read.nonce, read.slot, read.responder_nonce) == (NONCE, 0, b"\xee" * 32)
    assert read.measurements == tuple(measurement(index) for index in range(64))
    assert (read.driver_version, read.vbios_version, read.firmware_id) == (DRIVER, VBIOS, FIRMWARE_ID)
    assert read.kind is DeviceKind.GPU
    assert read.signed + read.signature == GOOD


def test_a_switch_sends_its_version_as_text_and_no_driver() -> None:
    read = parse_report(report(LEAF, opaque={6: b"96.10.55.00.01", 25: b"\x01\0"}))
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
    assert parse_report(report(LEAF, opaque=opaque)).mode is mode


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
        ({**OPAQUE, 20: b"short"}, "a firmware id of 48 bytes"),
        ({**OPAQUE, 3: b"55\xff0\0"}, "a version in ASCII"),
        ({**OPAQUE, 6: b"96.10\n.55"}, "a version in ASCII"),
    ],
)
def test_a_malformed_opaque_field_is_a_typed_error(opaque: dict[int, bytes], reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        parse_report(report(LEAF, opaque=opaque))


def test_a_field_twice_is_a_typed_error() -> None:
    start = OPAQUE_START + 2
    first = GOOD[start : start + 4 + len(OPAQUE[3])]
    length = int.from_bytes(GOOD[OPAQUE_START:start], "little") + len(first)
    doubled = GOOD[:OPAQUE_START] + length.to_bytes(2, "little") + first + GOOD[start:]
    with pytest.raises(MalformedError, match="each field once"):
        parse_report(doubled)


STATED = report(LEAF, stated=NOT_DEBUGGED)
MODE_BLOCK = RECORD + 64 * 55


def test_a_report_may_state_a_device_mode_behind_its_digests() -> None:
    read = parse_report(STATED)
    assert read.device_mode == parse_device_mode(NOT_DEBUGGED)
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
    stated = NOT_DEBUGGED[:12] + (1 << bit).to_bytes(4, "little")
    if bit >= len(DebugState):
        with pytest.raises(MalformedError, match="debug states that are defined"):
            parse_device_mode(stated)
    else:
        assert parse_device_mode(stated).debugged is (1 << bit != DebugState.INVASIVE_SINCE_MANUFACTURING)


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
        parse_device_mode(NOT_DEBUGGED + b"\0")
    behind = MODE_BLOCK + 7 + len(NOT_DEBUGGED)
    size = (behind - RECORD + 1).to_bytes(3, "little")
    longer = STATED[:42] + size + STATED[45:behind] + b"\0" + STATED[behind:]
    with pytest.raises(MalformedError, match="measurement record"):
        parse_report(longer)
