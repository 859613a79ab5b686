"""The attestation that roles use, implemented by SPDM sessions, NVIDIA reports and TDX quotes."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation import composite
from carnet_ref.attestation.appraisal import AnchorRole, Anchors, Appraisal
from carnet_ref.attestation.intel.appraisal import Policy as TdPolicy
from carnet_ref.attestation.nvidia import appraisal as nvidia
from carnet_ref.attestation.nvidia.appraisal import STEPS, Firmware
from carnet_ref.attestation.nvidia.appraisal import Policy as GpuPolicy
from carnet_ref.attestation.nvidia.report import Mode as ReportedMode
from carnet_ref.attestation.nvidia.rim import parse_rim
from carnet_ref.attestation.simulated.gpu import SimulatedGpu
from carnet_ref.attestation.simulated.td import SimulatedTd
from carnet_ref.crypto.certificate_path import PathError, check_path, parse_pem_chain, validity
from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.device import Mode
from carnet_ref.marks import enforces
from carnet_ref.spdm.endpoints import Endpoint, Requester, Responder
from carnet_ref.spdm.errors import UnexpectedMessageError, UntrustedChainError
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.messages import ALL_MEASUREMENTS, KeyExchange, Summary
from carnet_ref.spdm.requester import RequesterConfig
from carnet_ref.spdm.responder import ResponderConfig
from carnet_ref.spdm.secured import SPDM
from carnet_ref.spdm.session import BlockReporter, MeasurementRequest, key_bytes
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence
from carnet_ref.wire import MalformedError

#: Evidence is shown when a holder joins, before the first epoch, and holds for the session from there on.
FIRST_EPOCH: Final = 0
#: The steps that a quote has to pass.
QUOTE_STEPS: Final = frozenset({"pck-chain", "quote-signature", "report-data", "tcb-status", "revocation"})
#: The steps that a GPU's report has to pass, beside those that are always taken where something is given.
GPU_STEPS: Final = frozenset(STEPS) - {"policy", "nonce"}
#: The feature flag of a simulated GPU that is out of confidential mode: no mode that a report can name.
OPEN_MODE: Final = 0xFF
_CODE_AT = 2  #: Where the request code stands in a message, behind the transport's type and the version.


class _Labelled(Endpoint):
    _label = ""

    @property
    def label(self) -> str:
        """The name of the session: a digest of the key exchange, which both ends see."""
        return self._label

    def receive(self, message: bytes) -> list[bytes]:
        """Take a message and return those that answer it."""
        answers = super().receive(message)
        self._label = next(filter(None, map(_label_of, (message, *answers))), self._label)
        return answers


class LabelledRequester(_Labelled, Requester):
    """A requester whose session has a name as soon as the key exchange is sent."""

    def report_nonce(self, drawn: bytes) -> bytes:
        """Return the nonce that commits to the session's transcript and to ``drawn``.

        Raises SpdmError if there is no session.
        """
        if self.session is None:
            raise UnexpectedMessageError("an open session", "a request for a report")
        return composite.nonce_in_session(self.session, drawn)

    def take_evidence(self, message: bytes) -> GpuEvidence:
        """Return the report that arrived inside the session, with the responder's chain."""
        taken = self.take_report(message)
        chain = reversed(taken.session.responder.certificates)  # the device's first
        return GpuEvidence(taken.report, b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain))


class LabelledResponder(_Labelled, Responder):
    """A responder whose session has a name as soon as the key exchange came."""


def _label_of(message: bytes) -> str:
    in_the_clear = message[:1] == bytes([SPDM])
    exchange = message[_CODE_AT : _CODE_AT + 1] == bytes([KeyExchange.CODE])
    return "s" + sha384(message)[:4].hex() if in_the_clear and exchange else ""


