"""The event log of a TD: what was measured into its run-time registers, one event after the other.

A log proves nothing by itself. Replayed, it must end in the register values that a quote proves; if it does, its
digests are what was measured, in that order. Names and data of events are proved only where the digest is computed
from them, as for the events that dstack measures into RTMR3.

Two forms are read: the binary log of the firmware, and the JSON list that dstack's guest agent hands out. In the list,
a runtime event of version 2 has its digest over canonical JSON; without a version it is of version 1.

Source: TCG PC Client Platform Firmware Profile 1.06, section 10 (crypto agile log); UEFI 2.11, section 38.4.1
(measurement registers of Intel TDX); ACPI 6.5, CCEL; dstack, commit 312dc605, crate ``cc-eventlog``,
``runtime_events.rs`` and ``tdx.rs`` (runtime events of version 1 and 2).
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from carnet_ref.attestation.documents import Document, parse_documents
from carnet_ref.attestation.event_logs import LARGEST_LOG, NO_ACTION, LoggedEvent, parse_agile_log
from carnet_ref.crypto.primitives import sha384
from carnet_ref.wire import MalformedError

SHA384_ID: Final = 0x0C
REGISTERS: Final = 4
REGISTER_BYTES: Final = 48
RUNTIME_EVENT: Final = 0x08000001  #: The type of dstack's events, whose digests commit to their names and payloads.
#: The versions of dstack's log: what a digest is computed from differs, and a log may have events of both.
FIRST_VERSION, CANONICAL_VERSION = 1, 2
#: What stands between the parts that are hashed in version 1, so a name that has one might end there.
SEPARATOR: Final = ":"
RUNTIME_RTMR: Final = 3  #: The register that is extended while a TD runs.
MOST_EVENTS: Final = 1 << 14


class MeasuredEvent(NamedTuple):
    """A measured event: its RTMR (0 to 3; None: MRTD), type, SHA-384 and data.

    ``name`` is that of a runtime event, whose digest commits to it and to the data; it is None where none does.
    """

    rtmr: int | None
    type: int
    digest: bytes
    data: bytes
    name: str | None = None


def parse_event_log(data: bytes) -> tuple[MeasuredEvent, ...]:
    """Read a log of either form. Raises MalformedError if it is something else, or has no SHA-384 digests.

    The firmware's ends where its buffer is unwritten: all zeros or all ones.
    """
    if len(data) > LARGEST_LOG:
        raise MalformedError("event log", f"at most {LARGEST_LOG} bytes", f"{len(data)}")
    if data.lstrip()[:1] == b"[":
        listed = parse_documents(data, "event log")
        if len(listed) > MOST_EVENTS:
            raise MalformedError("event log", f"at most {MOST_EVENTS} events", f"{len(listed)}")
        return tuple(map(_json_event, listed))
    log = parse_agile_log(data, REGISTERS + 1)
    if log.algorithms.get(SHA384_ID) != REGISTER_BYTES:
        raise MalformedError("event log header", "SHA-384 digests", f"algorithms {sorted(log.algorithms)}")
    return tuple(map(_firmware_event, log.events))


def _firmware_event(event: LoggedEvent) -> MeasuredEvent:
    if SHA384_ID not in event.digests:
        raise MalformedError("event log", "an event with a SHA-384 digest", f"algorithms {sorted(event.digests)}")
    register = event.register - 1 if event.register else None
    return MeasuredEvent(register, event.type, event.digests[SHA384_ID], event.data)


def _json_event(event: Document) -> MeasuredEvent:
    register, kind = event.number("imr"), event.number("event_type")
    if register >= REGISTERS or kind.bit_length() > 32:
        raise MalformedError("event log", f"imr below {REGISTERS} and a type of 32 bits", f"{register} and {kind}"[:80])
    name, payload = event.text("event"), event.octets("event_payload")
    stated = event.octets("digest")
    if kind != RUNTIME_EVENT:
        return MeasuredEvent(register, kind, event.octets("digest", REGISTER_BYTES), payload)
    version = event.number("version") if event.states("version") else FIRST_VERSION
    preimage = _preimage(version, name, payload)
    digest = sha384(preimage)
    if stated not in (b"", digest):
        raise MalformedError("event log", f"the digest of {name!r} and its payload"[:200], stated.hex()[:100])
    if event.states("preimage") and event.octets("preimage") != preimage:
        raise MalformedError("event log", f"what is hashed for {name!r} and its payload"[:200], "another preimage")
    is_proved = version > FIRST_VERSION or SEPARATOR not in name
    return MeasuredEvent(register, kind, digest, payload, name if is_proved else None)


def _preimage(version: int, name: str, payload: bytes) -> bytes:
    """Return what is hashed for a runtime event: from log version 2 on, canonical JSON as of RFC 8785."""
    if version == FIRST_VERSION:
        return SEPARATOR.encode().join((RUNTIME_EVENT.to_bytes(4, "little"), name.encode(), payload))
    if version != CANONICAL_VERSION:
        raise MalformedError("event log", f"version {FIRST_VERSION} or {CANONICAL_VERSION}", f"{version}"[:40])
    hashed = {"name": name, "payload": payload.hex(), "type": RUNTIME_EVENT}
    return json.dumps(hashed, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def replay_rtmr(events: Sequence[MeasuredEvent]) -> tuple[bytes, bytes, bytes, bytes]:
    """Return the values of RTMR0 to RTMR3 after these events, 48 bytes each.

    Each event extends its register: the new value is the SHA-384 of the old one followed by the event's digest.
    Remarks are measured nowhere.

    Source: Intel TDX Module ABI specification, TDG.MR.RTMR.EXTEND.
    """
    registers = [bytes(REGISTER_BYTES)] * REGISTERS
    for event in events:
        if event.rtmr is not None and event.type != NO_ACTION:
            registers[event.rtmr] = sha384(registers[event.rtmr] + event.digest)
    return registers[0], registers[1], registers[2], registers[3]
