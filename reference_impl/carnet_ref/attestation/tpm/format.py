"""The format of TPM quotes: ``carnet attest tpm``."""

from collections.abc import Iterator
from typing import Final

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.documents import decode
from carnet_ref.attestation.formats import AppraisalContext, Format, NeedsOptionError, Option, OptionKind, OptionValues
from carnet_ref.attestation.intel.collateral import collateral_of
from carnet_ref.attestation.kinds import Layer, LayerRole
from carnet_ref.attestation.tpm.appraisal import POLICY_FORM, Beside, Policy, appraise_tpm
from carnet_ref.attestation.tpm.evidence import TpmEvidence, parse_evidence
from carnet_ref.attestation.tpm2 import GENERATED, parse_key


def recognise(data: bytes, given: OptionValues) -> tuple[TpmEvidence, Beside]:
    """Return the evidence. Raises MalformedError if it is malformed, UsageError if the signature is missing."""
    if given.octets("signature") is None and GENERATED in data[:4]:
        raise NeedsOptionError("a quote alone needs --signature", "signature")
    key, collateral = given.octets("ak"), given.files("collateral")
    log = given.octets("event-log")
    beside = Beside(
        given.octets("nonce"),
        None if key is None else parse_key(key),
        None if log is None else decode(log, "event log"),
        given.files("crl"),
        collateral_of(collateral) if collateral else None,
    )
    return parse_evidence(data, given.octets("signature"), given.octets("pcrs")), beside


def describe(found: tuple[TpmEvidence, Beside]) -> Iterator[Layer]:
    """Yield the document, and the firmware that the quote states."""
    evidence, _ = found
    if evidence.found_in is not None:
        yield Layer(LayerRole.DOCUMENT, evidence.found_in)
    yield Layer(LayerRole.VERSION, f"firmware {evidence.quote.firmware_version:#x}")


def appraise(found: tuple[TpmEvidence, Beside], given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise the quote."""
    del given
    evidence, beside = found
    return appraise_tpm(evidence, beside, against).found_in(evidence.found_in, *evidence.unread)


#: Quotes of TPMs.
FORMAT: Final = Format(
    argument="quote",
    help="""Appraise QUOTE of a TPM 2.0: as tpm2_quote writes it, Azure's evidence, or the JSON of go-tpm-tools.

    A quote of tpm2_quote -m needs --signature (-s), and --pcrs (-o) to say more than that it is genuine. The documents
    have both.

    The default policy asks for the signature. The key of Azure's virtual TPM is that of the run-time data which the
    machine's report is over; the report is appraised, too. Certificates of the key have to lead to a trust anchor. A
    key that is given by --ak alone is trusted because you give it. A key that only came with the quote is refused.
    """,
    options=(
        Option("signature", OptionKind.FILE, "The quote's signature, as tpm2_quote -s writes it, plain or not."),
        Option("pcrs", OptionKind.FILE, "The values of the registers, as tpm2_quote -o writes them."),
        Option("ak", OptionKind.FILE, "The attestation key: in PEM, DER or TPM2B_PUBLIC, or its certificates in PEM."),
        Option("nonce", OptionKind.HEX, "What the TPM should have been asked with: its qualifying data."),
        Option("event-log", OptionKind.FILE, "What the firmware measured, in the binary form of TCG."),
        Option("crl", OptionKind.FILES, "A revocation list of AMD's root, in PEM or DER."),
        Option("collateral", OptionKind.FILES, "What Intel publishes about the platform, as for carnet attest tdx."),
    ),
    policy=POLICY_FORM,
    recognise=recognise,
    appraise=appraise,
    describe=describe,
)
