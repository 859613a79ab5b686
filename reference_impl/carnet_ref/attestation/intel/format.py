"""The format of Intel TDX quotes: ``carnet attest tdx``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.formats import Against, Format, Given, Option, OptionKind
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.intel.collateral_files import collateral_of
from carnet_ref.attestation.intel.policy import DEFAULT_POLICY, Policy, parse_policy
from carnet_ref.attestation.intel.results import RESULTS
from carnet_ref.attestation.intel.wrappers import QuoteEvidence, quote_evidence

REPORT_DATA_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class TdxEvidence:
    """A quote with what came beside it, and collateral as one JSON object where some was given."""

    found: QuoteEvidence
    collateral: bytes | None


def recognise(data: bytes, given: Given) -> TdxEvidence:
    """Return the quote, raw, out of any form or document that is known, and the collateral, out of its files.

    Raises:
        MalformedError: ``data`` or the collateral is something else.
    """
    collateral = given.files("collateral")
    return TdxEvidence(quote_evidence(data), collateral_of(collateral) if collateral else None)


def appraise(evidence: TdxEvidence, given: Given, against: Against[Policy]) -> Appraisal:
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
    default_policy=DEFAULT_POLICY,
    parse_policy=parse_policy,
    recognise=recognise,
    appraise=appraise,
    results=RESULTS,
)
"""Intel's quotes."""
