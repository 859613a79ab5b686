"""Where evidence turns into facts: the GPU's report, the orchestrator's quote, a holder's enrolment proof."""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.crypto.primitives import AuthenticationError, sign_p384, verify_p384
from carnet_ref.systems.gpu_travelling.defences import Defences
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.facts import GpuAttested, HolderEnrolled
from carnet_ref.systems.gpu_travelling.roles.ports import GpuAppraiser, GpuEvidence, QuoteAppraiser, Requester
from carnet_ref.transport.frames import ProtocolError

_PROOF: Final = b"carnet enrolment 1 "


def accept_report(
    session: Requester, evidence: GpuEvidence, nonce: bytes, appraiser: GpuAppraiser, defences: Defences
) -> tuple[GpuAttested, Appraisal]:
    """Establish that the session's responder is a genuine GPU in confidential mode.

    Raises:
        ProtocolError: the report is refused, or another GPU than the session's responder signed it.
    """
    appraisal = appraiser.appraise(evidence, nonce)
    _accepted(appraisal, "the GPU's report")
    if defences.stands("signer-is-responder") and appraisal.claims.get("key") != session.responder_key:
        raise ProtocolError("the GPU's report is signed by another GPU than the session's responder")
    return facts.attested(session.label), appraisal


def accept_orchestrator(
    evidence: bytes, exporter: bytes, nonce: bytes, manifest: bytes, appraiser: QuoteAppraiser
) -> None:
    """Check that the far end of a channel is the orchestrator, with the job that the holder expects.

    Raises:
        ProtocolError: the quote is refused.
    """
    appraisal = appraiser.appraise(evidence, exporter, nonce, manifest)
    _accepted(appraisal, "the orchestrator's quote")


def prove_enrolment(key: EllipticCurvePrivateKey, exporter: bytes) -> bytes:
    """Return the proof that the holder of ``key`` is at the end of the channel with this exporter."""
    return sign_p384(key, _PROOF + exporter)


def accept_enrolment(
    holder: str, key: EllipticCurvePublicKey, signature: bytes, exporter: bytes, defences: Defences
) -> HolderEnrolled:
    """Establish that the far end of the channel has the holder's enrolment key.

    Raises:
        ProtocolError: the proof is for another channel or by another key.
    """
    if defences.stands("enrolment-check"):
        try:
            verify_p384(key, signature, _PROOF + exporter, "enrolment proof")
        except AuthenticationError as error:
            raise ProtocolError(f"{holder}: {error}") from error
    return facts.enrolled(holder)


def _accepted(appraisal: Appraisal, what: str) -> None:
    if not appraisal.accepted:
        failed = next((step for step in appraisal.steps if step.ok is False), None)
        raise ProtocolError(
            f"{what} is refused: {failed.id + ': ' + failed.detail if failed else 'nothing was checked'}"
        )
