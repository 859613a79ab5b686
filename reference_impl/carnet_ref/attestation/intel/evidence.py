"""Evidence of an Intel TDX virtual machine: a quote alone, or in one of the documents that deliver quotes.

Nobody signs these documents. The quote in one is appraised as if it had come alone, and a log of dstack's beside it is
replayed against the quote. What else a document has is not believed; where relying parties lean on it, as on Azure's
vTPM quote or on the evidence of GPUs, the appraisal lists that it was not read.

A quote that is given as the fields of a message is put together again, so that signatures are checked over its bytes.

Source: dstack guest agent, ``GetQuote`` and ``Attest``, and attestation answers that carry its quote;
confidential-containers/trustee, evidence of Azure's TDX vTPM and of TDX guests; google/go-tpm-tools, commit 67670e5c,
``proto/attest.proto``, and GoogleCloudPlatform/confidential-space, ``server/proto/attestation.proto`` (attestations of
a virtual machine); google/go-tdx-guest, commit 91f9a52f, ``proto/tdx.proto`` (a quote as a message); Intel Trust
Authority client for Python, commit a0fc869, ``connector.py`` (requests with a quote and with GPUs), ``tdx_adapter.py``
and ``azure_tdx_adapter.py`` (report data); confidential-dot-ai/attestation-rs, commit 67ee36f8, ``types.rs`` (evidence
with the name of its platform).
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from carnet_ref.attestation import kinds
from carnet_ref.attestation.appraisal import NO_GPU_EVIDENCE, NO_VTPM_QUOTE, NOT_READ, UnappraisedPart, unread_members
from carnet_ref.attestation.documents import LARGEST, decode
from carnet_ref.attestation.dstack import TD_PLATFORMS, Envelope, Platform, parse_envelope
from carnet_ref.attestation.protojson import Message
from carnet_ref.wire import MalformedError, bounded_json

WHAT: Final = "TDX quote"
EXPECTED: Final = "a quote, or JSON that has one as quote, intel_quote, td_quote, vm_attestation_quote or attestation"
DSTACK: Final = "a getquote answer of dstack"
ANSWER: Final = "an attestation answer with an intel_quote"
AZURE: Final = "Azure's evidence of a TDX virtual machine with a vTPM"
GOOGLE: Final = "Google's attestation of a TDX virtual machine"
GOOGLE_TPM: Final = "Google's attestation of a TDX virtual machine by its vTPM"
MESSAGE: Final = "a quote as a message of Google's go-tdx-guest"
TRUST_AUTHORITY: Final = "a request to Intel Trust Authority"
CONTAINERS: Final = "the evidence of a Confidential Containers guest"
KERNEL: Final = "a report of Linux's configfs-tsm"
OTHER: Final = "an object with a quote"

VTPM: Final = UnappraisedPart("the vTPM quote and the HCL report beside it", NO_VTPM_QUOTE)
VTPM_QUOTE: Final = UnappraisedPart("the vTPM quote beside it", NO_VTPM_QUOTE)
LOGS: Final = UnappraisedPart("the event logs beside it", "event log not replayed")
GPUS: Final = UnappraisedPart("the evidence of NVIDIA devices beside it", NO_GPU_EVIDENCE)
#: Names under which documents have a quote; where a document has two of these, readers may differ in which counts.
QUOTES: Final = (
    ("quote",),
    ("outblob",),
    ("intel_quote",),
    ("td_quote",),
    ("vm_attestation_quote", "vmAttestationQuote"),
    ("attestation",),
    ("tdx",),
    ("tdx_attestation", "tdxAttestation"),
    ("td_quote_body", "tdQuoteBody", "td_quote_body_descriptor", "tdQuoteBodyDescriptor"),
)
#: Names under which documents have evidence of GPUs beside a quote.
GPU_NAMES: Final = (
    "nvidia_payload",
    "gpu_evidence",
    "gpu",
    "gpus",
    "nvswitches",
    "evidence_list",
    "device_evidence_list",
    "nvgpu",
    "nvidia_gpu",
    "device_reports",
    "deviceReports",
)
EMPTY: Final[tuple[object, ...]] = (None, "", "{}", "[]", {}, [])
AZURE_PLATFORM: Final = "az-tdx"
#: What documents with the name of a platform call that of a quote.
PLATFORMS: Final = ("tdx", AZURE_PLATFORM, "gcp-tdx", "dstack")
#: What requests to Intel Trust Authority have beside a quote, or beside what has it, that is read or no evidence.
TRUST_AUTHORITY_NAMES: Final = ("verifier_nonce", "runtime_data", "user_data", "event_log", "policy_ids")
#: What the kernel may add to a quote, and of a TDX virtual machine does not.
BLOBS: Final = ("auxblob", "manifestblob")


class QuoteEvidence(NamedTuple):
    """A quote, with the parts of its document."""

    quote: bytes  #: the quote, raw.
    found_in: str | None = None  #: what kind of document it lay in; ``None`` where it came alone.
    event_log: bytes | None = None  #: dstack's log that lay beside it, as bytes; ``None`` where there was none.
    unread: tuple[UnappraisedPart, ...] = ()  #: what else lay there that a relying party may count on.
    log_is_cut: bool = False  #: whether the log beside it is known to have only what was measured into RTMR3 whole.
    #: the report data of which it has to have one, as the document says; none where it says nothing.
    asked: tuple[bytes, ...] = ()


def quote_evidence(data: bytes) -> QuoteEvidence:
    """Return the quote in ``data``: raw, hexadecimal or base64, or inside of a known document.

    Raises MalformedError if ``data`` is another document, evidence of another kind, or text of no known form.
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        if kinds.known_kind(data) == kinds.DSTACK_ENVELOPE:
            return _in_envelope(parse_envelope(decode(data, WHAT)))
        return QuoteEvidence(_quote(data, WHAT))
    document = bounded_json(data, WHAT, LARGEST, "a quote or JSON")
    if not isinstance(document, Mapping):
        raise MalformedError(WHAT, EXPECTED, kinds.kind_of_value(document))
    match document:
        case {"platform": str() as platform, "evidence": Mapping() as inner}:
            found = _with_gpus(_with_gpus(_quote_in(inner), inner), document)
            if platform not in PLATFORMS or (platform == AZURE_PLATFORM) != (found.found_in == AZURE):
                raise MalformedError(WHAT, f"the evidence of the platform {ascii(platform)[:100]}", f"{found.found_in}")
            return _with_unread(found, unread_members(document, ("platform", "evidence", *GPU_NAMES)))
    return _with_gpus(_quote_in(document), document)


