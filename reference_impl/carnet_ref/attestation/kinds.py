"""What kind of evidence or document some bytes are, in words: for finding the format that reads them, and for errors.

A kind is told from a few bytes or names, so it is a guess. Nothing is accepted because of it, and nothing is refused
that its format reads. Each registered format names the kinds that it reads; what comes with evidence and is none is in
`COMPANIONS`, and what else no format reads in `UNREAD`.
"""

import base64
import codecs
import re
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from carnet_ref.attestation.documents import PEM, PRINTABLE, decode, text_encoding
from carnet_ref.wire import DoubledNameError, MalformedError, json_value

INTEL_QE_VENDOR: Final = bytes.fromhex("939a7233f79c4ca9940a0db3957f0607")
TDX_QUOTE: Final = "a quote of an Intel TDX virtual machine"
SGX_QUOTE: Final = "a quote of an SGX enclave"
QUOTE_DOCUMENT: Final = "a document with a quote"
DSTACK_ENVELOPE: Final = "an attestation answer of dstack"
AZURE_TDX: Final = "Azure's evidence of a TDX virtual machine"
TDREPORT: Final = "a TDREPORT, which only its own machine can check"
NVIDIA_REPORT: Final = "the report of an NVIDIA device"
NVIDIA_EVIDENCE: Final = "a document with evidence of NVIDIA devices"
NRAS_TOKEN: Final = "a token of NVIDIA's remote attestation service (NRAS)"
SNP_REPORT: Final = "an AMD SEV-SNP report"
NITRO_DOCUMENT: Final = "the document of an AWS Nitro enclave"
CORIM: Final = "a manifest of reference values (CoRIM)"
CCA_TOKEN: Final = "the attestation token of an Arm CCA realm"
NITROTPM_DOCUMENT: Final = "the document of an EC2 instance with NitroTPM"
SNP_DOCUMENT: Final = "a document with an AMD SEV-SNP report"
CSV: Final = "the evidence of a Hygon CSV virtual machine"
AZURE_SNP: Final = "Azure's evidence of an AMD SEV-SNP virtual machine"
AZURE_SNP_ALONE: Final = "Azure's evidence of an AMD SEV-SNP virtual machine without a quote of its vTPM"
HCL_SNP: Final = "Azure's wrapping of an AMD SEV-SNP report (HCL)"
HCL: Final = "Azure's wrapping of a report (HCL)"
RUNTIME_DATA: Final = "the run-time data of an Azure virtual machine"
TPM_QUOTE: Final = "a quote of a TPM"
TPM_DOCUMENT: Final = "a document with quotes of a TPM"
SIGNED_WRAPPER: Final = "a signed conceptual message wrapper (CMW)"
SIGNED_JSON: Final = "application/cmw+json"
SIGNED_CBOR: Final = b"application/cmw+cbor"
COSE: Final = "a COSE document of no known kind"
XML: Final = "XML, such as NVIDIA's reference values"
RIM_ANSWER: Final = "an answer of NVIDIA's RIM service"
EAR_TOKEN: Final = "a signed attestation result (EAR)"
GOOGLE_TOKEN: Final = "a token of Google Cloud Attestation, as Confidential Space has"
INTEL_TOKEN: Final = "a token of Intel Trust Authority"
AZURE_TOKEN: Final = "a token of Microsoft Azure Attestation"
JWT_TOKEN: Final = "an attestation token (JWT)"
TCB_INFO: Final = "Intel's TCB info"
ENCLAVE_IDENTITY: Final = "Intel's identity of an enclave"
COLLATERAL: Final = "Intel's collateral"
EVENT_LOG: Final = "an event log"
CANONICAL_LOG: Final = "a canonical event log (CEL)"
LOG_EVENT: Final = "an event of an event log"
LOG_EVENTS: Final = f"a list that begins with {LOG_EVENT}"
CLAIMS: Final = "the claims of an attestation token, without its signature"
TOKEN_CERTIFICATES: Final = "the certificates of an attestation token"
JWKS: Final = "a set of keys for tokens (JWKS)"
CERTIFICATE: Final = "DER, such as a certificate"
CERTIFICATES: Final = "PEM, such as certificates"
REVOCATION_LIST: Final = "a list of revoked certificates (CRL)"
OCSP_REPLY: Final = "an OCSP reply"
PUBLIC_KEY: Final = "a public key"
BROKEN_JSON: Final = "broken JSON"
DOUBLED_JSON: Final = "JSON in which a name comes twice in one object"
WIDE_TEXT: Final = "text in UTF-16, or with a byte order mark"
ARCHIVE: Final = "a compressed file"
OLD_LOG: Final = "an event log of TCG 1.2, which has digests of SHA-1 alone"
OTHER_TEXT: Final = "other text"
JWT: Final = re.compile(rb"eyJ[\w-]+\.[\w-]+\.[\w-]*")
SNP_BYTES: Final = 1184
SNP_VERSIONS: Final = range(1, 16)
NAMES_SHOWN: Final = 4
LONGEST_NAME: Final = 40
#: Kinds that no format reads and that are no evidence, or none for others: what each goes with, or what to give.
COMPANIONS: Final = {
    SIGNED_WRAPPER: "Carnet knows nobody who signs wrappers; give what is in it",
    SGX_QUOTE: "Carnet reads quotes of TDX virtual machines alone",
    TDREPORT: "ask the machine for a quote, which others can check, and give that to carnet attest tdx",
    TCB_INFO: "it goes with a quote: carnet attest tdx QUOTE --collateral FILE",
    ENCLAVE_IDENTITY: "it goes with a quote: carnet attest tdx QUOTE --collateral FILE",
    COLLATERAL: "it goes with a quote: carnet attest tdx QUOTE --collateral FILE",
    CORIM: "it goes with a token: carnet attest cca TOKEN --reference FILE",
    EVENT_LOG: "it goes with a quote: carnet attest tdx QUOTE --event-log FILE, or carnet attest tpm",
    CANONICAL_LOG: "Carnet replays no such logs; what it says is not compared",
    OLD_LOG: "Carnet reads those that begin with their specification, as firmware of TPM 2.0 and of TDX writes them",
    LOG_EVENT: "a list of them goes with a quote: carnet attest tdx QUOTE --event-log FILE",
    LOG_EVENTS: "it goes with a quote: carnet attest tdx QUOTE --event-log FILE",
    HCL: "Carnet reads it where an AMD SEV-SNP report is in it; of a TDX virtual machine it goes with the quotes, as "
    "hcl_report of Azure's evidence",
    RUNTIME_DATA: "nobody signs it; give the evidence whose report is over its hash",
    CLAIMS: "nobody signed them; give the token that they came in",
    TOKEN_CERTIFICATES: "they go with a token, and count only where its verifier is trusted",
    JWKS: "they go with a token: carnet attest result TOKEN --key FILE",
    CERTIFICATE: "a chain goes with a report (--chain), a root with any evidence (--trust-anchor)",
    CERTIFICATES: "a chain goes with a report (--chain), a root with any evidence (--trust-anchor)",
    REVOCATION_LIST: "it goes with evidence: carnet attest tdx QUOTE --collateral FILE, or snp REPORT --crl FILE",
    OCSP_REPLY: "it goes with a report: carnet attest gpu REPORT --ocsp FILE",
    PUBLIC_KEY: "a verifier's goes with its token (--key), that of a TPM with its quote (--ak)",
}
#: Kinds that no format reads and that may be evidence, so that nothing they come with is accepted: what to do.
UNREAD: Final = {
    WIDE_TEXT: "save it as UTF-8 without a byte order mark",
    ARCHIVE: "give what is in it",
    CSV: "Carnet reads no evidence of Hygon's processors",
    DOUBLED_JSON: "readers may differ in which of the two counts",
}
#: Kinds that do not tell which format reads the evidence: it is the first that can parse it.
UNDECIDED: Final = frozenset({DSTACK_ENVELOPE, JWT_TOKEN})

