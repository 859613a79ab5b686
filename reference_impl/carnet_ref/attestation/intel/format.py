"""The format of Intel TDX quotes: ``carnet attest tdx``, and what the steps about a TD say of it to others.

Nobody signs the documents in which services and tools deliver a quote. The quote in one is appraised as if it had come
alone, and a log of dstack's beside it is replayed against the quote. What else a document has is not believed; where
relying parties lean on it, as on Azure's vTPM quote, the appraisal lists that it was not read.

That the hardware is genuine and supported needs collateral: without it nobody has said that the platform is up to date.

Source: dstack guest agent, ``GetQuote``, and attestation answers that carry its quote; confidential-containers/trustee,
evidence of Azure's TDX vTPM and of TDX guests; google/go-tpm-tools, ``VMAttestation``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation import results
from carnet_ref.attestation.appraisal import NO_VTPM_QUOTE, Appraisal, UnappraisedPart
from carnet_ref.attestation.documents import LARGEST, decode
from carnet_ref.attestation.formats import AppraisalContext, Format, Option, OptionKind, OptionValues
from carnet_ref.attestation.intel.appraisal import POLICY_FORM, Policy, appraise_quote
from carnet_ref.attestation.intel.collateral import TcbStatus, collateral_of
from carnet_ref.attestation.intel.quote import EXPOSING_BITS
from carnet_ref.attestation.kinds import OTHER_TEXT, SGX_QUOTE, TDX_QUOTE, kind_of_value, known_kind
from carnet_ref.wire import MalformedError, bounded_json

WHAT: Final = "TDX quote"
EXPECTED: Final = "a quote, or JSON that has one as quote, intel_quote, td_quote or vm_attestation_quote"
DSTACK: Final = "a getquote answer of dstack"
ANSWER: Final = "an attestation answer with an intel_quote"
AZURE: Final = "Azure's evidence of a TDX virtual machine with a vTPM"
GOOGLE: Final = "Google's attestation of a TDX virtual machine"
CONTAINERS: Final = "the evidence of a Confidential Containers guest"
OTHER: Final = "an object with a quote"


VTPM: Final = UnappraisedPart("the vTPM quote and the HCL report beside it", NO_VTPM_QUOTE)
LOGS: Final = UnappraisedPart("the event logs beside it", "event log not replayed")


@dataclass(frozen=True, slots=True)
class QuoteEvidence:
    """A quote, and what came with it.

    Attributes:
        quote: the quote, raw.
        found_in: what kind of document it lay in; ``None`` where it came alone.
        event_log: dstack's log that lay beside it, as bytes; ``None`` where there was none.
        unread: what else lay there that a relying party may count on; ``None`` where there was none.
    """

    quote: bytes
    found_in: str | None = None
    event_log: bytes | None = None
    unread: UnappraisedPart | None = None


def quote_evidence(data: bytes) -> QuoteEvidence:
    """Return the quote in ``data``: raw, hexadecimal or base64, or inside of a known JSON document.

    Raises MalformedError if ``data`` is another document, evidence of another kind, or text of no known form.
    """
    if data.lstrip()[:1] not in (b"{", b"["):
        return QuoteEvidence(_quote(data, WHAT))
    document = bounded_json(data, WHAT, LARGEST, "a quote or JSON")
    match document:
        case {"platform": str(), "evidence": Mapping() as inner}:
            return _known(inner)
        case Mapping():
            return _known(document)
    raise MalformedError(WHAT, EXPECTED, kind_of_value(document))


def _known(document: Mapping[str, object]) -> QuoteEvidence:
    names = ("quote", "intel_quote", "td_quote", "vm_attestation_quote")
    known = [name for name in names if name in document]
    if len(known) > 1:
        raise MalformedError(WHAT, "one quote", f"{' and '.join(known)}: readers may differ in which counts")
    match document:
        case {"td_quote": quote, "tpm_quote": _, "hcl_report": _}:
            return QuoteEvidence(_octets(quote, AZURE), AZURE, unread=VTPM)
        case {"vm_attestation_quote": {"tdx_ccel_quote": {"td_quote": quote}}}:
            return QuoteEvidence(_octets(quote, GOOGLE), GOOGLE, unread=LOGS)
        case {"intel_quote": quote}:
            return QuoteEvidence(_octets(quote, ANSWER), ANSWER, _event_log(document, ANSWER))
        case {"quote": quote, "event_log": _}:
            return QuoteEvidence(_octets(quote, DSTACK), DSTACK, _event_log(document, DSTACK))
        case {"quote": quote, "cc_eventlog": _}:
            return QuoteEvidence(_octets(quote, CONTAINERS), CONTAINERS, unread=LOGS)
        case {"quote": quote} | {"td_quote": quote}:
            return QuoteEvidence(_octets(quote, OTHER), OTHER)
    raise MalformedError(WHAT, EXPECTED, kind_of_value(document))


def _octets(value: object, document: str) -> bytes:
    """Return the quote in a document: as text, or as a list of the values of its bytes."""
    match value:
        case str():
            return _quote(decode(value.encode("ascii", "replace"), document, padded=False), document)
        case list() if all(type(byte) is int and 0 <= byte < 256 for byte in value):
            return _quote(bytes(value), document)
    raise MalformedError(document, "the quote as text or as a list of bytes", kind_of_value(value))


def _quote(data: bytes, what: str) -> bytes:
    """Return what ``data`` stands for, unless it is evidence of another known kind, whose name is then in the error."""
    kind = known_kind(data)
    if kind not in (TDX_QUOTE, SGX_QUOTE, OTHER_TEXT, None):
        raise MalformedError(what, TDX_QUOTE, kind)
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
            raise MalformedError(what, "event_log as a list or as text", kind_of_value(other))


EXPOSING: Final = frozenset(EXPOSING_BITS.values())


def _noted(claims: Mapping[str, object]) -> Mapping[results.TrustClaim, int]:
    """Tell of a TD that others may read, profile or take away, and of a platform with known vulnerabilities."""
    attributes = claims["attributes"]
    assert isinstance(attributes, list), "a TD's attributes are told as words"
    exposed = claims["debug"] or not EXPOSING.isdisjoint(attributes)
    noted = {results.TrustClaim.RUNTIME_OPAQUE: results.CONTRADICTED} if exposed else {}
    if claims["tcb_status"] not in (None, TcbStatus.UP_TO_DATE) or claims["advisories"]:
        noted[results.TrustClaim.HARDWARE] = results.VULNERABLE
    return noted


SIGNATURES: Final = ("validity", "qe-report-signature", "qe-report-binding", "quote-signature", "collateral-signature")
PLATFORM: Final = ("fmspc", "collateral-validity", "qe-identity", "tdx-module", "tcb-status")
RESULTS: Final = results.ResultProfile(
    (
        results.TrustRow(
            results.TrustClaim.HARDWARE,
            {
                "pck-chain": results.UNRECOGNISED,
                **dict.fromkeys(SIGNATURES, results.NOT_VERIFIED),
                **dict.fromkeys(PLATFORM, results.CONTRADICTED),
            },
        ),
        results.TrustRow(results.TrustClaim.INSTANCE_IDENTITY, {"revocation": results.CONTRADICTED}),
        results.TrustRow(
            results.TrustClaim.EXECUTABLES,
            {"measurements": results.CONTRADICTED},
            {"event-log": results.CONTRADICTED},
            affirmed=results.BOOTED,
        ),
        results.TrustRow(
            results.TrustClaim.RUNTIME_OPAQUE,
            dict.fromkeys(("debug", "attributes"), results.CONTRADICTED),
            {"isolation": results.CONTRADICTED},
        ),
    ),
    "report-data",
    "report_data",
    _noted,
)
"""Of a TD."""


REPORT_DATA_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class TdxEvidence:
    """A quote with what came beside it, and collateral as one JSON object where some was given."""

    found: QuoteEvidence
    collateral: bytes | None


def recognise(data: bytes, given: OptionValues) -> TdxEvidence:
    """Return the quote, raw, out of any form or document that is known, and the collateral, out of its files.

    Raises MalformedError if ``data`` or the collateral is something else.
    """
    collateral = given.files("collateral")
    return TdxEvidence(quote_evidence(data), collateral_of(collateral) if collateral else None)


def appraise(evidence: TdxEvidence, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise the quote; a log that lay beside it is replayed, and so is one that was given."""
    found = evidence.found
    appraisal = appraise_quote(
        found.quote,
        at=against.at,
        policy=against.policy,
        anchors=against.anchors,
        collateral=evidence.collateral,
        report_data=given.octets("report-data"),
        event_log=given.octets("event-log"),
        log_beside=found.event_log,
    )
    return appraisal.found_in(found.found_in, found.unread)