def _with_unread(found: QuoteEvidence, parts: tuple[UnappraisedPart, ...]) -> QuoteEvidence:
    return found._replace(unread=(*found.unread, *parts))


def _with_gpus(found: QuoteEvidence, document: Mapping[str, object]) -> QuoteEvidence:
    """List that evidence of GPUs beside the quote is not read, if there is some."""
    beside = GPUS not in found.unread and any(document.get(name) not in EMPTY for name in GPU_NAMES)
    return found._replace(unread=(*found.unread, GPUS)) if beside else found


def _quote_in(document: Mapping[str, object]) -> QuoteEvidence:
    known = [names for names in QUOTES if any(document.get(name) is not None for name in names)]
    if len(known) > 1:
        shown = " and ".join(names[0] for names in known)
        raise MalformedError(WHAT, "one quote", f"{shown}: readers may differ in which counts")
    match document:
        case {"td_quote": quote, "tpm_quote": _, "hcl_report": _}:
            return QuoteEvidence(_octets(quote, AZURE), AZURE, unread=(VTPM,))
        case (
            {"vm_attestation_quote": Mapping() as inner}
            | {"vmAttestationQuote": Mapping() as inner}
            | {"quote": Mapping() as inner}
        ):
            return _of_google(inner)
        case {"tdx_attestation": Mapping() as inner} | {"tdxAttestation": Mapping() as inner}:
            return QuoteEvidence(_of_message(inner), GOOGLE_TPM, unread=(VTPM_QUOTE, LOGS))
        case {"header": Mapping()}:
            return QuoteEvidence(_of_message(document), MESSAGE)
        case {"intel_quote": quote}:
            return QuoteEvidence(_octets(quote, ANSWER), ANSWER, _event_log(document, ANSWER))
        case {"attestation": str() as text}:
            return _in_envelope(parse_envelope(decode(text.encode("ascii", "replace"), "attestation")))
        case {"tdx": {"quote": quote, **beside}, **outside}:
            unread = (LOGS,) if beside.get("event_log") not in EMPTY else ()
            named = (*GPU_NAMES, *TRUST_AUTHORITY_NAMES)
            further = (*unread_members(outside, named), *unread_members(beside, named))
            asked = _asked_by_trust_authority(beside)
            found = QuoteEvidence(_octets(quote, TRUST_AUTHORITY), TRUST_AUTHORITY, unread=unread, asked=asked)
            return _with_unread(found, further)
        case {"quote": quote, "event_log": _}:
            return QuoteEvidence(_octets(quote, DSTACK), DSTACK, _event_log(document, DSTACK))
        case {"quote": quote, "cc_eventlog": _}:
            return QuoteEvidence(_octets(quote, CONTAINERS), CONTAINERS, unread=(LOGS,))
        case {"outblob": quote, "provider": _, **beside}:
            blobs = {name: each for name, each in beside.items() if each not in EMPTY}
            further = tuple(UnappraisedPart(f"the {name} beside it", NOT_READ) for name in BLOBS if name in blobs)
            found = QuoteEvidence(_octets(quote, KERNEL), KERNEL, unread=further)
            return _with_unread(found, unread_members(blobs, (*BLOBS, *GPU_NAMES)))
        case {"quote": quote} | {"td_quote": quote}:
            return QuoteEvidence(_octets(quote, OTHER), OTHER)
    raise MalformedError(WHAT, EXPECTED, kinds.kind_of_value(document))


