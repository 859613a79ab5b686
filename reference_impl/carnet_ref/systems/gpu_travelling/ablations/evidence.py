"""Verifiers that leave out a step: what a weaker design believes of a GPU's report, or of the orchestrator's quote."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, Final

from cryptography import x509

from carnet_ref.attestation.appraisal import AnchorRole, Anchors
from carnet_ref.attestation.composite import Expected, parse_evidence
from carnet_ref.attestation.nvidia.appraisal import Policy
from carnet_ref.systems.ablation import leaving_out
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdVerifier
from carnet_ref.systems.gpu_travelling.roles.attestation import VALUES


class TrustsAnyChain(GpuVerifier):
    """A report and a session are taken from any device with a chain, whatever root it ends in."""

    def roots(self, chain: tuple[x509.Certificate, ...]) -> Anchors:
        """Return the end of the chain itself."""
        return Anchors({**self.anchors.by_role, AnchorRole.NVIDIA_DEVICE: (chain[-1],)})

    def trust(self, certificates: tuple[x509.Certificate, ...]) -> None:
        """Trust every chain."""


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


def _asking_less(steps: Set[str], **changes: Any) -> type[GpuVerifier]:
    """Return a verifier whose policy asks for fewer steps."""

    class Lenient(GpuVerifier):
        def policy(self) -> Policy:
            return _leaving_out(super().policy(), steps, **changes)

    return Lenient


def _leaving_out(policy: Policy, steps: Set[str], **changes: Any) -> Policy:
    return replace(policy, require=policy.require - steps, **changes)


class TrustsAnyMeasurement(TdVerifier):
    """A quote may measure any code."""

    def measured(self) -> tuple[tuple[str, frozenset[bytes]], ...]:
        """Expect no measurement."""
        return ()


def _believing(field: str) -> type[TdVerifier]:
    """Return a verifier that expects of one field what the evidence itself says."""

    class Credulous(TdVerifier):
        def expected(self, evidence: bytes, known: Expected) -> Expected:
            said = getattr(parse_evidence(evidence).binding, field)
            return replace(super().expected(evidence, known), **{field: said})

    return Credulous


GPU: Final[Mapping[str, type[GpuVerifier]]] = {
    "gpu-certificate": TrustsAnyChain,
    "report-nonce": leaving_out(GpuVerifier, "expected"),
    "mode-check": _asking_less({"mode"}, modes=None),
    "debug-check": _asking_less({"debug"}, allow_debug=True),
    "reference-values": TakesAnyFirmware,
    "revocation-check": AsksNobody,
}
"""What the orchestrator leaves out of a report's appraisal without each defence."""

QUOTE: Final[Mapping[str, type[TdVerifier]]] = {
    "orchestrator-quote": TrustsAnyMeasurement,
    "quote-bound-to-channel": _believing("exporter"),
    "manifest-check": _believing("manifest"),
}
"""What a holder leaves out of a quote's appraisal without each defence."""
