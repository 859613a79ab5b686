"""Envelopes of dstack: what its guest agent answers to ``Attest``, in two versions of its wire format.

* Version 0 is SCALE: a zero byte, then fields one after the other, without names.
* Version 1 is MessagePack: objects with names, of which the first byte is a map's.

An envelope has the evidence of one platform, and what dstack's verifier needs besides: events, report data and
configuration. Nobody signs it. Out of it come the evidence, its certificates, the event log and the report data, with
which the evidence has to agree, and the rest is only read to know that the envelope is whole. The log is cut down: of
run-time registers it has RTMR3 whole, and of RTMR0 no more than three events.

Source: Dstack-TEE/dstack, commit 312dc605, ``dstack-attest/src/attestation.rs`` (version 0) and ``src/v1.rs`` (version
1), ``cc-eventlog/src/tdx.rs`` (events), ``tpm-types/src/lib.rs``; SCALE codec, "Compact/general integers"; MessagePack
specification, "Formats".
"""

import json
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from carnet_ref.attestation.documents import Document, decode
from carnet_ref.wire import MalformedError, Reader, bounded_json

WHAT: Final = "dstack envelope"
LARGEST: Final = 1 << 20
REPORT_DATA_BYTES: Final = 64
SCALE_VERSION: Final = 0
PACKED_VERSION: Final = 1
PACKED_MAPS: Final = (*range(0x80, 0x90), 0xDE, 0xDF)  #: The first bytes of a map in MessagePack.
DEEPEST: Final = 8

_Item = TypeVar("_Item")


class Platform(StrEnum):
    """The platforms of envelopes, by their names in version 1."""

    TDX = "tdx"
    GCP_TDX = "gcp-tdx"
    NITRO_ENCLAVE = "nitro-enclave"
    SEV_SNP = "sev-snp"
    AWS_NITRO_TPM = "aws-nitro-tpm"


TD_PLATFORMS: Final = (Platform.TDX, Platform.GCP_TDX)
#: The platforms by their numbers in version 0.
SCALE_PLATFORMS: Final = (
    Platform.TDX,
    Platform.GCP_TDX,
    Platform.NITRO_ENCLAVE,
    Platform.SEV_SNP,
    Platform.AWS_NITRO_TPM,
)
#: What the evidence of a platform is called in version 1.
EVIDENCE_NAMES: Final[Mapping[Platform, str]] = {
    Platform.TDX: "quote",
    Platform.GCP_TDX: "quote",
    Platform.NITRO_ENCLAVE: "nsm_quote",
    Platform.SEV_SNP: "report",
    Platform.AWS_NITRO_TPM: "attestation_doc",
}


class Envelope(NamedTuple):
    """The content of an envelope."""

    version: int  #: of the envelope.
    platform: Platform  #: whose evidence it is.
    evidence: bytes  #: a TDX quote, an SNP report, or a document of AWS Nitro.
    report_data: bytes  #: the 64 bytes that the evidence has to be asked with.
    certificates: tuple[bytes, ...] = ()  #: those beside an SNP report, in DER.
    #: the log beside a TDX quote, as the JSON list that the guest agent writes elsewhere; empty without.
    event_log: bytes = b""

    @property
    def name(self) -> str:
        """A short description of the envelope."""
        return f"an attestation answer of dstack, version {self.version}"

    def evidence_of(self, platforms: Collection[Platform], expected: str) -> bytes:
        """Return the evidence of one of some platforms.

        Raises MalformedError, which says what is ``expected``, if it is of another.
        """
        if self.platform not in platforms:
            raise MalformedError(self.name, expected, f"the evidence of the platform {self.platform}")
        return self.evidence


def is_envelope(data: bytes) -> bool:
    """Return whether bytes are an envelope."""
    try:
        parse_envelope(data)
    except MalformedError:
        return False
    return True


def envelope_in(data: bytes) -> Envelope:
    """Read an envelope: raw, as text, or in the JSON of an answer. Raises MalformedError if it is something else."""
    in_json = data.lstrip()[:1] == b"{"
    text = Document.parse(data, WHAT).text("attestation").encode() if in_json else data
    return parse_envelope(decode(text, WHAT))


def asked_with(data: bytes) -> bytes | None:
    """Return what the evidence in an envelope, or the quote in a getquote answer, has to be asked with, if it says so.

    The report data of an answer is 64 bytes in hexadecimal.
    """
    try:
        if data.lstrip()[:1] != b"{":
            return envelope_in(data).report_data
        match bounded_json(data, WHAT, LARGEST):
            case {"attestation": str()}:
                return envelope_in(data).report_data
            case {"quote": _, "event_log": _, "report_data": str() as text} if len(text) == 2 * REPORT_DATA_BYTES:
                return bytes.fromhex(text)
    except ValueError:
        pass
    return None


