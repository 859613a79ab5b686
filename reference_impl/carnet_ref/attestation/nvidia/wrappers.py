"""The documents in which services and tools deliver the reports of NVIDIA devices, with their certificates.

Nobody signs such a document. Out of it come a report and certificates for each device, and these are appraised as if
they had come alone. Nothing else in it is believed: neither the nonce that it names nor its version numbers.

Source: NVIDIA attestation SDK, serialised evidence; NVIDIA Remote Attestation Service API, version 3, "attest/gpu";
NVIDIA nvtrust, local verifier (objects written by jsonpickle); answers of dstack's and Phala's services.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.documents import LARGEST, decode, decode_pem
from carnet_ref.attestation.kinds import NVIDIA_REPORT, OTHER_TEXT, kind_of_value, known_kind
from carnet_ref.wire import MalformedError, bounded_json

MOST_DEVICES: Final = 256
"""Of a document; the largest machines at hand have twelve."""
WHAT: Final = "GPU evidence"
REPORT: Final = "attestation report"
CHAIN: Final = "certificate chain"
EXPECTED: Final = (
    "a report, or JSON with devices: a list or one object with evidence and certificate, "
    "evidence_list, gpus, evidences, gpu or nvidia_payload"
)

SERIALISED: Final = "a list of devices as NVIDIA's SDKs write it"
ONE_DEVICE: Final = "an object with the evidence and certificate of one device"
REQUEST: Final = "a request to NVIDIA's remote attestation service"
VERIFIER: Final = "the objects of NVIDIA's Python verifier"
EVIDENCES: Final = "an attestation document with a list of evidences"
PAYLOAD: Final = "an attestation answer with an nvidia_payload"
LISTS: Final = {"evidence_list": REQUEST, "evidences": EVIDENCES, "gpu_evidence": EVIDENCES}
"""Names under which a list of devices lies, and what documents have them."""


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """One device's part of a document, or a report that came alone.

    Attributes:
        name: the place of the device in the document, from 0.
        report: the report, raw.
        chain: the certificates in PEM; ``None`` where the evidence is a report alone.
        found_in: what kind of document the report lay in, and where in it; ``None`` where it came alone.
    """

    name: str
    report: bytes
    chain: bytes | None
    found_in: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """The devices of a document, each as a report in base64 and certificates in PEM or base64 of PEM."""

    document: str
    devices: Sequence[tuple[bytes, Sequence[bytes]]]


def device_evidence(data: bytes) -> tuple[DeviceEvidence, ...]:
    """Return the reports in ``data``, with their certificates if it is a JSON document.

    Raises MalformedError if ``data`` is another document, evidence of another kind, or text of no known form.
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        return (_alone(data),)
    found = _found(bounded_json(data, "evidence document", LARGEST))
    if not found.devices:
        raise MalformedError(found.document, "at least one device", "none")
    return tuple(_device(found, place) for place in range(len(found.devices)))


def _alone(data: bytes) -> DeviceEvidence:
    kind = known_kind(data)
    if kind not in (NVIDIA_REPORT, OTHER_TEXT, None):
        raise MalformedError(REPORT, NVIDIA_REPORT, kind)
    return DeviceEvidence("report", decode(data, REPORT), None)


def _device(found: _Found, place: int) -> DeviceEvidence:
    report, chain = found.devices[place]
    where = f", device {place} of {len(found.devices)}" if len(found.devices) > 1 else ""
    return DeviceEvidence(
        f"{place}",
        decode(report, REPORT),
        b"".join(decode_pem(certificate, CHAIN) for certificate in chain),
        found.document + where,
    )


def _found(document: object) -> _Found:
    """Return the devices of any document that is known."""
    if isinstance(document, list) or not isinstance(document, Mapping):
        return _plain(document)
    known = [name for name in (*LISTS, "evidence", "gpus", "gpu", "nvidia_payload") if name in document]
    if "nvswitches" in document and "gpus" not in known:
        known.append("gpus")
    if len(known) > 1:
        raise MalformedError(WHAT, "one set of devices", f"{' and '.join(known)}: readers may differ in which counts")
    match known:
        case ["gpus"]:
            return _verifier_objects(document)
        case ["gpu"]:
            return _by_kind(document)
        case ["nvidia_payload"]:
            payload = document["nvidia_payload"]
            inner = bounded_json(payload, "nvidia_payload", LARGEST) if isinstance(payload, str) else payload
            found = _plain(inner)
            return _Found(f"{PAYLOAD}, {found.document}", found.devices)
        case _:
            return _plain(document)


def _plain(document: object) -> _Found:
    """Return the devices of a document that is a list, has one by a known name, or is itself one device."""
    match document:
        case [{"evidence": _}, *_] | [{"certificate": _}, *_]:
            return _Found(SERIALISED, _entries(document, SERIALISED))
        case []:
            return _Found(SERIALISED, ())
        case {"evidence": str()} | {"certificate": str()}:
            return _Found(ONE_DEVICE, [_entry(document, ONE_DEVICE)])
        case Mapping():
            name = next((name for name in LISTS if name in document), None)
            if name is not None:
                return _Found(LISTS[name], _entries(document[name], LISTS[name]))
    raise MalformedError(WHAT, EXPECTED, kind_of_value(document))


def _by_kind(document: Mapping[str, object]) -> _Found:
    """Return the devices of a document that has a list of evidences for GPUs, and perhaps one for switches."""
    lists = [_at(document[name], "evidences", EVIDENCES) for name in ("gpu", "nvswitch") if name in document]
    return _Found(EVIDENCES, [entry for each in lists for entry in _entries(each, EVIDENCES)])


def _verifier_objects(document: Mapping[str, object]) -> _Found:
    gpus = [
        (_at(gpu, "AttestationReport"), _at(_at(gpu, "CertificateChains"), "GpuAttestationCertificateChain"))
        for gpu in _so_many(document.get("gpus", []), VERIFIER)
    ]
    switches = [
        (_at(switch, "attestation_report"), _at(switch, "attestation_cert_chain"))
        for switch in _so_many(document.get("nvswitches", []), VERIFIER)
    ]
    devices = [
        (
            _text(report, "py/b64", VERIFIER),
            [_text(certificate, "pem", VERIFIER) for certificate in _list(chain, VERIFIER)],
        )
        for report, chain in (*gpus, *switches)
    ]
    return _Found(VERIFIER, devices)


def _entries(entries: object, what: str) -> list[tuple[bytes, Sequence[bytes]]]:
    return [_entry(entry, what) for entry in _so_many(entries, what)]


def _entry(entry: object, what: str) -> tuple[bytes, Sequence[bytes]]:
    return _text(entry, "evidence", what), [_text(entry, "certificate", what)]


def _so_many(devices: object, what: str) -> list[object]:
    found = _list(devices, what)
    if len(found) > MOST_DEVICES:
        raise MalformedError(what, f"at most {MOST_DEVICES} devices", f"{len(found)}")
    return found


def _at(value: object, key: str, what: str = VERIFIER) -> object:
    if not isinstance(value, Mapping) or key not in value:
        raise MalformedError(what, f"an object with {key}", kind_of_value(value))
    found: object = value[key]
    return found


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise MalformedError(what, "a list", kind_of_value(value))
    return value


def _text(value: object, key: str, what: str) -> bytes:
    text = _at(value, key, what)
    if not isinstance(text, str):
        raise MalformedError(what, f"{key} to be text", kind_of_value(text))
    try:
        return text.encode("ascii")
    except UnicodeEncodeError:
        raise MalformedError(what, f"{key} in ASCII", "other characters") from None
