"""Sessions, reports and quotes as the roles ask for them, served by SPDM, NVIDIA reports and TDX quotes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.composite import (
    Binding,
    CompositeEvidence,
    Expected,
    Verifier,
    appraise_composite,
    nonce_in_session,
)
from carnet_ref.attestation.intel.policy import Policy as TdPolicy
from carnet_ref.attestation.nvidia import appraisal as nvidia
from carnet_ref.attestation.nvidia.policy import Policy as GpuPolicy
from carnet_ref.attestation.nvidia.report import Mode as ReportedMode
from carnet_ref.attestation.simulated.gpu import SimulatedGpu
from carnet_ref.attestation.simulated.td import SimulatedTd
from carnet_ref.crypto.certificate_path import PathError, check_path, parse_pem_chain, validity
from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.device.mode import Mode
from carnet_ref.spdm import (
    Requester,
    RequesterConfig,
    Responder,
    ResponderConfig,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.messages import KeyExchange
from carnet_ref.spdm.records import SPDM
from carnet_ref.spdm.session import key_bytes
from carnet_ref.systems.gpu_travelling.enforcement import enforces
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.ports import GpuEvidence

FIRST_EPOCH: Final = 0
"""Evidence is shown when a holder joins, before the first epoch, and holds for the session from there on."""
QUOTE_STEPS: Final = frozenset({"pck-chain", "quote-signature", "report-data", "tcb-status", "revocation"})
"""The steps that a quote has to pass."""
OPEN_MODE: Final = 0xFF
"""The feature flag of a simulated GPU that is out of confidential mode: no mode that a report can name."""
_CODE_AT = 2
"""Where the request code stands in a message, behind the transport's type and the version."""


class LabelledRequester(Requester):
    """A requester whose session has a name as soon as the key exchange is sent."""

    __slots__ = ("_label",)

    def __init__(self, config: RequesterConfig) -> None:
        super().__init__(config)
        self._label = ""

    @property
    def label(self) -> str:
        """The name: a digest of the key exchange, which both ends see."""
        return self._label

    def receive(self, message: bytes) -> list[bytes]:
        """Take a message and return those that answer it."""
        answers = super().receive(message)
        self._label = next(filter(None, map(_label_of, answers)), self._label)
        return answers

    def secret(self) -> bytes:
        """Return the session's exported secret, once."""
        return self.exported_master_secret()

    def report_nonce(self, drawn: bytes) -> bytes:
        """Return the nonce that commits to the session's transcript and to ``drawn``.

        Raises:
            SpdmError: there is no session.
        """
        if self.session is None:
            raise UnexpectedMessageError("an open session", "a request for a report")
        return nonce_in_session(self.session, drawn)

    def take_evidence(self, message: bytes) -> GpuEvidence:
        """Return the report that came inside the session, with the responder's chain."""
        taken = self.take_report(message)
        return GpuEvidence(taken.report, pem_chain(taken.session.responder.certificates))


class LabelledResponder(Responder):
    """A responder whose session has a name as soon as the key exchange came."""

    __slots__ = ("_label",)

    def __init__(self, config: ResponderConfig) -> None:
        super().__init__(config)
        self._label = ""

    @property
    def label(self) -> str:
        """The name: a digest of the key exchange, which both ends see."""
        return self._label

    def receive(self, message: bytes) -> list[bytes]:
        """Take a message and return those that answer it."""
        answers = super().receive(message)
        self._label = _label_of(message) or self._label
        return answers

    def secret(self) -> bytes:
        """Return the session's exported secret, once."""
        return self.exported_master_secret()


def _label_of(message: bytes) -> str:
    in_the_clear = message[:1] == bytes([SPDM])
    exchange = message[_CODE_AT : _CODE_AT + 1] == bytes([KeyExchange.CODE])
    return "s" + sha384(message)[:4].hex() if in_the_clear and exchange else ""


def pem_chain(certificates: tuple[x509.Certificate, ...]) -> bytes:
    """Return a chain, root first, as PEM with the device's certificate first."""
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in reversed(certificates))


def gpu_responder(gpu: SimulatedGpu, random: Random) -> LabelledResponder:
    """Return the GPU's end of a new session."""
    certificates = tuple(reversed(gpu.certificates))

    def report(request: bytes) -> bytes:
        return gpu.report(request)[len(request) :]

    return LabelledResponder(ResponderConfig(certificates, gpu.key, report, random))


