"""The format of AMD SEV-SNP reports: ``carnet attest snp``, and what the steps about a guest say of it to others.

Nothing is said of the instance: AMD's revocation lists speak of signing keys, and of no chip.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from carnet_ref.attestation import results
from carnet_ref.attestation.amd.appraisal import POLICY_FORM, Policy, appraise_report, is_movable
from carnet_ref.attestation.amd.evidence import SnpEvidence, parse_evidence
from carnet_ref.attestation.amd.report import DEBUG, line_of, parse_report
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.formats import AppraisalContext, Format, NeedsOptionError, Option, OptionKind, OptionValues
from carnet_ref.attestation.kinds import Layer, LayerRole


def _noted(claims: Mapping[str, object]) -> Mapping[results.TrustClaim, int]:
    """Tell of a guest that its host may read, or that a migration agent may take away."""
    words, agent = claims["guest_policy"], claims["report_id_ma"]
    assert isinstance(words, list), "the guest's policy is told as words"
    assert isinstance(agent, str), "the agent's report id is told in hexadecimal"
    exposed = DEBUG in words or is_movable(words, bytes.fromhex(agent))
    return {results.TrustClaim.RUNTIME_OPAQUE: results.CONTRADICTED} if exposed else {}


PLATFORM: Final = ("product", "certificate-tcb", "tcb-order", "minimum-tcb")
#: Of an SNP guest.
RESULTS: Final = results.ResultProfile(
    (
        results.TrustRow(
            results.TrustClaim.HARDWARE,
            {
                "chain": results.UNRECOGNISED,
                **dict.fromkeys(("validity", "signature", "signing-key"), results.NOT_VERIFIED),
                **dict.fromkeys(PLATFORM, results.CONTRADICTED),
            },
            dict.fromkeys(("chip-id", "revocation"), results.CONTRADICTED),
        ),
        results.TrustRow(
            results.TrustClaim.EXECUTABLES,
            {"measurement": results.CONTRADICTED},
            dict.fromkeys(("guest-svn", "id-keys"), results.CONTRADICTED),
            affirmed=results.BOOTED,
        ),
        results.TrustRow(
            results.TrustClaim.RUNTIME_OPAQUE, dict.fromkeys(("debug", "migration"), results.CONTRADICTED)
        ),
        results.TrustRow(
            results.TrustClaim.CONFIGURATION,
            dict.fromkeys(("guest-policy", "platform-info"), results.CONTRADICTED),
            dict.fromkeys(("vmpl", "host-data"), results.CONTRADICTED),
        ),
    ),
    "report-data",
    "report_data",
    _noted,
    measured=("measurement",),
)


REPORT_DATA_BYTES: Final = 64


def recognise(data: bytes, given: OptionValues) -> SnpEvidence:
    """Return the report, with the certificates that were given, or else with those that came with it.

    Raises MalformedError if ``data`` has no known form; UsageError if it is not said where the certificates are.
    """
    evidence = parse_evidence(data)
    chain = given.octets("chain")
    if chain is not None:
        return replace(evidence, certificates=chain)
    if evidence.certificates is None:
        raise NeedsOptionError("a report alone needs --chain", "chain")
    return evidence


def appraise(evidence: SnpEvidence, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise the report and its certificates."""
    appraisal = appraise_report(
        evidence,
        at=against.at,
        policy=against.policy,
        anchors=against.anchors,
        report_data=given.octets("report-data"),
        crls=given.files("crl"),
    )
    return appraisal.found_in(evidence.found_in, *evidence.unread)


def describe(evidence: SnpEvidence) -> Iterator[Layer]:
    """Yield the document, the version of the report and the line of processors that it names, as some versions do."""
    if evidence.found_in is not None:
        yield Layer(LayerRole.DOCUMENT, evidence.found_in)
    report = parse_report(evidence.report).report
    yield Layer(LayerRole.VERSION, f"version {report.version}")
    line = None if report.cpuid is None else line_of(report.cpuid.family, report.cpuid.model)
    if line is not None:
        yield Layer(LayerRole.PRODUCT, f"EPYC {line}")


#: AMD's reports.
FORMAT: Final = Format(
    argument="report",
    help="""Appraise REPORT: raw, hexadecimal or base64, JSON with a report and its VCEK, or Azure's HCL document.

    Known documents: evidence of Azure's vTPM, of Confidential Containers with the report as fields, and of tools that
    name the platform. Of Azure's run-time data, its user-data can be what --report-data expects.

    The default policy asks for a genuine report that fits its certificate, of a guest that its host may neither debug
    nor move: certificates up to AMD's root, valid at --at, and the signature. What else a policy can ask for is listed
    as not requested, and so is revocation without --crl.
    """,
    options=(
        Option("chain", OptionKind.FILE, "The VCEK or VLEK: PEM, DER or a certificate table. More may be in it."),
        Option("crl", OptionKind.FILES, "A revocation list of AMD's root, in PEM or DER."),
        Option(
            "report-data",
            OptionKind.HEX,
            "The 64 bytes that the virtual machine should have asked with.",
            REPORT_DATA_BYTES,
        ),
    ),
    policy=POLICY_FORM,
    recognise=recognise,
    appraise=appraise,
    describe=describe,
    results=RESULTS,
)