#: What a report of Linux's configfs-tsm has, by what the kernel calls its provider, with a newline behind.
TSM_KINDS: Final = {"tdx_guest": QUOTE_DOCUMENT, "sev_guest": SNP_DOCUMENT}
#: What objects with all of these names are; the first rows are the most telling, and leave the rest fewer names.
_JSON_KINDS: Final = (
    (("tpm_quote", "hcl_report", "td_quote"), AZURE_TDX),
    (("hcl_report", "vcek", "quote"), AZURE_SNP),
    (("hcl_report", "vcek", "tpm_quote"), AZURE_SNP),
    (("hcl_report", "vcek"), AZURE_SNP_ALONE),
    (("quote", "report", "vcek"), AZURE_SNP),
    (("attestation_report",), SNP_DOCUMENT),
    (("intel_quote",), QUOTE_DOCUMENT),
    (("quote",), QUOTE_DOCUMENT),
    (("td_quote",), QUOTE_DOCUMENT),
    (("vm_attestation_quote",), QUOTE_DOCUMENT),
    (("vmAttestationQuote",), QUOTE_DOCUMENT),
    (("tdx_attestation",), QUOTE_DOCUMENT),
    (("tdxAttestation",), QUOTE_DOCUMENT),
    (("header", "td_quote_body"), QUOTE_DOCUMENT),
    (("header", "tdQuoteBody"), QUOTE_DOCUMENT),
    (("header", "td_quote_body_descriptor"), QUOTE_DOCUMENT),
    (("header", "tdQuoteBodyDescriptor"), QUOTE_DOCUMENT),
    (("sev_snp_attestation",), SNP_DOCUMENT),
    (("sevSnpAttestation",), SNP_DOCUMENT),
    (("report", "certificate_chain"), SNP_DOCUMENT),
    (("report", "certificateChain"), SNP_DOCUMENT),
    (("attestation",), DSTACK_ENVELOPE),
    (("evidence_list",), NVIDIA_EVIDENCE),
    (("device_evidence_list",), NVIDIA_EVIDENCE),
    (("device_reports",), NVIDIA_EVIDENCE),
    (("deviceReports",), NVIDIA_EVIDENCE),
    (("nvidia_payload",), NVIDIA_EVIDENCE),
    (("gpus",), NVIDIA_EVIDENCE),
    (("nvswitches",), NVIDIA_EVIDENCE),
    (("gpu",), NVIDIA_EVIDENCE),
    (("evidences",), NVIDIA_EVIDENCE),
    (("gpu_evidence",), NVIDIA_EVIDENCE),
    (("nvidia_gpu",), NVIDIA_EVIDENCE),
    (("evidence", "certificate"), NVIDIA_EVIDENCE),
    (("ak_public", "tpm_quote"), TPM_DOCUMENT),
    (("quotes", "akPub"), TPM_DOCUMENT),
    (("quotes", "ak_pub"), TPM_DOCUMENT),
    (("id", "rim", "sha256"), RIM_ANSWER),
    (("tcbInfo",), TCB_INFO),
    (("enclaveIdentity",), ENCLAVE_IDENTITY),
    (("tcb_info", "qe_identity"), COLLATERAL),
    (("imr", "digest"), LOG_EVENT),
    (("detached_eat",), NRAS_TOKEN),
    (("eat_nonce",), CLAIMS),
    (("iss", "exp"), CLAIMS),
    (("x5c",), TOKEN_CERTIFICATES),
    (("keys", "vm-configuration"), RUNTIME_DATA),
    (("keys",), JWKS),
    (("payload", "protected", "signature"), SIGNED_WRAPPER),
)


