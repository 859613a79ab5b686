"""What kind of evidence or document some bytes are, in words: for telling what came where another kind was expected.

A kind is told from a few bytes or names, so it is a guess. Nothing is accepted because of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from carnet_ref.attestation.documents import PEM, PRINTABLE, decode
from carnet_ref.wire import MalformedError, json_value

INTEL_QE_VENDOR: Final = bytes.fromhex("939a7233f79c4ca9940a0db3957f0607")
TDX_QUOTE: Final = "a quote of an Intel TDX virtual machine"
SGX_QUOTE: Final = "a quote of an SGX enclave"
NVIDIA_REPORT: Final = "the report of an NVIDIA device"
NVIDIA_EVIDENCE: Final = "a document with evidence of NVIDIA devices"
QUOTE_DOCUMENT: Final = "a document with a quote"
SNP_REPORT: Final = "an AMD SEV-SNP report"
AZURE_SNP: Final = "Azure's evidence of an AMD SEV-SNP virtual machine"
JWT: Final = re.compile(rb"eyJ[\w-]+\.[\w-]+\.[\w-]*")
OTHER_TEXT: Final = "other text"
SNP_BYTES: Final = 1184
SNP_VERSIONS: Final = range(1, 16)
NAMES_SHOWN: Final = 4
LONGEST_NAME: Final = 40

_JSON_KINDS: Final = (
    (("tpm_quote", "hcl_report", "td_quote"), "Azure's evidence of a TDX virtual machine"),
    (("hcl_report", "vcek"), AZURE_SNP),
    (("quote", "report", "vcek"), AZURE_SNP),
    (("attestation_report",), "a document with an AMD SEV-SNP report"),
    (("intel_quote",), QUOTE_DOCUMENT),
    (("quote",), QUOTE_DOCUMENT),
    (("vm_attestation_quote",), QUOTE_DOCUMENT),
    (("evidence_list",), NVIDIA_EVIDENCE),
    (("device_evidence_list",), NVIDIA_EVIDENCE),
    (("nvidia_payload",), NVIDIA_EVIDENCE),
    (("gpus",), NVIDIA_EVIDENCE),
    (("gpu",), NVIDIA_EVIDENCE),
    (("evidence", "certificate"), NVIDIA_EVIDENCE),
    (("tcbInfo",), "Intel's TCB info"),
    (("enclaveIdentity",), "Intel's identity of an enclave"),
    (("tcb_info", "qe_identity"), "Intel's collateral"),
    (("imr", "digest"), "an event of an event log"),
    (("eat_nonce",), "the claims of an attestation token, without its signature"),
    (("x5c",), "the certificates of an attestation token"),
    (("keys",), "a set of keys for tokens (JWKS)"),
)
"""What objects with all of these names are; the first row that fits counts."""


def kind_of(data: bytes) -> str:
    """Return what ``data`` seems to be, as words that fit behind "found"."""
    return known_kind(data) or (f"{len(data)} bytes of no known kind" if data else "nothing")


def known_kind(data: bytes) -> str | None:
    """Return what ``data`` seems to be, or nothing where it is of no known kind."""
    start = data.lstrip()[:1]
    if start in (b"{", b"["):
        try:
            return kind_of_value(json_value(data))
        except ValueError:
            return "broken JSON"
    if start == b"<":
        return "XML, such as NVIDIA's reference values"
    if PEM in data and PRINTABLE.issuperset(data):
        return "PEM, such as certificates"
    if JWT.fullmatch(data.strip()):
        return "an attestation token (JWT)"
    try:
        raw = decode(data, "evidence")
    except MalformedError:
        return OTHER_TEXT
    return next((name for name, fits in _RAW_KINDS if fits(raw)), None)


def is_sgx_quote(data: bytes) -> bool:
    """Return whether ``data`` begins like a quote of an SGX enclave: with Intel's vendor id and no TEE type."""
    return data[:2] in (b"\3\0", b"\4\0", b"\5\0") and data[4:8] == bytes(4) and data[12:28] == INTEL_QE_VENDOR


def _is_tdx_quote(data: bytes) -> bool:
    return data[:2] in (b"\4\0", b"\5\0") and data[4:8] == b"\x81\0\0\0"


def _is_snp_report(data: bytes) -> bool:
    version, algorithm = (int.from_bytes(data[place : place + 4], "little") for place in (0, 0x34))
    return len(data) >= SNP_BYTES and version in SNP_VERSIONS and algorithm == 1


def _is_azure(data: bytes) -> bool:
    return data[:4] == b"HCLA"


_RAW_KINDS: Final[tuple[tuple[str, Callable[[bytes], bool]], ...]] = (
    (TDX_QUOTE, _is_tdx_quote),
    (SGX_QUOTE, is_sgx_quote),
    (NVIDIA_REPORT, lambda data: data[:2] == b"\x11\xe0"),
    (
        "Azure's wrapping of an AMD SEV-SNP report (HCL)",
        lambda data: _is_azure(data) and _is_snp_report(data[32:]),
    ),
    ("Azure's wrapping of a report (HCL)", _is_azure),
    ("a TDREPORT, which only its own machine can check", lambda data: data[:4] == b"\x81\0\0\0"),
    (SNP_REPORT, _is_snp_report),
    ("a quote of a TPM", lambda data: data[:4] == b"\xffTCG"),
    ("an event log", lambda data: b"Spec ID Event03\0" in data[:64]),
    ("a COSE document, such as that of an AWS Nitro enclave", lambda data: data[:2] in (b"\x84\x44", b"\xd2\x84")),
    ("DER, such as a certificate", lambda data: data[:2] in (b"\x30\x81", b"\x30\x82")),
    ("XML, such as NVIDIA's reference values", lambda data: data.lstrip()[:1] == b"<"),
    ("PEM, such as certificates", lambda data: data[:11] == PEM),
)


def kind_of_value(value: object) -> str:
    """Return what a value out of JSON seems to be, as words that fit behind "found"."""
    match value:
        case [["JWT", *_], *_]:
            return "a token of NVIDIA's remote attestation service (NRAS)"
        case [Mapping() as first, *_]:
            inner = _kind_of_object(first)
            return f"a list that begins with {inner}" if inner else f"a list of objects with {_names(first)}"
        case {"platform": str(), "evidence": Mapping() as inner}:
            return kind_of_value(inner)
        case Mapping():
            part = next(iter(value.values()), None)
            inside = _kind_of_object(part) if isinstance(part, Mapping) else None
            unknown = f"an object with {_names(value)}" if value else "an empty object"
            return _kind_of_object(value) or inside or unknown
        case list():
            return "another list"
        case _:
            return f"a JSON {type(value).__name__}"


def _kind_of_object(value: Mapping[str, object]) -> str | None:
    return next((kind for names, kind in _JSON_KINDS if all(name in value for name in names)), None)


def _names(value: Mapping[str, object]) -> str:
    shown = [ascii(name[:LONGEST_NAME]) for name in list(value)[:NAMES_SHOWN]]
    return ", ".join(shown) + (", …" if len(value) > NAMES_SHOWN else "") if shown else "no names"
