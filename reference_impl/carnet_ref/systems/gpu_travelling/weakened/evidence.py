"""Verifiers that leave out a step: what a weaker design believes of a GPU's report, or of the orchestrator's quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cryptography import x509

from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.nvidia.policy import Firmware
from carnet_ref.attestation.nvidia.report import Mode
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdVerifier


class TrustsAnyChain(GpuVerifier):
    """A report and a session are taken from any device with a chain, whatever root it ends in."""

    __slots__ = ()

    def roots(self, chain: tuple[x509.Certificate, ...]) -> Anchors:
        """Return the end of the chain itself."""
        return Anchors({**self.anchors.by_role, AnchorRole.NVIDIA_DEVICE: (chain[-1],)})

    def trust(self, certificates: tuple[x509.Certificate, ...]) -> None:
        """Trust every chain."""


class TakesAnyNonce(GpuVerifier):
    """A report may have been made for another session."""

    __slots__ = ()

    def expected(self, nonce: bytes) -> bytes | None:
        """Expect no nonce."""


class TakesAnyMode(GpuVerifier):
    """A report may state any mode."""

    __slots__ = ()

    def modes(self) -> frozenset[Mode] | None:
        """Ask for no mode."""


class TakesAnyDebugMode(GpuVerifier):
    """A report may state that its device is debugged."""

    __slots__ = ()

    def debuggable(self) -> bool:
        """Allow every debug mode."""
        return True


class TakesAnyFirmware(GpuVerifier):
    """A report may hold any measurements, of any version."""

    __slots__ = ()

    def firmware(self) -> Firmware | None:
        """Compare with no firmware."""


class AsksNobody(GpuVerifier):
    """A certificate counts whatever its authority says of it today."""

    __slots__ = ()

    def answers(self, chain: tuple[x509.Certificate, ...]) -> tuple[bytes, ...] | None:
        """Ask nobody."""


class TrustsAnyMeasurement(TdVerifier):
    """A quote may measure any code."""

    __slots__ = ()

    def measured(self) -> tuple[tuple[str, frozenset[bytes]], ...]:
        """Expect no measurement."""
        return ()


class TakesAnyChannel(TdVerifier):
    """A quote may be bound to another channel."""

    __slots__ = ()

    def unbound(self) -> frozenset[str]:
        """Leave the channel out, too."""
        return super().unbound() | {"channel"}


class TakesAnyManifest(TdVerifier):
    """A quote may be bound to the manifest of another job."""

    __slots__ = ()

    def unbound(self) -> frozenset[str]:
        """Leave the manifest out, too."""
        return super().unbound() | {"manifest"}


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
