"""The format of Intel TDX quotes: ``carnet attest tdx``."""

from __future__ import annotations

from typing import Final

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.formats import Against, Format, Given, Option, OptionKind
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.intel.policy import DEFAULT_POLICY, Policy, parse_policy
from carnet_ref.attestation.intel.wrappers import QuoteEvidence, quote_evidence

REPORT_DATA_BYTES: Final = 64


def recognise(data: bytes, given: Given) -> QuoteEvidence:
    """Return the quote, raw, out of any form or document that is known.

    Raises:
        MalformedError: ``data`` is something else.
    """
    del given
    return quote_evidence(data)


def appraise(evidence: QuoteEvidence, given: Given, against: Against[Policy]) -> Appraisal:
    """Appraise the quote; a log that was given counts before one that lay beside the quote."""
    given_log = given.octets("event-log")
    appraisal = appraise_quote(
        evidence.quote,
        at=against.at,
        policy=against.policy,
        anchors=against.anchors,
        collateral=given.octets("collateral"),
        report_data=given.octets("report-data"),
        event_log=evidence.event_log if given_log is None else given_log,
    )
    return appraisal.found_in(evidence.found_in, evidence.unread)


FORMAT: Final = Format(
    argument="quote",
    help="""Appraise QUOTE: raw, hexadecimal or base64, or a JSON document with a quote in it.

    Known documents: dstack's getquote and attestation answers, Azure's vTPM evidence, Google's attestation of a virtual
    machine, evidence of Confidential Containers. The first step names the document. An event log of dstack in it is
    replayed as if it were given by --event-log.

    The default policy asks for a genuine quote of a virtual machine that its host may not debug: certificates up to
    Intel's root, valid at --at, and every signature. Revocation and the TCB status need --collateral; without it those
    steps are listed as not requested.
    """,
    options=(
        Option("collateral", OptionKind.FILE, "What Intel publishes about the platform, as JSON."),
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
)
"""Intel's quotes."""