@dataclass(frozen=True, slots=True)
class GpuReporter:
    """Reports a GPU's measurements: complete reports come from the GPU itself, partial ones are derived."""

    gpu: SimulatedGpu
    random: Random

    def report(self, asked: MeasurementRequest) -> bytes:
        """Return the MEASUREMENTS that answer a request."""
        whole = asked.is_signed and asked.message.operation == ALL_MEASUREMENTS
        if whole and asked.message.version is Version.V1_1 and not asked.before:
            return self.gpu.answer(asked.raw)
        return self._blocks().report(asked)

    def summary(self, kind: Summary) -> bytes:
        """Return the digest of all measurements, or of those that the GPU is rooted in."""
        return self._blocks().summary(kind)

    def _blocks(self) -> BlockReporter:
        return BlockReporter(self.gpu.key, lambda: self.gpu.blocks, self.random, self.gpu.opaque)


def gpu_responder(gpu: SimulatedGpu, random: Random) -> LabelledResponder:
    """Return the GPU's end of a new session."""
    certificates = tuple(reversed(gpu.certificates))
    return LabelledResponder(ResponderConfig(certificates, gpu.key, GpuReporter(gpu, random), random))


@dataclass(frozen=True, slots=True)
class VendorServices:
    """The services of a vendor: signed statements about its devices, over an untrusted channel."""

    reference_values: Callable[[Firmware], tuple[bytes, ...]]  #: returns the manifests of a firmware, or nothing.
    #: returns OCSP replies about the certificates of a chain, leaf first, or nothing.
    answers: Callable[[tuple[x509.Certificate, ...]], tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class GpuVerifier:
    """Verifies GPU evidence at the time ``clock`` gives; ``names`` maps a GPU's public key to its device name.

    It accepts the ``current`` firmware only, and asks ``services`` for its reference values and about certificates.
    """

    anchors: Anchors
    clock: Callable[[], datetime]
    names: Mapping[bytes, str]
    services: VendorServices
    current: Firmware

    def requester(self, random: Random) -> LabelledRequester:
        """Return the orchestrator's end of a new session."""
        return LabelledRequester(RequesterConfig(self.trust, random))

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        """Appraise a report: its signer, its nonce, the firmware that was measured, and the modes that it states."""
        chain = parse_pem_chain(evidence.chain)
        rims = self.reference_values()
        replies, at = (*self.answers(chain), *self._about_signers(rims)), self.clock()
        roots = self.roots(chain)
        appraisal = nvidia.appraise_gpu(
            evidence.report,
            evidence.chain,
            at=at,
            policy=self.policy(),
            anchors=roots,
            nonce=self.expected_nonce(nonce),
            rims=rims,
            ocsp=replies,
        )
        key = key_bytes(chain[0].public_key())  # type: ignore[arg-type]  # the appraisal refuses other curves
        shown = self._shown(appraisal.claims)
        known: dict[str, object] = {"device": self.names.get(key, "unknown GPU"), "mode": shown.value, "key": key}
        if appraisal.accepted:
            known["seconds_left"] = (nvidia.valid_until(chain, rims, replies, roots) - at).total_seconds()
        return Appraisal(appraisal.steps, {**appraisal.claims, **known})

    def policy(self) -> GpuPolicy:
        """Return the policy, which asks for every step."""
        firmware = self.firmware()
        return GpuPolicy(
            GPU_STEPS,
            minimum_driver=firmware.driver,
            minimum_vbios=firmware.vbios,
            modes=self.modes(),
            allow_debug=self.debuggable(),
        )

    def reference_values(self) -> tuple[bytes, ...]:
        """Return the reference values that measurements are compared with."""
        return self.services.reference_values(self.firmware())

    def _about_signers(self, rims: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Return replies about the signers of the manifests; a manifest that cannot be read is refused later."""
        signers: dict[tuple[x509.Certificate, ...], None] = {}
        for rim in rims:
            with contextlib.suppress(MalformedError):
                signers[parse_rim(rim).certificates] = None
        return tuple(reply for chain in signers for reply in self.services.answers(chain))

    def _shown(self, claims: Mapping[str, object]) -> Mode:
        """Return the mode that a report shows; it shows one flaw at a time."""
        if claims.get("mode") != ReportedMode.SINGLE_GPU.value:
            return Mode.OPEN
        if claims.get("debugged"):
            return Mode.DEBUG
        versions = (claims.get("driver_version"), claims.get("vbios_version"))
        return Mode.CONFIDENTIAL if versions == (self.current.driver, self.current.vbios) else Mode.OUTDATED

    @enforces("REQ-SETUP-03", "gpu-certificate")
    def roots(self, chain: tuple[x509.Certificate, ...]) -> Anchors:
        """Return the roots in which the signer's chain has to end."""
        del chain
        return self.anchors

    @enforces("REQ-SETUP-04", "report-nonce")
    def expected_nonce(self, nonce: bytes) -> bytes | None:
        """Return the nonce that the report has to contain."""
        return nonce

    @enforces("REQ-SETUP-05", "mode-check")
    def modes(self) -> frozenset[ReportedMode]:
        """Return the modes that the report may state: confidential only."""
        return frozenset({ReportedMode.SINGLE_GPU})

    @enforces("REQ-SETUP-14", "debug-check")
    def debuggable(self) -> bool:
        """Return whether the report may state a debug mode: False."""
        return False

    @enforces("REQ-SETUP-15", "reference-values")
    def firmware(self) -> Firmware:
        """Return the current firmware, whose reference values the measurements must have; older ones are refused."""
        return self.current

    @enforces("REQ-SETUP-16", "revocation-check")
    def answers(self, chain: tuple[x509.Certificate, ...]) -> tuple[bytes, ...]:
        """Return OCSP replies about the device's certificates; without replies they are refused."""
        return self.services.answers(chain)

    @enforces("REQ-SETUP-03", "gpu-certificate")
    def trust(self, certificates: tuple[x509.Certificate, ...]) -> None:
        """Check that the responder's chain ends in the vendor's root and is valid now.

        Raises UntrustedChainError if it does not, or is not.
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
    """Makes the orchestrator's composite evidence in a TD; ``instance`` identifies the running program."""

    td: SimulatedTd
    instance: bytes

    def evidence(self, exporter: bytes, nonce: bytes, manifest: bytes, gpu: GpuEvidence) -> bytes:
        """Return composite evidence: a quote, with the values that it is bound to."""
        report = sha384(gpu.report)
        binding = composite.Binding(ORCHESTRATOR, exporter, report, nonce, FIRST_EPOCH, sha384(manifest), self.instance)
        return composite.CompositeEvidence(
            binding, self.td.quote(binding.report_data()), gpu.report, gpu.chain
        ).encode()


@dataclass(frozen=True, slots=True)
class TdVerifier:
    """Appraises the orchestrator's evidence: a quote of the expected measurement, bound to channel and job."""

    anchors: Anchors
    collateral: bytes
    measurement: bytes
    clock: Callable[[], datetime]

    @enforces("REQ-SETUP-09", "quote-bound-to-channel")
    @enforces("REQ-SETUP-10", "manifest-check")
    def appraise(self, evidence: bytes, exporter: bytes, nonce: bytes, manifest: bytes) -> Appraisal:
        """Appraise the quote and its binding; the GPU is left to the attested orchestrator."""
        policy = TdPolicy(require=QUOTE_STEPS, measurements=self.expected_measurements())
        return composite.appraise_composite(
            evidence,
            self.expected_binding(
                evidence, composite.Expected(ORCHESTRATOR, exporter, nonce, FIRST_EPOCH, sha384(manifest))
            ),
            composite.Verifier(self.anchors, policy, collateral=self.collateral),
            at=self.clock(),
        )

    @enforces("REQ-SETUP-08", "orchestrator-quote")
    def expected_measurements(self) -> tuple[tuple[str, frozenset[bytes]], ...]:
        """Return the measurements that the quote must have."""
        return (("mrtd", frozenset({self.measurement})),)

    def expected_binding(self, evidence: bytes, known: composite.Expected) -> composite.Expected:
        """Return the expected binding: what the holder knows by itself, nothing from the evidence."""
        del evidence
        return known