def _asked_by_trust_authority(request: Mapping[Any, object]) -> tuple[bytes, ...]:
    """Return the report data that a guest may have asked for: hashes of its run-time data; none where it says nothing.

    Clients hash the nonce and the data by SHA-512. Azure's firmware hashes its run-time data, in which that hash is.
    """
    nonce = request.get("verifier_nonce")
    nonce = {} if nonce is None else nonce
    if not isinstance(nonce, Mapping):
        raise MalformedError(TRUST_AUTHORITY, "verifier_nonce as an object", kinds.kind_of_value(nonce))
    parts = (nonce.get("val"), nonce.get("iat"), request.get("runtime_data"))
    val, iat, data = (_base64(part) for part in parts)
    if not val + iat + data:
        return ()
    return hashlib.sha512(val + iat + data).digest(), hashlib.sha256(data).digest().ljust(64, b"\0")


def _base64(value: object) -> bytes:
    """Return the bytes of a text in base64; none where there is no text."""
    if value is not None and not isinstance(value, str):
        raise MalformedError(TRUST_AUTHORITY, "verifier_nonce and runtime_data as base64", kinds.kind_of_value(value))
    try:
        return base64.b64decode(value or "", validate=True)
    except ValueError:
        raise MalformedError(TRUST_AUTHORITY, "verifier_nonce and runtime_data as base64", ascii(value)[:60]) from None


def _in_envelope(envelope: Envelope) -> QuoteEvidence:
    """Return the quote in an envelope of dstack, whose log may be cut down to what was measured into RTMR3."""
    evidence = envelope.evidence_of(TD_PLATFORMS, kinds.TDX_QUOTE)
    unread = (VTPM_QUOTE,) if envelope.platform is Platform.GCP_TDX else ()
    quote, log = _quote(evidence, envelope.name), envelope.event_log or None
    return QuoteEvidence(quote, envelope.name, log, unread, log_is_cut=log is not None)


def _of_google(quote: Mapping[str, object]) -> QuoteEvidence:
    """Return the quote of a virtual machine that gives it with a log; it may show the quote of a vTPM instead."""
    message = Message(quote, GOOGLE)
    if not message.has("tdx_ccel_quote"):
        found = kinds.TPM_QUOTE if message.has("tpm_quote") else kinds.kind_of_value(quote)
        raise MalformedError(GOOGLE, "tdx_ccel_quote", found)
    inner = message.message("tdx_ccel_quote")
    return QuoteEvidence(_quote(inner.octets("td_quote"), GOOGLE), GOOGLE, unread=(LOGS,))


def _octets(value: object, document: str) -> bytes:
    """Return the quote in a document: as text, or as a list of the values of its bytes."""
    match value:
        case str():
            return _quote(decode(value.encode("ascii", "replace"), document, padded=False), document)
        case list() if all(type(byte) is int and 0 <= byte < 256 for byte in value):
            return _quote(bytes(value), document)
    raise MalformedError(document, "the quote as text or as a list of bytes", kinds.kind_of_value(value))


def _quote(data: bytes, what: str) -> bytes:
    """Return what ``data`` stands for, unless it is evidence of another known kind, whose name is then in the error."""
    kind = kinds.known_kind(data)
    if kind not in (kinds.TDX_QUOTE, kinds.SGX_QUOTE, kinds.OTHER_TEXT, None):
        raise MalformedError(what, kinds.TDX_QUOTE, kind)
    return decode(data, what)


