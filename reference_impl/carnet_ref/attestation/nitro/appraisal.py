"""The appraisal of one Nitro document: a document, a time and a policy in, numbered steps and claims out.

* The certificates lead from the signer's to AWS's root in the order of the document, each link is checked, and all are
  valid at the time of appraisal. A signer's certificate lasts three hours.
* The registers of an enclave that was started in debug mode are zero, so that such a document proves nothing of what
  runs. It is refused unless a policy allows it. Instances have no such mode.
* A document says nothing about who presents it. A nonce binds it to a question; the public key or the user data binds
  it to a channel, if the enclave put the channel's key there.

Source: aws/aws-nitro-enclaves-nsm-api, docs/attestation_process.md, section 3.2; AWS Nitro Enclaves User Guide,
"nitro-cli run-enclave" (debug mode) and "Cryptographic attestation" (PCRs); Amazon EC2 User Guide, "Validate a NitroTPM
Attestation Document".
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from carnet_ref.attestation.appraisal import (
    NO_REVOCATION,
    NOT_FRESH,
    X509_PATH,
    AnchorRole,
    Anchors,
    Appraisal,
    Checklist,
    RefusedError,
)
from carnet_ref.attestation.cose import verify_sign1
from carnet_ref.attestation.nitro.document import PCR_COUNT, PCR_SIZES, NitroDocument, Source
from carnet_ref.attestation.pcrs import AcceptedPcrs, accepted_pcrs, check_pcrs, shown_pcrs
from carnet_ref.attestation.policies import AppraisalPolicy, Flag, Number, policy_form, policy_key, require_key
from carnet_ref.crypto.certificate_path import TIME, PathError, check_path, fingerprint, name, validity
from carnet_ref.crypto.primitives import AuthenticationError

LEEWAY: Final = 60  #: How many seconds ahead the clock of an enclave's machine may be.
STEPS: Final = (
    "parse",
    "chain",
    "validity",
    "revocation",
    "signature",
    "timestamp",
    "debug",
    "pcrs",
    "nonce",
    "user-data",
    "public-key",
    "policy",
)
DEFAULT_STEPS: Final = frozenset({"chain", "validity", "signature", "timestamp"})
IMAGE_PCRS: Final = (0, 1, 2)  #: The registers of an enclave's image, its kernel and boot files, and its application.
PROCESS: Final = "aws-nitro-enclaves-nsm-api, attestation process"
DEBUG_MODE: Final = "AWS Nitro Enclaves User Guide, run-enclave"


@dataclass(frozen=True, slots=True)
class Policy(AppraisalPolicy):
    """The demands on an enclave or an instance; each key documents its meaning."""

    require: frozenset[str] = require_key(STEPS)
    allow_debug: bool = policy_key(
        Flag(), False, "whether an enclave in debug mode is accepted, whose console its parent reads"
    )
    pcrs: AcceptedPcrs = policy_key(
        accepted_pcrs(PCR_COUNT, PCR_SIZES), {}, "for each register that is asked for, the values accepted"
    )
    maximum_age: int | None = policy_key(
        Number(), None, "for how many seconds after it was made a document is accepted"
    )


POLICY_FORM: Final = policy_form(
    Policy,
    default={"require": DEFAULT_STEPS},
    strict={"require": DEFAULT_STEPS | {"nonce", "pcrs"}},
    inventory={"require": DEFAULT_STEPS, "allow_debug": True},
)
DEFAULT_POLICY: Final = POLICY_FORM.default_policy
parse_policy: Final = POLICY_FORM.parse


@dataclass(frozen=True, slots=True)
class AskedWith:
    """The nonce, user data and public key that the verifier expects in a document, as far as it knows them."""

    nonce: bytes | None = None
    user_data: bytes | None = None
    public_key: bytes | None = None


def appraise_document(
    document: NitroDocument, *, at: datetime, policy: Policy, anchors: Anchors, asked: AskedWith
) -> Appraisal:
    """Appraise a document. ``at`` is when it is appraised, with a time zone."""
    steps = Checklist()
    try:
        _check_signer(steps, document, at, anchors)
        _check_time(steps, document, at, policy)
        _check_debug(steps, document, policy)
        check_pcrs(steps, document.pcrs, policy.pcrs, PROCESS)
        _check_binding(steps, document, asked)
        steps.require_taken(policy)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(document))


def _check_signer(steps: Checklist, document: NitroDocument, at: datetime, anchors: Anchors) -> None:
    steps.passed("parse", f"document of {_subject(document)}", PROCESS)
    with steps.refusing("chain", PathError, X509_PATH):
        anchor = check_path(document.path, anchors.of(AnchorRole.AWS_NITRO))
    shown = f"{name(document.path[0])} up to {name(anchor)}, {fingerprint(anchor)}"
    steps.passed("chain", shown, X509_PATH)
    steps.require_valid([*document.path, anchor], at)
    steps.left_out("revocation", "AWS's revocation lists are not read", X509_PATH, lacking=NO_REVOCATION)
    with steps.refusing("signature", AuthenticationError, PROCESS):
        verify_sign1(document.signed, document.path[0].public_key(), "the document's signature")
    steps.passed("signature", f"{document.signed.algorithm_name} over {len(document.signed.payload)} bytes", PROCESS)


def _subject(document: NitroDocument) -> str:
    kind = "the enclave" if document.source is Source.ENCLAVE else "the instance with NitroTPM"
    return f"{kind} {document.module_id[:80]}"


def _check_time(steps: Checklist, document: NitroDocument, at: datetime, policy: Policy) -> None:
    """Insist that the document was made while its certificates were valid, and is no older than the policy accepts."""
    start, end = validity(document.path)
    made, age = document.made_at, (at - document.made_at).total_seconds()
    if not start <= made <= end:
        period = f"its certificates are valid from {start:{TIME}} to {end:{TIME}}"
        steps.refuse("timestamp", f"made {made:{TIME}}, and {period}", PROCESS)
    if age < -LEEWAY:
        steps.refuse("timestamp", f"made {made:{TIME}}, which is after {at:{TIME}}", PROCESS)
    most = policy.maximum_age
    if most is not None and not 0 <= age <= most:
        steps.refuse("timestamp", f"made {made:{TIME}}, {age:.0f} s ago; accepted: 0 to {most} s", PROCESS)
    steps.passed("timestamp", f"made {made:{TIME}}, {age:.0f} s before it is appraised", PROCESS)


def _debugged(document: NitroDocument) -> bool:
    """Return whether an enclave runs in debug mode, as the registers of its image say."""
    return document.source is Source.ENCLAVE and not all(any(document.pcrs.get(number, b"")) for number in IMAGE_PCRS)


def _check_debug(steps: Checklist, document: NitroDocument, policy: Policy) -> None:
    if document.source is Source.INSTANCE:
        steps.left_out("debug", "an instance has no debug mode; its PCRs say how it was booted", DEBUG_MODE)
        return
    debugged = _debugged(document)
    detail = "an enclave in debug mode, which the policy allows" if debugged else "PCR0, PCR1 and PCR2 are not zero"
    otherwise = "PCR0, PCR1 or PCR2 is zero or missing: the enclave runs in debug mode, and proves nothing of its image"
    steps.require(policy.allow_debug or not debugged, "debug", detail, otherwise, DEBUG_MODE)


def _check_binding(steps: Checklist, document: NitroDocument, asked: AskedWith) -> None:
    rows = (
        ("nonce", document.nonce, asked.nonce, NOT_FRESH),
        ("user-data", document.user_data, asked.user_data, ""),
        ("public-key", document.public_key, asked.public_key, ""),
    )
    for step, found, expected, lacking in rows:
        if expected is None:
            steps.not_requested(step, step, PROCESS, lacking=lacking)
            continue
        shown = "none" if found is None else found.hex()
        same = found is not None and hmac.compare_digest(found, expected)
        steps.require(same, step, "as expected", f"the document has {shown}, not {expected.hex()}", PROCESS)


def _claims(document: NitroDocument) -> Mapping[str, object]:
    return {
        "tee": "AWS Nitro Enclave" if document.source is Source.ENCLAVE else "AWS NitroTPM",
        "module_id": document.module_id,
        "made_at": f"{document.made_at:{TIME}}",
        "debug": _debugged(document),
        "pcrs": shown_pcrs(document.pcrs),
        "nonce": _hexadecimal(document.nonce),
        "user_data": _hexadecimal(document.user_data),
        "public_key": _hexadecimal(document.public_key),
    }


def _hexadecimal(value: bytes | None) -> str | None:
    return None if value is None else value.hex()
