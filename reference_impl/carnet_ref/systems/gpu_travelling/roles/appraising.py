"""Appraisals: of the orchestrator's quote by a holder, and what the facts about a GPU and a holder are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.crypto.primitives import AuthenticationError, sign_p384, verify_p384
from carnet_ref.systems.gpu_travelling.enforcement import Checks, enforces
from carnet_ref.systems.gpu_travelling.roles.ports import QuoteAppraiser
from carnet_ref.transport.frames import ProtocolError

_PROOF: Final = b"carnet enrolment 1 "
QUOTE_STEPS: Final = frozenset({"quote.pck-chain", "quote.quote-signature", "quote.measurements"})
"""The steps of an appraisal that make it a quote of the expected code."""
BINDING_STEPS: Final = frozenset({"quote.report-data", "channel", "nonce"})
"""The steps that bind the quote to this channel."""
_SHOWN: Final = 16
"""Hexadecimal digits of an instance in an error."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the holders of a job agreed on: its manifest, and the one instance of the orchestrator that runs it."""

    manifest: bytes
    instance: bytes


def accept_orchestrator(
    evidence: bytes, exporter: bytes, nonce: bytes, job: Agreed, appraiser: QuoteAppraiser, checks: Checks
) -> None:
    """Check that the far end of a channel is the orchestrator, with the job and the instance that were agreed on.

    The quote binds the instance together with the report of the GPU in its session: so it is this instance that leases
    this session, and no other of the same code with the same manifest.

    Raises:
        ProtocolError: the quote is refused.
    """
    appraisal = appraiser.appraise(evidence, exporter, nonce, job.manifest)
    passed, told = passed_steps(appraisal), refusal(appraisal, "the orchestrator's quote")
    checks.require("orchestrator-quote", "REQ-SETUP-08", passed >= QUOTE_STEPS, saw=evidence, otherwise=told)
    bound = passed >= BINDING_STEPS
    checks.require("quote-bound-to-channel", "REQ-SETUP-09", bound, saw=(evidence, exporter), otherwise=told)
    same = "manifest" in passed
    checks.require("manifest-check", "REQ-SETUP-10", same, saw=(evidence, job.manifest), otherwise=told)
    accepted(appraisal, "the orchestrator's quote")
    shown, agreed = appraisal.claims.get("instance"), job.instance.hex()
    otherwise = f"expected the orchestrator's instance {agreed[:_SHOWN]}, found {str(shown)[:_SHOWN]}"
    checks.require("one-instance", "REQ-SETUP-17", shown == agreed, saw=(evidence, agreed), otherwise=otherwise)


@enforces("REQ-SETUP-11")
def prove_enrolment(key: EllipticCurvePrivateKey, exporter: bytes) -> bytes:
    """Return the proof that the holder of ``key`` is at the end of the channel with this exporter."""
    return sign_p384(key, _PROOF + exporter)


def proves_enrolment(key: EllipticCurvePublicKey, signature: bytes, exporter: bytes) -> bool:
    """Return whether ``signature`` is the proof that `prove_enrolment` makes with this key in this channel."""
    try:
        verify_p384(key, signature, _PROOF + exporter, "enrolment proof")
    except AuthenticationError:
        return False
    return True


def accepted(appraisal: Appraisal, what: str) -> None:
    """Insist that evidence was accepted.

    Raises:
        ProtocolError: it was refused, or nothing was checked.
    """
    if not appraisal.accepted:
        raise ProtocolError(refusal(appraisal, what))


_TOLD: Final = ("device", "mode", "product", "driver_version", "vbios_version", "debugged")
"""Claims about a GPU that a run tells."""


def summary(appraisal: Appraisal) -> dict[str, object]:
    """Return what was compared in the appraisal of a GPU, what was not, and what it came to, as JSON values."""
    return {
        "compared": {step.id: step.detail for step in appraisal.steps if step.ok},
        "not_compared": {step.id: step.detail for step in appraisal.steps if step.ok is None},
        "claims": {claim: appraisal.claims.get(claim) for claim in _TOLD},
    }


def refusal(appraisal: Appraisal, what: str) -> str:
    """Say which step of an appraisal refuses, if one does."""
    failed = next((step for step in appraisal.steps if step.ok is False), None)
    left_out = "a step that it needs was not taken" if passed_steps(appraisal) else "nothing was checked"
    return f"{what} is refused: {failed.id + ': ' + failed.detail if failed else left_out}"


def passed_steps(appraisal: Appraisal) -> frozenset[str]:
    """Return the steps of an appraisal that were taken and passed."""
    return frozenset(step.id for step in appraisal.steps if step.ok)
