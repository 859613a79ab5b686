"""The forms in which evidence is passed around: raw bytes, hexadecimal or base64 text, PEM, and JSON bundles.

Recognising a form decides nothing about the evidence; whatever comes out is read and appraised like raw bytes.
"""

from __future__ import annotations

import base64
import binascii
import string
from collections.abc import Mapping
from dataclasses import dataclass

from carnet_ref.wire.reader import MalformedError, json_value

LARGEST = 16 << 20
MOST_DEVICES = 256
"""Of a bundle; the largest machines at hand have twelve."""
PEM = b"-----BEGIN "
PRINTABLE = frozenset(string.printable.encode())
HEXADECIMAL = frozenset(string.hexdigits.encode())


@dataclass(frozen=True, slots=True)
class DeviceEvidence:
    """One device's part of a bundle.

    Attributes:
        name: what the bundle calls the device, or its place.
        report: the report, raw.
        chain: the certificates in PEM; ``None`` where the evidence is a report alone.
    """

    name: str
    report: bytes
    chain: bytes | None


def decode(data: bytes, what: str) -> bytes:
    """Return raw bytes out of raw bytes, hexadecimal text or base64 text.

    Raises:
        MalformedError: ``data`` is text of another kind, or too long.
    """
    if len(data) > LARGEST:
        raise MalformedError(what, f"at most {LARGEST} bytes", f"{len(data)}")
    if not data or not PRINTABLE.issuperset(data):
        return data
    text = bytes(data).translate(None, string.whitespace.encode())
    if HEXADECIMAL.issuperset(text) and len(text) % 2 == 0:
        return bytes.fromhex(text.decode())
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(what, "raw bytes, hexadecimal or base64", "other text") from None


def decode_pem(data: bytes, what: str) -> bytes:
    """Return PEM out of PEM or of base64 text that holds PEM.

    Raises:
        MalformedError: it is neither.
    """
    pem = data if PEM in data else decode(data, what)
    if PEM not in pem:
        raise MalformedError(what, "PEM, or base64 of PEM", "something else")
    return pem


def device_evidence(data: bytes) -> tuple[DeviceEvidence, ...]:
    """Return the reports in ``data``, with their chains if it is a JSON bundle.

    Two bundles are known: a list of objects with ``evidence`` and ``certificate`` (NVIDIA attestation SDK, remote
    attestation service), and an object with ``gpus`` and ``nvswitches`` (the Python verifier's objects, as JSON).

    Raises:
        MalformedError: ``data`` is JSON of another kind or text of no known form.
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        return (DeviceEvidence("report", decode(data, "attestation report"), None),)
    if len(data) > LARGEST:
        raise MalformedError("evidence bundle", f"at most {LARGEST} bytes", f"{len(data)}")
    try:
        bundle = json_value(data)
    except ValueError as error:
        raise MalformedError("evidence bundle", "JSON", " ".join(str(error).split())[:200]) from None
    devices = _service_bundle(bundle) if isinstance(bundle, list) else _verifier_bundle(bundle)
    if not devices:
        raise MalformedError("evidence bundle", "at least one device", "none")
    return devices


def _service_bundle(bundle: list[object]) -> tuple[DeviceEvidence, ...]:
    return tuple(
        DeviceEvidence(
            f"{place}",
            decode(_text(entry, "evidence"), "attestation report"),
            decode_pem(_text(entry, "certificate"), "certificate chain"),
        )
        for place, entry in enumerate(_so_many(bundle))
    )


def _verifier_bundle(bundle: object) -> tuple[DeviceEvidence, ...]:
    gpus = [
        (_at(gpu, "AttestationReport"), _at(_at(gpu, "CertificateChains"), "GpuAttestationCertificateChain"))
        for gpu in _so_many(_list(_at(bundle, "gpus", [])))
    ]
    switches = [
        (_at(switch, "attestation_report"), _at(switch, "attestation_cert_chain"))
        for switch in _so_many(_list(_at(bundle, "nvswitches", [])))
    ]
    return tuple(
        DeviceEvidence(
            f"{place}",
            decode(_text(report, "py/b64"), "attestation report"),
            b"".join(decode_pem(_text(certificate, "pem"), "certificate chain") for certificate in _list(chain)),
        )
        for place, (report, chain) in enumerate([*gpus, *switches])
    )


def _so_many(devices: list[object]) -> list[object]:
    if len(devices) > MOST_DEVICES:
        raise MalformedError("evidence bundle", f"at most {MOST_DEVICES} devices", f"{len(devices)}")
    return devices


def _at(value: object, key: str, default: object = None) -> object:
    if not isinstance(value, Mapping):
        raise MalformedError("evidence bundle", f"an object with {key}", type(value).__name__)
    found: object = value.get(key, default)
    return found


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise MalformedError("evidence bundle", "a list", type(value).__name__)
    return value


def _text(value: object, key: str) -> bytes:
    text = _at(value, key)
    if not isinstance(text, str):
        raise MalformedError("evidence bundle", f"{key} to be text", type(text).__name__)
    try:
        return text.encode("ascii")
    except UnicodeEncodeError:
        raise MalformedError("evidence bundle", f"{key} in ASCII", "other characters") from None
