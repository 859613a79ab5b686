"""The format of Intel TDX quotes: ``carnet attest tdx``."""

from __future__ import annotations

from typing import Final

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.encodings import decode
from carnet_ref.attestation.formats import Against, Format, Given, Option, OptionKind
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.intel.policy import DEFAULT_POLICY, Policy, parse_policy

REPORT_DATA_BYTES: Final = 64


def recognise(data: bytes, given: Given) -> bytes:
    """Return the quote, raw; hexadecimal text may have the ``0x`` before it that some tools write.

    Raises:
        MalformedError: ``data`` is text of another kind.
    """
    del given
    prefixed = data.lstrip().startswith(b"0x")
    return decode(data.lstrip()[2:] if prefixed else data, "TDX quote")


def appraise(evidence: bytes, given: Given, against: Against[Policy]) -> Appraisal:
    """Appraise the quote."""
    return appraise_quote(
        evidence,
        at=against.at,
        policy=against.policy,
        anchors=against.anchors,
        collateral=given.octets("collateral"),
        report_data=given.octets("report-data"),
        event_log=given.octets("event-log"),
    )


FORMAT: Final = Format(
    argument="quote",
    help="""Appraise QUOTE: raw, hexadecimal or base64.

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