class LayerRole(StrEnum):
    """The role of a layer in a file, from the outermost to the innermost."""

    WRAPPER = "wrapper"
    ENCODING = "encoding"
    FORMAT = "format"
    DOCUMENT = "document"
    VERSION = "version"
    PRODUCT = "product"


class Layer(NamedTuple):
    """One layer of a file, described in a few words that may contain untrusted text."""

    role: LayerRole
    name: str


class Identified(NamedTuple):
    """The recognised layers and kinds of some bytes, as far as can be told without parsing.

    ``data`` is what a format is given; of several kinds, the first is the most telling.
    """

    data: bytes
    layers: tuple[Layer, ...]
    kinds: tuple[str, ...]


def identify(data: bytes) -> Identified:
    """Return the recognised layers and kinds of ``data``."""
    found = kinds_of(data)
    what = found[0] if found else kind_of(data)
    return Identified(data, (Layer(LayerRole.ENCODING, _encoding(data)), Layer(LayerRole.FORMAT, what)), found)


def _encoding(data: bytes) -> str:
    """Return how ``data`` is written."""
    start = data.lstrip()[:1]
    if start in (b"{", b"["):
        return "JSON"
    if start == b"<":
        return "XML"
    if not data or not PRINTABLE.issuperset(data):
        return "raw bytes"
    if PEM in data:
        return "PEM"
    if JWT.fullmatch(data.strip()):
        return "a compact token (JWS)"
    return text_encoding(data) or "text"


def kind_of(data: bytes) -> str:
    """Return the kind of ``data`` in words that fit after "found"."""
    return known_kind(data) or (f"{len(data)} bytes of no known kind" if data else "nothing")


def known_kind(data: bytes) -> str | None:
    """Return the most specific kind of ``data``, or None if it is unknown."""
    return next(iter(kinds_of(data)), None)


