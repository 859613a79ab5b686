"""Verifiers that leave out a step: what a weaker design believes of a GPU's report, or of the orchestrator's quote."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, Final

from cryptography import x509

from carnet_ref.attestation.appraisal import AnchorRole, Anchors
from carnet_ref.attestation.composite import Expected, parse_evidence
from carnet_ref.attestation.nvidia.appraisal import Policy
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdVerifier
from carnet_ref.systems.gpu_travelling.roles.attestation import VALUES


class TrustsAnyChain(GpuVerifier):
    """A report and a session are taken from any device with a chain, whatever root it ends in."""

    def roots(self, chain: tuple[x509.Certificate, ...]) -> Anchors:
        """Return the end of the chain itself."""
        return Anchors({**self.anchors.by_role, AnchorRole.NVIDIA_DEVICE: (chain[-1],)})

    def trust(self, certificates: tuple[x509.Certificate, ...]) -> None:
        """Trust every chain."""


class TakesAnyNonce(GpuVerifier):
    """A report may have been made for another session."""

    def expected(self, nonce: bytes) -> bytes | None:
        """Expect no nonce."""


class TakesAnyMode(GpuVerifier):
    """A report may state any mode."""

    def policy(self) -> Policy:
        """Ask for no mode."""
        return _leaving_out(super().policy(), {"mode"}, modes=None)


class TakesAnyDebugMode(GpuVerifier):
    """A report may state that its device is debugged."""

    def policy(self) -> Policy:
        """Allow every debug mode."""
        return _leaving_out(super().policy(), {"debug"}, allow_debug=True)


class TakesAnyFirmware(GpuVerifier):
    """A report may hold any measurements, of any version."""

    def policy(self) -> Policy:
        """Ask for no version."""
        return _leaving_out(super().policy(), VALUES, minimum_driver=None, minimum_vbios=None)

    def reference_values(self) -> tuple[bytes, ...]:
        """Compare with nothing."""
        return ()


class AsksNobody(GpuVerifier):
    """A certificate counts whatever its authority says of it today."""

    def policy(self) -> Policy:
        """Ask for no reply."""
        return _leaving_out(super().policy(), {"revocation"})

    def answers(self, chain: tuple[x509.Certificate, ...]) -> tuple[bytes, ...]:
        """Ask nobody."""
        return ()


class TrustsAnyMeasurement(TdVerifier):
    """A quote may measure any code."""

    def measured(self) -> tuple[tuple[str, frozenset[bytes]], ...]:
        """Expect no measurement."""
        return ()


class TakesAnyChannel(TdVerifier):
    """A quote may be bound to another channel."""

    def expected(self, evidence: bytes, known: Expected) -> Expected:
        """Expect the channel that the evidence names."""
        named = parse_evidence(evidence).binding.exporter
        return replace(super().expected(evidence, known), exporter=named)


class TakesAnyManifest(TdVerifier):
    """A quote may be bound to the manifest of another job."""

    def expected(self, evidence: bytes, known: Expected) -> Expected:
        """Expect the manifest that the evidence names."""
        named = parse_evidence(evidence).binding.manifest
        return replace(super().expected(evidence, known), manifest=named)


def _leaving_out(policy: Policy, steps: Set[str], **changes: Any) -> Policy:
    return replace(policy, require=policy.require - steps, **changes)


GPU: Final[Mapping[str, type[GpuVerifier]]] = {
    "gpu-certificate": TrustsAnyChain,
    "report-nonce": TakesAnyNonce,
    "mode-check": TakesAnyMode,
    "debug-check": TakesAnyDebugMode,
    "reference-values": TakesAnyFirmware,
    "revocation-check": AsksNobody,
}
"""What the orchestrator leaves out of a report's appraisal without each defence."""

QUOTE: Final[Mapping[str, type[TdVerifier]]] = {
    "orchestrator-quote": TrustsAnyMeasurement,
    "quote-bound-to-channel": TakesAnyChannel,
    "manifest-check": TakesAnyManifest,
}
"""What a holder leaves out of a quote's appraisal without each defence."""