FORMAT: Final = Format(
    argument="quote",
    help="""Appraise QUOTE: raw, hexadecimal or base64, or a JSON document with a quote in it.

    Known documents: dstack's getquote and attestation answers, Azure's vTPM evidence, Google's attestation of a virtual
    machine, evidence of Confidential Containers. The first step names the document. An event log of dstack in it is
    replayed as if it were given by --event-log.

    The default policy asks for a genuine quote of a virtual machine that its host may not debug: certificates up to
    Intel's root, valid at --at, every signature, and Intel's quoting enclave. It refuses a virtual machine from which
    the host may take pages unnoticed, as it may from those of Azure, or which another one serves that no policy names.
    Revocation and the TCB status need --collateral; without it those steps are listed as not requested.

    --collateral takes a JSON object with all parts, or a folder, or is repeated for single files as Intel's service
    delivers them: TCB info and QE identity as JSON, revocation lists in DER, PEM or hexadecimal, issuer chains in PEM.
    What a file is, is told by what is in it.
    """,
    options=(
        Option(
            "collateral",
            OptionKind.FILES,
            "What Intel publishes about the platform: one JSON object, or the replies of Intel's service as files.",
        ),
        Option(
            "report-data",
            OptionKind.HEX,
            "The 64 bytes that the virtual machine should have asked with.",
            REPORT_DATA_BYTES,
        ),
        Option("event-log", OptionKind.FILE, "What was measured into its run-time registers."),
    ),
    policy=POLICY_FORM,
    recognise=recognise,
    appraise=appraise,
    results=RESULTS,
)
"""Intel's quotes."""
