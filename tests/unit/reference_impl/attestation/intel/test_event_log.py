"""Event logs: read as written, replayed as the registers were extended."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from carnet_ref.attestation.intel.event_log import LARGEST_LOG, MOST_EVENTS, NO_ACTION, parse_event_log, replay_rtmr
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import PLATFORM, REPORT_DATA, appraised
from tests.fixtures.wrapped_evidence import EVENTS, event_log, logged_rtmrs, runtime_digest

SHA1, SHA384 = 4, 12


def number(value: int, width: int = 4) -> bytes:
    return value.to_bytes(width, "little")


def specification(algorithms: dict[int, int]) -> bytes:
    sizes = b"".join(number(algorithm, 2) + number(size, 2) for algorithm, size in algorithms.items())
    event = b"Spec ID Event03\0" + bytes(8) + number(len(algorithms)) + sizes + b"\0"
    return number(0) + number(NO_ACTION) + bytes(20) + number(len(event)) + event


def event(register: int, kind: int, data: bytes) -> bytes:
    digest = hashlib.sha384(data).digest()
    return number(register) + number(kind) + number(1) + number(SHA384, 2) + digest + number(len(data)) + data


HEADER = specification({SHA384: 48})
LOG = HEADER + event(1, 0x80000001, b"firmware") + event(2, 13, b"kernel") + event(1, 4, b"separator")


def extended(*measured: bytes) -> bytes:
    value = bytes(48)
    for data in measured:
        value = hashlib.sha384(value + hashlib.sha384(data).digest()).digest()
    return value


def test_registers_hold_what_was_measured_in_order() -> None:
    assert replay_rtmr(parse_event_log(LOG)) == (
        extended(b"firmware", b"separator"),
        extended(b"kernel"),
        bytes(48),
        bytes(48),
    )


def test_order_counts() -> None:
    other = HEADER + event(1, 4, b"separator") + event(1, 0x80000001, b"firmware")
    assert replay_rtmr(parse_event_log(other))[0] != replay_rtmr(parse_event_log(LOG))[0]


def test_remarks_and_what_went_into_mrtd_are_not_in_the_registers() -> None:
    remarks = HEADER + event(1, NO_ACTION, b"a remark") + event(0, 13, b"the initial contents")
    assert replay_rtmr(parse_event_log(remarks)) == (bytes(48),) * 4


@pytest.mark.parametrize("rest", [b"", bytes(100), b"\xff" * 100])
def test_a_log_ends_where_its_buffer_is_unwritten(rest: bytes) -> None:
    assert parse_event_log(LOG + rest) == parse_event_log(LOG)


@pytest.mark.parametrize(
    "log",
    [
        b"",
        LOG[:40],
        LOG[:-1],
        LOG + b"\1",
        number(0) + number(4) + HEADER[8:],
        HEADER.replace(b"Spec ID Event03", b"Spec ID Event02"),
        specification({SHA1: 20}),
        specification({SHA384: 32}),
        specification(dict.fromkeys(range(17), 48)),
        HEADER + event(5, 13, b"no such register"),
        HEADER + number(1) + number(13) + number(0) + number(0),
        HEADER + number(1) + number(13) + number(2),
        HEADER + number(1) + number(13) + number(1) + number(SHA1, 2) + bytes(20) + number(0),
        bytes(LARGEST_LOG + 1),
    ],
)
def test_anything_else_is_malformed(log: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_event_log(log)


def test_a_log_that_ends_in_other_registers_is_refused() -> None:
    quote = PLATFORM.td(rtmrs=replay_rtmr(parse_event_log(LOG))).quote(REPORT_DATA)
    assert appraised(quote, event_log=LOG).accepted
    assert appraised(quote, event_log=HEADER).failed_step == "event-log"
    assert appraised(quote, event_log=b"").failed_step == "parse"


def json_log(**changed: Any) -> bytes:
    """Return the log of dstack with fields of its last event changed."""
    log = event_log(*EVENTS, digests=True)
    log[-1] |= changed
    return json.dumps(log).encode()


@pytest.mark.mends("E13")
@pytest.mark.parametrize("digests", [True, False])
def test_the_list_of_dstack_is_replayed_with_or_without_the_digests_of_its_events(digests: bool) -> None:
    log = json.dumps(event_log(*EVENTS, digests=digests), indent=1).encode()
    assert replay_rtmr(parse_event_log(log)) == logged_rtmrs()
    assert [(event.name, event.data) for event in parse_event_log(log)[1:]] == list(EVENTS)


@pytest.mark.parametrize(
    "changed",
    [
        {"event": "system-broken", "digest": ""},
        {"event_payload": "00", "digest": ""},
        {"imr": 2},
        {"event_type": 13},
    ],
)
def test_a_changed_event_of_dstack_ends_in_other_registers(changed: dict[str, Any]) -> None:
    quote = PLATFORM.td(rtmrs=logged_rtmrs()).quote(REPORT_DATA)
    assert appraised(quote, event_log=json_log()).accepted
    assert replay_rtmr(parse_event_log(json_log())) == logged_rtmrs()
    if changed == {"event_type": 13}:  # the digest is then only stated, so its name proves nothing and is not claimed
        assert parse_event_log(json_log(**changed))[-1].name is None
        told: Any = appraised(quote, event_log=json_log(**changed)).claims["runtime_events"]
        assert told[-1] == {"digest": runtime_digest(*EVENTS[-1]).hex()}
    else:
        assert appraised(quote, event_log=json_log(**changed)).failed_step == "event-log"


@pytest.mark.parametrize(
    "log",
    [
        json_log(imr=4),
        json_log(imr=-1),
        json_log(imr="3"),
        json_log(event_type=1 << 32),
        json_log(digest=runtime_digest("another", b"").hex()),
        json_log(digest="00"),
        json_log(digest=None),
        json_log(event_type=13, digest=""),
        json_log(event_payload="0"),
        json_log(event=1),
        b"[1]",
        b"[",
        b'[{"imr": 0, "imr": 1}]',
        json.dumps([{}] * (MOST_EVENTS + 1)).encode(),
    ],
)
def test_another_list_is_malformed(log: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_event_log(log)