def parse_envelope(data: bytes) -> Envelope:
    """Read an envelope of either version. Raises MalformedError if it is something else, or not whole."""
    if len(data) > LARGEST:
        raise MalformedError(WHAT, f"at most {LARGEST} bytes", f"{len(data)}")
    if data[:1] == b"\0":
        return _in_scale(Reader(data[1:], WHAT))
    if data[:1] and data[0] in PACKED_MAPS:
        return _in_packs(data)
    raise MalformedError(WHAT, "version 0 (SCALE) or 1 (MessagePack)", f"the first byte {data[:1].hex() or 'missing'}")


def _in_scale(reader: Reader) -> Envelope:
    number = reader.number(1, "platform")
    if number >= len(SCALE_PLATFORMS):
        raise reader.malformed(f"a platform below {len(SCALE_PLATFORMS)}", f"{number}")
    platform = SCALE_PLATFORMS[number]
    evidence = _octets(reader, EVIDENCE_NAMES[platform])
    events = _several(reader, _scale_event) if platform in TD_PLATFORMS else []
    certificates: list[bytes] = []
    if platform is Platform.GCP_TDX:
        _skip_tpm_quote(reader)
    if platform is Platform.SEV_SNP:
        certificates = _several(reader, lambda entry: _octets(entry, "certificate"))
        _text(reader, "configuration of measurements")
    _several(reader, lambda entry: (_text(entry, "event"), _octets(entry, "payload")))
    report_data = reader.take(REPORT_DATA_BYTES, "report data")
    _text(reader, "configuration")
    reader.end()
    return Envelope(SCALE_VERSION, platform, evidence, report_data, tuple(certificates), _as_json(events))


def _scale_event(reader: Reader) -> Mapping[str, object]:
    """Read an event; this version has events of log version 1 alone."""
    return {
        "imr": reader.number(4, "imr"),
        "event_type": reader.number(4, "event type"),
        "digest": _octets(reader, "digest").hex(),
        "event": _text(reader, "event"),
        "event_payload": _octets(reader, "payload").hex(),
    }


def _skip_tpm_quote(reader: Reader) -> None:
    """Read over the quote of Google's vTPM."""
    _octets(reader, "message")
    _octets(reader, "signature")
    _several(reader, lambda pcr: (pcr.number(4, "index"), _text(pcr, "algorithm"), _octets(pcr, "value")))
    _octets(reader, "certificate")
    reader.number(1, "cloud")
    _several(reader, lambda event: (event.number(4, "register"), _octets(event, "digest")))


def _several(reader: Reader, read: Callable[[Reader], _Item]) -> list[_Item]:
    """Read a list; each item takes at least a byte, so no list is longer than what is left."""
    count = _length(reader)
    if count > reader.remaining:
        raise reader.malformed(f"at most {reader.remaining} items", f"{count}")
    return [read(reader) for _ in range(count)]


def _octets(reader: Reader, field: str) -> bytes:
    return reader.take(_length(reader), field)


def _text(reader: Reader, field: str) -> str:
    try:
        return _octets(reader, field).decode()
    except UnicodeDecodeError:
        raise reader.malformed(f"{field} in UTF-8", "other bytes") from None


def _length(reader: Reader) -> int:
    """Read a compact number: the low two bits of its first byte say how many bytes it has."""
    first = reader.number(1, "length")
    if first & 3 == 3:
        raise reader.malformed("a length below 2^30", "a larger one")
    rest = reader.number((0, 1, 3)[first & 3], "length")
    return (first | rest << 8) >> 2


def _as_json(events: list[Mapping[str, object]]) -> bytes:
    return json.dumps(events).encode() if events else b""


def _in_packs(data: bytes) -> Envelope:
    reader = Reader(data, WHAT, "big")
    document = _packed(reader, DEEPEST)
    reader.end()
    match document:
        case {"version": int(version)} if version != PACKED_VERSION:
            raise MalformedError(WHAT, f"version {PACKED_VERSION}", f"{version}")
        case {
            "version": 1,
            "platform": {"kind": str(kind), "data": Mapping() as inner},
            "stack": {"data": Mapping() as stack},
        }:
            return _of_platform(kind, inner, _packed_octets(stack, "report_data"))
    raise MalformedError(WHAT, "version, platform and stack", "another object")


