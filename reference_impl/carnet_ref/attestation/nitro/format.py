"""The format of AWS Nitro documents: ``carnet attest nitro``, and what its steps say of an enclave to others."""

from collections.abc import Iterator, Mapping
from typing import Final

from carnet_ref.attestation import results
from carnet_ref.attestation.appraisal import Appraisal, UnappraisedPart
from carnet_ref.attestation.formats import AppraisalContext, Format, Option, OptionKind, OptionValues
from carnet_ref.attestation.kinds import Layer, LayerRole
from carnet_ref.attestation.nitro.appraisal import POLICY_FORM, AskedWith, Policy, appraise_document
from carnet_ref.attestation.nitro.document import NitroDocument, parse_document


def _noted(claims: Mapping[str, object]) -> Mapping[results.TrustClaim, int]:
    return {results.TrustClaim.RUNTIME_OPAQUE: results.CONTRADICTED} if claims["debug"] else {}


#: Of an enclave, or of an instance.
RESULTS: Final = results.ResultProfile(
    (
        results.TrustRow(
            results.TrustClaim.HARDWARE,
            {"chain": results.UNRECOGNISED, **dict.fromkeys(("validity", "signature"), results.NOT_VERIFIED)},
            {"timestamp": results.CONTRADICTED},
        ),
        results.TrustRow(results.TrustClaim.EXECUTABLES, {"pcrs": results.CONTRADICTED}, affirmed=results.BOOTED),
        results.TrustRow(results.TrustClaim.RUNTIME_OPAQUE, {"debug": results.CONTRADICTED}),
    ),
    "nonce",
    "nonce",
    _noted,
    measured=("pcrs",),
)


def recognise(data: bytes, given: OptionValues) -> NitroDocument:
    """Parse an attestation document. Raises MalformedError if it is malformed."""
    del given
    return parse_document(data)


def describe(evidence: NitroDocument) -> Iterator[Layer]:
    """Yield what it lay in, and the instance that it names, with the enclave where it is about one."""
    if evidence.found_in is not None:
        yield Layer(LayerRole.DOCUMENT, evidence.found_in)
    yield Layer(LayerRole.PRODUCT, evidence.module_id)


def appraise(evidence: NitroDocument, given: OptionValues, against: AppraisalContext[Policy]) -> Appraisal:
    """Appraise the document."""
    asked = AskedWith(given.octets("nonce"), given.octets("user-data"), given.octets("public-key"))
    appraisal = appraise_document(evidence, at=against.at, policy=against.policy, anchors=against.anchors, asked=asked)
    if not evidence.bytes_behind:
        return appraisal.found_in(evidence.found_in)
    unread = UnappraisedPart(f"{evidence.bytes_behind} bytes behind the document", "bytes behind the document not read")
    return appraisal.found_in(evidence.found_in or "a file that begins with it", unread)


#: Documents of AWS's Nitro system.
FORMAT: Final = Format(
    argument="document",
    help="""Appraise DOCUMENT of an AWS Nitro enclave, or of an EC2 instance with NitroTPM.

    It may be raw, hexadecimal or base64, or in dstack's answer to Attest.

    The default policy asks for a genuine document, signed under AWS's root at a time when its certificates were valid,
    which they have to be at --at, too. An enclave in debug mode is refused. What runs is said by the PCRs, which a
    policy names.
    """,
    options=(
        Option("nonce", OptionKind.HEX, "What the enclave should have been asked with."),
        Option("user-data", OptionKind.HEX, "The user data that the enclave should have put in."),
        Option("public-key", OptionKind.FILE, "The public key, in DER, that the enclave should have put in."),
    ),
    policy=POLICY_FORM,
    recognise=recognise,
    appraise=appraise,
    describe=describe,
    results=RESULTS,
)