def _event_log(document: Mapping[str, object], what: str) -> bytes | None:
    """Return the log beside a quote as bytes; services write it as a list or as the text of one."""
    match document.get("event_log"):
        case None | "" | []:
            return None
        case str() as text if text.lstrip()[:1] == "[":
            return text.encode("utf-8", "surrogatepass")
        case str() as text:
            return decode(text.encode("ascii", "replace"), f"the event log in {what}")
        case list() as events:
            return json.dumps(events).encode()
        case other:
            raise MalformedError(what, "event_log as a list or as text", kinds.kind_of_value(other))


#: The fields of a body before its run-time registers, with their sizes.
BODY_FIELDS: Final = (
    ("tee_tcb_svn", 16),
    ("mr_seam", 48),
    ("mr_signer_seam", 48),
    ("seam_attributes", 8),
    ("td_attributes", 8),
    ("xfam", 8),
    ("mr_td", 48),
    ("mr_config_id", 48),
    ("mr_owner", 48),
    ("mr_owner_config", 48),
)
REGISTER_BYTES: Final = 48
LATER_BODY: Final = 3  #: The type of a body of TDX 1.5, which has two fields more.


def _of_message(fields: Mapping[str, object]) -> bytes:
    """Return the bytes of a quote of version 4 or 5 that is given as fields."""
    quote = Message(fields, MESSAGE)
    header = quote.message("header")
    described = quote.has("td_quote_body_descriptor")
    body = _described_body(quote.message("td_quote_body_descriptor")) if described else _body(quote, "td_quote_body")
    return b"".join(
        (
            header.number("version", 2) + header.number("attestation_key_type", 2) + header.number("tee_type", 4),
            header.octets("pce_svn", 2) + header.octets("qe_svn", 2),
            header.octets("qe_vendor_id", 16) + header.octets("user_data", 20),
            body,
            quote.number("signed_data_size", 4),
            _signed_data(quote.message("signed_data")),
            quote.octets("extra_bytes"),
        )
    )


def _described_body(descriptor: Message) -> bytes:
    """Return a body of a quote of version 5, with its type and size before it."""
    kind = descriptor.number("td_quote_body_type", 2)
    body = _body(descriptor, "td_quote_body_v5")
    if int.from_bytes(kind, "little") == LATER_BODY:
        later = descriptor.message("td_quote_body_v5")
        body += later.octets("tee_tcb_svn2", 16) + later.octets("mr_service_td", REGISTER_BYTES)
    return kind + descriptor.number("td_quote_body_size", 4) + body


def _body(parent: Message, name: str) -> bytes:
    body = parent.message(name)
    registers = body.octet_lists("rtmrs", REGISTER_BYTES)
    if len(registers) != 4:
        raise MalformedError(MESSAGE, "four rtmrs", f"{len(registers)}")
    before = b"".join(body.octets(field, size) for field, size in BODY_FIELDS)
    return before + b"".join(registers) + body.octets("report_data", 64)


def _signed_data(data: Message) -> bytes:
    certification = data.message("certification_data")
    enclave = certification.message("qe_report_certification_data")
    authentication, chain = enclave.message("qe_auth_data"), enclave.message("pck_certificate_chain_data")
    return b"".join(
        (
            data.octets("signature", 64) + data.octets("ecdsa_attestation_key", 64),
            certification.number("certificate_data_type", 2) + certification.number("size", 4),
            _enclave_report(enclave.message("qe_report")) + enclave.octets("qe_report_signature", 64),
            authentication.number("parsed_data_size", 2) + authentication.octets("data"),
            chain.number("certificate_data_type", 2) + chain.number("size", 4) + chain.octets("pck_cert_chain"),
        )
    )


def _enclave_report(report: Message) -> bytes:
    return b"".join(
        (
            report.octets("cpu_svn", 16) + report.number("misc_select", 4) + report.octets("reserved1", 28),
            report.octets("attributes", 16) + report.octets("mr_enclave", 32) + report.octets("reserved2", 32),
            report.octets("mr_signer", 32) + report.octets("reserved3", 96),
            report.number("isv_prod_id", 2) + report.number("isv_svn", 2) + report.octets("reserved4", 60),
            report.octets("report_data", 64),
        )
    )
