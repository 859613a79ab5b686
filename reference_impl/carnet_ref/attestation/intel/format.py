"""The format of Intel TDX quotes: ``carnet attest tdx``, and what the steps about a TD say of it to others.

That the hardware is genuine and supported needs collateral: without it nobody has said that the platform is up to date.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from carnet_ref.attestation import results
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.formats import AppraisalContext, Format, Option, OptionKind, OptionValues
from carnet_ref.attestation.intel.appraisal import POLICY_FORM, RTMRS, Policy, appraise_quote
from carnet_ref.attestation.intel.collateral import TcbStatus, collateral_of
from carnet_ref.attestation.intel.evidence import QuoteEvidence, quote_evidence
from carnet_ref.attestation.intel.quote import BODY_NAMES, BODY_TDX_10, EXPOSING_BITS
from carnet_ref.attestation.kinds import Layer, LayerRole, is_sgx_quote

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
#: Of a TD.
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
    measured=("mrtd", "mrseam", *RTMRS),
)


REPORT_DATA_BYTES: Final = 64
FIRST_VERSION: Final = 4  #: The version of quotes that have no type of their body.


class TdxEvidence(NamedTuple):
    """A quote with the parts of its document, and the collateral as one JSON object, if given."""

    found: QuoteEvidence
    collateral: bytes | None


def recognise(data: bytes, given: OptionValues) -> TdxEvidence:
    """Return the parsed quote and collateral. Raises MalformedError if ``data`` or the collateral is something else."""
    collateral = given.files("collateral")
    return TdxEvidence(quote_evidence(data), collateral_of(collateral) if collateral else None)


def appraise(evidence: TdxEvidence, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise the quote; both a given event log and one beside the quote are replayed."""
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
        log_is_cut=found.log_is_cut,
    )
    if found.asked and appraisal.accepted:
        asked_with = str(appraisal.claims["report_data"])
        appraisal = appraisal.agreeing_with(asked_with, *(each.hex() for each in found.asked))
    return appraisal.found_in(found.found_in, *found.unread)


def describe(evidence: TdxEvidence) -> Iterator[Layer]:
    """Yield the document, the version of the quote and that of the TD report in it."""
    found = evidence.found
    if found.found_in is not None:
        yield Layer(LayerRole.DOCUMENT, found.found_in)
    version, body = int.from_bytes(found.quote[:2], "little"), found.quote[48:50]
    kind = int.from_bytes(body, "little") if version > FIRST_VERSION else BODY_TDX_10
    if kind in BODY_NAMES and not is_sgx_quote(found.quote):
        yield Layer(LayerRole.VERSION, f"version {version}, with a {BODY_NAMES[kind]}")


#: Intel's quotes.
FORMAT: Final = Format(
    argument="quote",
    help="""Appraise QUOTE: raw, hexadecimal or base64, or a JSON document with a quote in it.

    Known documents: dstack's getquote and attestation answers, Azure's vTPM evidence, Google's attestation of a virtual
    machine and quotes as messages, requests to Intel Trust Authority, evidence of Confidential Containers. The first
    step names the document. An event log of dstack in it is replayed as if it were given by --event-log. Evidence of
    GPUs beside the quote is listed, and not appraised here.

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
    describe=describe,
    results=RESULTS,
)