def _of_platform(kind: str, data: Mapping[str, object], report_data: bytes) -> Envelope:
    if len(report_data) != REPORT_DATA_BYTES:
        raise MalformedError(WHAT, f"{REPORT_DATA_BYTES} bytes of report_data", f"{len(report_data)}")
    if kind not in set(Platform):
        raise MalformedError(WHAT, f"a platform out of {', '.join(Platform)}", ascii(kind)[:80])
    platform = Platform(kind)
    evidence = _packed_octets(data, EVIDENCE_NAMES[platform])
    events, chain = data.get("event_log", []), data.get("cert_chain", [])
    if not isinstance(events, list) or not isinstance(chain, list):
        raise MalformedError(WHAT, "event_log and cert_chain as lists", "something else")
    certificates = tuple(_packed_octets({"cert_chain": each}, "cert_chain") for each in chain)
    log = _as_json([_packed_event(event) for event in events])
    return Envelope(PACKED_VERSION, platform, evidence, report_data, certificates, log)


def _packed_event(event: object) -> Mapping[str, object]:
    if not isinstance(event, Mapping):
        raise MalformedError(WHAT, "an event as an object", type(event).__name__)
    octets = {name: _packed_octets(event, name).hex() for name in ("digest", "event_payload")}
    named = {name: event[name] for name in ("imr", "event_type", "event", "version", "preimage") if name in event}
    wrong = next((name for name, value in named.items() if not isinstance(value, int | str | None)), None)
    if wrong is not None:
        raise MalformedError(WHAT, f"{wrong} as a number or text", type(named[wrong]).__name__)
    return {**named, **octets}


def _packed_octets(data: Mapping[str, object], name: str) -> bytes:
    """Return bytes, which are written as such or as a list of numbers."""
    match data.get(name):
        case bytes() as value:
            return value
        case list() as numbers if all(type(each) is int and 0 <= each <= 0xFF for each in numbers):
            return bytes(numbers)
    raise MalformedError(WHAT, f"{name} as bytes", type(data.get(name)).__name__)


def _packed(reader: Reader, depth: int) -> object:
    """Read one value of MessagePack; extensions and floating-point numbers are in no envelope."""
    if not depth:
        raise reader.malformed(f"at most {DEEPEST} levels", "more")
    kind = reader.number(1, "type")
    if kind < 0x80 or kind >= 0xE0:
        return kind if kind < 0x80 else kind - 0x100
    if kind < 0x90:
        return _packed_map(reader, kind & 0xF, depth)
    if kind < 0xA0:
        return _packed_list(reader, kind & 0xF, depth)
    if kind < 0xC0:
        return _packed_text(reader, kind & 0x1F)
    return PACKED_CONSTANTS[kind] if kind in PACKED_CONSTANTS else _packed_sized(reader, kind, depth)


PACKED_CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}


def _packed_sized(reader: Reader, kind: int, depth: int) -> object:
    """Read a value whose size, or the size of whose length, is in its type."""
    match kind:
        case 0xC4 | 0xC5 | 0xC6:
            return reader.take(reader.number(1 << kind - 0xC4, "length"), "bytes")
        case 0xCC | 0xCD | 0xCE | 0xCF:
            return reader.number(1 << kind - 0xCC, "number")
        case 0xD9 | 0xDA | 0xDB:
            return _packed_text(reader, reader.number(1 << kind - 0xD9, "length"))
        case 0xDC | 0xDD:
            return _packed_list(reader, reader.number(2 << kind - 0xDC, "length"), depth)
        case 0xDE | 0xDF:
            return _packed_map(reader, reader.number(2 << kind - 0xDE, "length"), depth)
    raise reader.malformed("a map, list, text, bytes, whole number, true, false or nothing", f"type {kind:#x}")


def _packed_list(reader: Reader, count: int, depth: int) -> list[object]:
    if count > reader.remaining:
        raise reader.malformed(f"at most {reader.remaining} items", f"{count}")
    return [_packed(reader, depth - 1) for _ in range(count)]


def _packed_map(reader: Reader, count: int, depth: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for _ in range(count):
        name = _packed(reader, depth - 1)
        if not isinstance(name, str) or name in found:
            raise reader.malformed("each name once", ascii(name)[:80])
        found[name] = _packed(reader, depth - 1)
    return found


def _packed_text(reader: Reader, size: int) -> str:
    octets = reader.take(size, "text")
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise reader.malformed("text in UTF-8", "other bytes") from None