def kinds_of(data: bytes) -> tuple[str, ...]:
    """Return the kinds of ``data``, the most specific first; only a JSON document has several."""
    start = data.lstrip()[:1]
    if start in (b"{", b"["):
        try:
            return kinds_of_value(json_value(data))
        except DoubledNameError:
            return (DOUBLED_JSON,)
        except ValueError:
            return (BROKEN_JSON,)
    if start == b"<":
        return (XML,)
    if PEM in data and PRINTABLE.issuperset(data):
        first = data.partition(PEM)[2].partition(b"-----")[0]
        return (_PEM_KINDS.get(first, CERTIFICATES),)
    if JWT.fullmatch(data.strip()):
        return (_kind_of_token(data.strip()),)
    try:
        raw = decode(data, "evidence")
    except MalformedError:
        return (OTHER_TEXT,)
    return tuple(name for name, fits in _RAW_KINDS if fits(raw))[:1]


def _kind_of_token(compact: bytes) -> str:
    """Return what a token seems to be, by the type of its content or by names of its claims."""
    header, claims, _ = map(_object_of_token, compact.split(b"."))
    if header.get("cty") == SIGNED_JSON:
        return SIGNED_WRAPPER
    return next((kind for names, kind in _TOKEN_KINDS if set(claims) & names), JWT_TOKEN)


def _object_of_token(part: bytes) -> Mapping[str, object]:
    """Return the object in a part of a token; an empty one where it has none."""
    try:
        value = json_value(base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4)))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


_TOKEN_KINDS: Final = (
    (frozenset({"ear_verifier_id", "ear.verifier-id"}), EAR_TOKEN),
    (frozenset({"x-nvidia-ver", "x-nvidia-overall-att-result"}), NRAS_TOKEN),
    (frozenset({"x-ms-ver", "x-ms-attestation-type", "x-ms-policy-hash"}), AZURE_TOKEN),
    (frozenset({"verifier_instance_ids", "policy_ids_matched", "attester_type"}), INTEL_TOKEN),
    (frozenset({"google_service_accounts", "swname", "swversion"}), GOOGLE_TOKEN),
)


def is_sgx_quote(data: bytes) -> bool:
    """Return whether ``data`` begins with the header of an SGX quote: Intel's vendor id and no TEE type."""
    return data[:2] in (b"\3\0", b"\4\0", b"\5\0") and data[4:8] == bytes(4) and data[12:28] == INTEL_QE_VENDOR


def _is_tdx_quote(data: bytes) -> bool:
    return data[:2] in (b"\4\0", b"\5\0") and data[4:8] == b"\x81\0\0\0"


def _is_snp_report(data: bytes) -> bool:
    version, algorithm = (int.from_bytes(data[place : place + 4], "little") for place in (0, 0x34))
    return len(data) >= SNP_BYTES and version in SNP_VERSIONS and algorithm == 1


def _is_envelope(data: bytes) -> bool:
    """Return whether dstack's guest agent answered ``data``: SCALE from a zero on, or a map in MessagePack."""
    if data[:1] != b"\0" and b"\xa8platform" not in data[:32]:
        return False
    from carnet_ref.attestation.dstack import is_envelope

    return is_envelope(data)


def _is_azure(data: bytes) -> bool:
    return data[:4] == b"HCLA"


_PEM_KINDS: Final = {b"X509 CRL": REVOCATION_LIST, b"PUBLIC KEY": PUBLIC_KEY}
#: The beginning of a sequence in DER. An OCSP reply begins with its status, a list of version 2 with its version.
_SEQUENCE: Final = rb"\x30(?:\x81.|\x82..)"