@dataclass(frozen=True, slots=True)
class GpuVerifier:
    """Trusts and appraises GPUs, at times that ``clock`` gives; ``names`` says what is known of them, by key."""

    anchors: Anchors
    clock: Callable[[], datetime]
    names: dict[bytes, str]

    def requester(self, random: Random) -> LabelledRequester:
        """Return the orchestrator's end of a new session."""
        return LabelledRequester(RequesterConfig(self.trust, random))

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        """Appraise a report: its signer's chain, the nonce it answers, and confidential mode."""
        chain = parse_pem_chain(evidence.chain)
        appraisal = nvidia.appraise_gpu(
            evidence.report,
            evidence.chain,
            at=self.clock(),
            policy=GpuPolicy(frozenset({"chain", "validity", "signature", "firmware-id"}), modes=self.modes()),
            anchors=self.roots(chain),
            nonce=self.expected(nonce),
        )
        key = key_bytes(chain[0].public_key())  # type: ignore[arg-type]  # the appraisal refuses other curves
        confidential = appraisal.claims.get("mode") == ReportedMode.SINGLE_GPU.value
        mode = Mode.CONFIDENTIAL if confidential else Mode.OPEN
        known = {"device": self.names.get(key, "unknown GPU"), "mode": mode.value, "key": key}
        return Appraisal(appraisal.steps, {**appraisal.claims, **known})

    @enforces("REQ-SETUP-03", "gpu-certificate")
    def roots(self, chain: tuple[x509.Certificate, ...]) -> Anchors:
        """Return the roots in which the signer's chain has to end."""
        del chain
        return self.anchors

    @enforces("REQ-SETUP-04", "report-nonce")
    def expected(self, nonce: bytes) -> bytes | None:
        """Return the nonce that the report has to answer: the one that was drawn for this session."""
        return nonce

    @enforces("REQ-SETUP-05", "mode-check")
    def modes(self) -> frozenset[ReportedMode] | None:
        """Return the modes that the report may state: the confidential one."""
        return frozenset({ReportedMode.SINGLE_GPU})

    @enforces("REQ-SETUP-03", "gpu-certificate")
    def trust(self, certificates: tuple[x509.Certificate, ...]) -> None:
        """Insist that the responder's chain ends in the vendor's root, and is valid now.

        Raises:
            UntrustedChainError: it does not, or is not.
        """
        try:
            check_path(tuple(reversed(certificates)), self.anchors.of(AnchorRole.NVIDIA_DEVICE))
        except PathError as error:
            raise UntrustedChainError(str(error)) from error
        begins, ends = validity(certificates)
        if not begins <= self.clock() <= ends:
            raise UntrustedChainError(f"valid from {begins} to {ends}")


@dataclass(frozen=True, slots=True)
class TdQuoter:
    """Makes the orchestrator's composite evidence in a TD."""

    td: SimulatedTd

    def evidence(self, exporter: bytes, nonce: bytes, manifest: bytes, gpu: GpuEvidence) -> bytes:
        """Return a quote over everything it is bound to, and what of that the holder cannot know."""
        binding = Binding(ORCHESTRATOR, exporter, sha384(gpu.report), nonce, FIRST_EPOCH, sha384(manifest))
        return CompositeEvidence(binding, self.td.quote(binding.report_data()), gpu.report, gpu.chain).encode()


@dataclass(frozen=True, slots=True)
class TdVerifier:
    """Appraises the orchestrator's evidence: a quote of the measurement expected, bound to this channel and job."""

    anchors: Anchors
    collateral: bytes
    measurement: bytes
    clock: Callable[[], datetime]

    @enforces("REQ-SETUP-09", "quote-bound-to-channel")
    @enforces("REQ-SETUP-10", "manifest-check")
    def appraise(self, evidence: bytes, exporter: bytes, nonce: bytes, manifest: bytes) -> Appraisal:
        """Appraise a quote and what it is bound to; the GPU is the attested orchestrator's business."""
        policy = TdPolicy(require=QUOTE_STEPS, measurements=self.measured())
        return appraise_composite(
            evidence,
            Expected(ORCHESTRATOR, exporter, nonce, FIRST_EPOCH, sha384(manifest)),
            Verifier(self.anchors, policy, collateral=self.collateral),
            at=self.clock(),
            waived=self.unbound(),
        )

    @enforces("REQ-SETUP-08", "orchestrator-quote")
    def measured(self) -> tuple[tuple[str, frozenset[bytes]], ...]:
        """Return the measurements that the quote has to state."""
        return (("mrtd", frozenset({self.measurement})),)

    def unbound(self) -> frozenset[str]:
        """Return what the quote need not be bound to: nothing."""
        return frozenset()
