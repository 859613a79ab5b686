"""Attestation as roles use it: its interfaces, and the appraisals on which facts about the parties rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.crypto.primitives import AuthenticationError, sign_p384, verify_p384
from carnet_ref.marks import enforces
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.transport.frames import ProtocolError


@dataclass(frozen=True, slots=True)
class GpuEvidence:
    """A GPU's signed report and the certificate chain that comes with it."""

    report: bytes
    chain: bytes


class SessionEnd(Protocol):
    """One end of a session between orchestrator and GPU.

    Every method raises ``SpdmError`` or ``CryptoError`` on what does not verify; the session is dead then.
    """

    @property
    def label(self) -> str:
        """A name of the session that both ends know; empty until the key exchange has begun."""

    @property
    def is_established(self) -> bool:
        """Whether both ends have finished the handshake."""

    def receive(self, message: bytes) -> list[bytes]:
        """Handle a handshake message, and return the answers."""

    def exported_master_secret(self) -> bytes:
        """Return the session's exported master secret, once."""

    def seal(self, message: bytes) -> bytes:
        """Protect a message inside the session."""

    def open(self, message: bytes) -> bytes:
        """Return the content of a message that came inside the session."""


class Requester(SessionEnd, Protocol):
    """The orchestrator's end."""

    def begin(self) -> list[bytes]:
        """Return the first messages."""

    def report_nonce(self, drawn: bytes) -> bytes:
        """Return the nonce for a report, which commits to this session and to ``drawn``."""

    def ask_report(self, nonce: bytes) -> bytes:
        """Return the request, inside the session, for a report on ``nonce``."""

    def take_evidence(self, message: bytes) -> GpuEvidence:
        """Return the evidence in the answer, which came inside the session."""

    @property
    def responder_key(self) -> bytes:
        """The public key that signed the key exchange, as DER."""


class Responder(SessionEnd, Protocol):
    """The GPU's end; requests for reports are answered by ``receive``."""


class GpuEvidenceVerifier(Protocol):
    """Appraises a GPU's report step by step."""

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        """Return the steps; claims hold ``device``, ``mode`` and ``key``."""


class Quoter(Protocol):
    """Makes the orchestrator's composite evidence."""

    def evidence(self, exporter: bytes, nonce: bytes, manifest: bytes, gpu: GpuEvidence) -> bytes:
        """Return composite evidence: a quote, with the values that it is bound to."""


class QuoteVerifier(Protocol):
    """Appraises the orchestrator's composite evidence step by step."""

    def appraise(self, evidence: bytes, exporter: bytes, nonce: bytes, manifest: bytes) -> Appraisal:
        """Return the steps of the appraisal."""


Steps = frozenset[str]  #: Steps of an appraisal, by their ids.
_PROOF: Final = b"carnet enrolment 1 "
#: The steps of an appraisal that make it a quote of the expected code.
QUOTE_STEPS: Final = frozenset({"quote.pck-chain", "quote.quote-signature", "quote.measurements"})
#: The steps that bind the quote to this channel.
BINDING_STEPS: Final = frozenset({"quote.report-data", "channel", "nonce"})
JOB_STEPS: Final = frozenset({"manifest"})  #: The step that binds the quote to this job.
#: The steps of an appraisal that make it a report of a certified GPU.
SIGNED: Final = frozenset({"chain", "validity", "signature", "firmware-id"})
ANSWERS: Final = frozenset({"nonce"})  #: The step that makes it the answer to what was asked.
MODE: Final = frozenset({"mode"})  #: The step that makes it a report of a GPU in confidential mode.
DEBUG: Final = frozenset({"debug"})  #: The step that makes it a report of a GPU that is not debugged.
#: The step that makes its signer one that no authority took its word back of.
NOT_REVOKED: Final = frozenset({"revocation"})
#: The steps that compare a GPU's firmware with reference values.
VALUES: Final = frozenset({"driver-rim", "vbios-rim", "rim-revocation", "measurements"})
_SHOWN: Final = 16  #: Hexadecimal digits of an instance in an error.


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the holders of a job agreed on: its manifest, and the orchestrator instance that runs it."""

    manifest: bytes
    instance: bytes


def accept_orchestrator(
    evidence: bytes, exporter: bytes, nonce: bytes, job: Agreed, verifier: QuoteVerifier, checks: Checks
) -> None:
    """Check that the far end of a channel is the agreed orchestrator instance with the agreed job.

    The quote binds the instance together with the report of the GPU in its session: so it is this instance that leases
    this session, and no other of the same code with the same manifest. Raises ProtocolError if the quote is refused.
    """
    appraisal = verifier.appraise(evidence, exporter, nonce, job.manifest)
    has, told = asked_of(appraisal, "the orchestrator's quote")
    on_channel, on_job = (evidence, exporter), (evidence, job.manifest)
    each_in_turn(
        appraisal,
        {
            QUOTE_STEPS: lambda at: checks.require(
                "orchestrator-quote", "REQ-SETUP-08", has(at), saw=evidence, otherwise=told(at)
            ),
            BINDING_STEPS: lambda at: checks.require(
                "quote-bound-to-channel", "REQ-SETUP-09", has(at), saw=on_channel, otherwise=told(at)
            ),
            JOB_STEPS: lambda at: checks.require(
                "manifest-check", "REQ-SETUP-10", has(at), saw=on_job, otherwise=told(at)
            ),
        },
    )
    require_accepted(appraisal, "the orchestrator's quote")
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


def require_accepted(appraisal: Appraisal, what: str) -> None:
    """Raise ProtocolError unless the appraisal accepted the evidence and checked something."""
    if not appraisal.accepted:
        raise ProtocolError(refusal(appraisal, what))


#: Claims about a GPU that a run tells.
_TOLD: Final = ("device", "mode", "product", "driver_version", "vbios_version", "debugged")


def summary(appraisal: Appraisal) -> dict[str, object]:
    """Return the results of a GPU's appraisal as JSON values: what was compared, what was not, and the claims."""
    return {
        "compared": {step.id: step.detail for step in appraisal.steps if step.ok},
        "not_compared": {step.id: step.detail for step in appraisal.steps if step.ok is None},
        "claims": {claim: appraisal.claims.get(claim) for claim in _TOLD},
    }


def asked_of(appraisal: Appraisal, what: str) -> tuple[Callable[[Steps], bool], Callable[[Steps], str]]:
    """Return a test whether steps of an appraisal passed, and a function for the message if they did not."""
    passed = frozenset(step.id for step in appraisal.steps if step.ok)
    return lambda steps: passed >= steps, lambda steps: refusal(appraisal, what, steps - passed)


def each_in_turn(appraisal: Appraisal, made: Mapping[Steps, Callable[[Steps], None]]) -> None:
    """Make the checks for groups of appraisal steps, first the group with the refusing step.

    Raises ProtocolError if a check does not hold; the first of them is what the evidence is refused for.
    """
    for steps in sorted(made, key=lambda each: appraisal.failed_step not in each):
        made[steps](steps)


def refusal(appraisal: Appraisal, what: str, missing: Steps = frozenset()) -> str:
    """Return which step of an appraisal refuses the evidence, or which needed steps are ``missing``."""
    failed = next((step for step in appraisal.steps if step.ok is False), None)
    if failed is not None:
        return f"{what} is refused: {failed.id}: {failed.detail}"
    return f"{what} is refused: {'not taken: ' + ', '.join(sorted(missing)) if missing else 'nothing was checked'}"
