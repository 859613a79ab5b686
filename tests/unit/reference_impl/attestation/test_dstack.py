"""Envelopes of dstack: each version gives the evidence of its platform and the log, or is one typed error."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from carnet_ref.attestation import dstack, kinds
from carnet_ref.attestation.dstack import LARGEST, Envelope, Platform, is_envelope, parse_envelope
from carnet_ref.wire import MalformedError
from tests.fixtures.dstack_envelopes import PLATFORMS, asked_with, compact, in_packs, in_scale, octets, packed
from tests.fixtures.wrapped_evidence import EVENTS, event_log
from tests.fuzz.test_parsers import mutated

EVIDENCE = b"evidence" * 600
LOG = event_log(*EVENTS, digests=True)
CERTIFICATES = (b"one", b"two" * 100)
WRITERS: dict[int, Callable[..., bytes]] = {0: in_scale, 1: in_packs}


@pytest.mark.parametrize("number", range(len(PLATFORMS)))
@pytest.mark.parametrize("version", WRITERS)
def test_an_envelope_has_the_evidence_of_its_platform(version: int, number: int) -> None:
    data = WRITERS[version](EVIDENCE, LOG, number, CERTIFICATES)
    found = parse_envelope(data)
    assert (found.version, found.platform, found.evidence) == (version, PLATFORMS[number], EVIDENCE)
    assert found.certificates == (CERTIFICATES if found.platform is Platform.SEV_SNP else ())
    assert found.event_log == (json.dumps(LOG).encode() if number < 2 else b"") or json.loads(found.event_log) == LOG
    assert is_envelope(data)
    assert kinds.known_kind(data) == kinds.DSTACK_ENVELOPE
    assert f"version {version}" in found.name


def test_events_of_version_2_keep_what_says_so() -> None:
    later = event_log(*EVENTS, digests=True, version=2)
    assert json.loads(parse_envelope(in_packs(EVIDENCE, later)).event_log) == later


def test_an_envelope_may_have_no_log() -> None:
    for version, write in WRITERS.items():
        asked = asked_with(EVIDENCE, 0)
        assert parse_envelope(write(EVIDENCE)) == Envelope(version, Platform.TDX, EVIDENCE, asked)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 16383, 16384, 70000])
def test_lengths_are_read_in_each_of_their_forms(size: int) -> None:
    for write in WRITERS.values():
        assert parse_envelope(write(bytes(size))).evidence == bytes(size)


WHOLE, PACKED = in_scale(b"quote", LOG), in_packs(b"quote", LOG)
INNER: dict[str, Any] = {"kind": "tdx", "data": {"quote": b"q", "event_log": []}}
STACK: dict[str, Any] = {"stack": {"kind": "dstack", "data": {"report_data": bytes(64)}}}
MALFORMED = {
    "nothing": b"",
    "another version": b"\1" + WHOLE[1:],
    "another platform": WHOLE[:1] + b"\5" + WHOLE[2:],
    "a byte more": WHOLE + b"\0",
    "a byte less": WHOLE[:-1],
    "a length too large": b"\0\0\3" + bytes(20),
    "more events than bytes": b"\0\0" + octets(b"q") + compact(1 << 20) + bytes(20),
    "an event's name that is no text": in_scale(b"q", LOG).replace(b"app-id", b"app\xff\xff\xff"),
    "too long": bytes(LARGEST + 1),
    "packed, a byte more": PACKED + b"\0",
    "packed, a byte less": PACKED[:-1],
    "packed, another version": in_packs(b"q", version=2),
    "packed, version as text": packed({"version": "1", "platform": INNER, **STACK}),
    "packed, another platform": packed({"version": 1, "platform": INNER | {"kind": "cca"}, **STACK}),
    "packed, no platform": packed({"version": 1, **STACK}),
    "packed, no report data": packed({"version": 1, "platform": INNER, "stack": {"data": {}}}),
    "packed, too little report data": in_packs(b"q", report_data=bytes(63)),
    "packed, no stack": packed({"version": 1, "platform": INNER}),
    "packed, a name twice": b"\x82" + (packed("version") + packed(1)) * 2,
    "packed, a name that is none": packed({"version": 1, "platform": INNER, **STACK, 5: 1}),
    "packed, a quote as text": packed({"version": 1, "platform": {"kind": "tdx", "data": {"quote": "q"}}, **STACK}),
    "packed, a quote of large numbers": packed(
        {"version": 1, "platform": {"kind": "tdx", "data": {"quote": [256]}}, **STACK}
    ),
    "packed, a log as text": packed(
        {"version": 1, "platform": {"kind": "tdx", "data": {"quote": b"q", "event_log": ""}}, **STACK}
    ),
    "packed, an event as text": packed(
        {"version": 1, "platform": {"kind": "tdx", "data": {"quote": b"q", "event_log": [""]}}, **STACK}
    ),
    "packed, an event with a list": in_packs(b"q", [{**LOG[0], "event": []}]),
    "packed, a fraction": b"\x81" + packed("version") + b"\xcb" + bytes(8),
    "packed, an extension": b"\x81" + packed("version") + b"\xd4\0\0",
    "packed, more items than bytes": b"\x81" + packed("version") + b"\xdd\xff\xff\xff\xff",
    "packed, nested deeply": b"\x81\xa1a" * 20 + b"\xc0",
    "packed, text that is none": b"\x81\xa1\xff\xc0",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_envelope_is_one_typed_error(what: str) -> None:
    with pytest.raises(MalformedError):
        parse_envelope(MALFORMED[what])
    assert not is_envelope(MALFORMED[what])


@pytest.mark.parametrize("start", [WHOLE, PACKED, in_scale(b"q", LOG, 1), in_packs(b"r", (), 3, CERTIFICATES)])
def test_a_changed_envelope_is_refused_or_read_without_a_traceback(start: bytes) -> None:
    draw = random.Random(len(start))
    for _ in range(1000):
        try:
            found = parse_envelope(mutated(start, draw))
        except MalformedError:
            continue
        assert found.platform in PLATFORMS


def test_only_what_begins_like_an_envelope_is_taken_for_one() -> None:
    for other in (bytes(100), b"\x80", packed({"platform": 1}), b"\0\0\0\0\3\0\0\0" + bytes(60)):
        assert kinds.known_kind(other) != kinds.DSTACK_ENVELOPE
    assert (*range(0x80, 0x90), 0xDE, 0xDF) == dstack.PACKED_MAPS