_RAW_KINDS: Final[tuple[tuple[str, Callable[[bytes], bool]], ...]] = (
    (TDX_QUOTE, _is_tdx_quote),
    (SGX_QUOTE, is_sgx_quote),
    (NVIDIA_REPORT, lambda data: data[:2] == b"\x11\xe0"),
    (
        HCL_SNP,
        lambda data: _is_azure(data) and _is_snp_report(data[32:]),
    ),
    (HCL, _is_azure),
    (TDREPORT, lambda data: data[:4] == b"\x81\0\0\0"),
    (SNP_REPORT, _is_snp_report),
    (TPM_QUOTE, lambda data: data[:4] == b"\xffTCG"),
    (EVENT_LOG, lambda data: b"Spec ID Event03\0" in data[:64]),
    (CANONICAL_LOG, lambda data: data[:13] == bytes(4) + b"\x08" + bytes(8) and data[13:14] in (b"\1", b"\x6c")),
    (OLD_LOG, lambda data: data[:8] == bytes(4) + b"\x08\0\0\0" or b"Spec ID Event00\0" in data[:64]),
    (WIDE_TEXT, lambda data: data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))),
    (ARCHIVE, lambda data: data.startswith((b"\x1f\x8b\x08", b"PK\3\4", b"\x28\xb5\x2f\xfd"))),
    (CORIM, lambda data: data[:3] == b"\xd9\x01\xf5" or b"application/rim+cbor" in data[:64]),
    (CCA_TOKEN, lambda data: data[:3] in (b"\xd9\x01\x8f", b"\xd9\x03\x8b") and b"\x19\xac\xca" in data[:16]),
    (NITROTPM_DOCUMENT, lambda data: _is_nitro(data) and b"\x6dnitrotpm_pcrs" in data),
    (NITRO_DOCUMENT, lambda data: _is_nitro(data) and b"\x64pcrs" in data),
    (SIGNED_WRAPPER, lambda data: data[:2] in (b"\x84\x58", b"\xd2\x84") and SIGNED_CBOR in data[:64]),
    (COSE, lambda data: data[:2] in (b"\x84\x44", b"\xd2\x84")),
    (OCSP_REPLY, lambda data: bool(re.match(_SEQUENCE + rb"\x0a\x01", data, re.DOTALL))),
    (REVOCATION_LIST, lambda data: bool(re.match(2 * _SEQUENCE + rb"\x02\x01\x01\x30", data, re.DOTALL))),
    (CERTIFICATE, lambda data: data[:2] in (b"\x30\x81", b"\x30\x82")),
    (XML, lambda data: data.lstrip()[:1] == b"<"),
    (CERTIFICATES, lambda data: data[:11] == PEM),
    (DSTACK_ENVELOPE, _is_envelope),
)


def _is_nitro(data: bytes) -> bool:
    """Return whether ``data`` begins like a COSE_Sign1, tagged or not, with ES384 and a module of AWS's system."""
    return data.removeprefix(b"\xd2")[:7] == b"\x84\x44\xa1\x01\x38\x22\xa0" and b"\x69module_id" in data


def kind_of_value(value: object) -> str:
    """Return the kind of a JSON value in words that fit after "found"."""
    return kinds_of_value(value)[0]


def kinds_of_value(value: object) -> tuple[str, ...]:
    """Return the kinds of a JSON value, the most specific first; there is at least one."""
    match value:
        case [["JWT", *_], *_]:
            return (NRAS_TOKEN,)
        case [Mapping() as first, *_]:
            inner = kinds_of_object(first)
            if NVIDIA_EVIDENCE in inner:
                return (NVIDIA_EVIDENCE,)
            return (f"a list that begins with {inner[0]}" if inner else f"a list of objects with {_names(first)}",)
        case {"platform": str(), "evidence": Mapping() as inner, **beside}:
            return tuple(dict.fromkeys((*kinds_of_value(inner), *kinds_of_object(beside), *_kinds_of_parts(beside))))
        case {"outblob": str(), "provider": str() as provider, **beside} if provider.strip() in TSM_KINDS:
            return tuple(dict.fromkeys((TSM_KINDS[provider.strip()], *kinds_of_object(beside))))
        case {"attestation_report": _, "cert_chain": _, "serial_number": _, **rest} if rest.keys() <= {"cc_eventlog"}:
            return (CSV,)
        case Mapping():
            return kinds_of_object(value) or _kinds_of_parts(value) or (_unknown_object(value),)
        case list():
            return ("another list",)
        case _:
            return (f"a JSON {type(value).__name__}",)


def kinds_of_object(names: Collection[object]) -> tuple[str, ...]:
    """Return what an object with these names, or this object, seems to be, the most telling first."""
    left, found = set(names), []
    for needed, kind in _JSON_KINDS:
        if left.issuperset(needed):
            left.difference_update(needed)
            found.append(kind)
    return tuple(dict.fromkeys(found))


def _kinds_of_parts(value: Mapping[Any, object]) -> tuple[str, ...]:
    """Return what the objects in an object are, where they are of known kinds."""
    parts = (part for part in value.values() if isinstance(part, Mapping))
    return tuple(dict.fromkeys(kind for part in parts for kind in kinds_of_object(part)))


def _unknown_object(value: Mapping[str, object]) -> str:
    return f"an object with {_names(value)}" if value else "an empty object"


def _names(value: Mapping[str, object]) -> str:
    shown = [ascii(name[:LONGEST_NAME]) for name in list(value)[:NAMES_SHOWN]]
    return ", ".join(shown) + (", …" if len(value) > NAMES_SHOWN else "") if shown else "no names"
