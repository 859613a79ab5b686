"""The deployment of an ablated design: the secure parts, with alternatives where defences are off.

A verifier of a weaker design leaves out a step: what it believes of a GPU's report, or of the orchestrator's quote.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from cryptography import x509

from carnet_ref.attestation.appraisal import AnchorRole, Anchors
from carnet_ref.attestation.composite import Expected, parse_evidence
from carnet_ref.attestation.nvidia.appraisal import Policy
from carnet_ref.device import CopyEngines
from carnet_ref.keys import UNLIMITED, UsageLimits
from carnet_ref.systems.ablation import leaving_out, without
from carnet_ref.systems.gpu_travelling.ablations import gpu
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout, defence_names, procedures
from carnet_ref.systems.gpu_travelling.deployment import Deployment, Parts
from carnet_ref.systems.gpu_travelling.device import Device, Firmware
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdVerifier
from carnet_ref.systems.gpu_travelling.roles.attestation import VALUES
from carnet_ref.systems.gpu_travelling.roles.gpu import Hardware
from carnet_ref.systems.gpu_travelling.roles.holder import HolderSetup
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink
from carnet_ref.systems.gpu_travelling.roles.messages import Grant


class TrustsAnyChain(GpuVerifier):
    """Ablation: accepts a report and a session from any device with a certificate chain, whatever its root."""

    def roots(self, chain: tuple[x509.Certificate, ...]) -> Anchors:
        """Return the last certificate of the chain itself as its root."""
        return Anchors({**self.anchors.by_role, AnchorRole.NVIDIA_DEVICE: (chain[-1],)})

    def trust(self, certificates: tuple[x509.Certificate, ...]) -> None:
        """Trust every chain."""


class TakesAnyFirmware(GpuVerifier):
    """Ablation: accepts measurements of any firmware."""

    def policy(self) -> Policy:
        """Return a policy without a firmware version."""
        return _leaving_out(super().policy(), VALUES, minimum_driver=None, minimum_vbios=None)

    def reference_values(self) -> tuple[bytes, ...]:
        """Return no reference values."""
        return ()


class AsksNobody(GpuVerifier):
    """Ablation: accepts certificates without asking whether they are revoked."""

    def policy(self) -> Policy:
        """Return a policy without revocation."""
        return _leaving_out(super().policy(), {"revocation"})

    def answers(self, chain: tuple[x509.Certificate, ...]) -> tuple[bytes, ...]:
        """Return no OCSP replies."""
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
    """Ablation: accepts quotes with any code measurement."""

    def expected_measurements(self) -> tuple[tuple[str, frozenset[bytes]], ...]:
        """Return no expected measurement."""
        return ()


def _believing(field: str) -> type[TdVerifier]:
    """Return a verifier that expects of one field what the evidence itself says."""

    class Credulous(TdVerifier):
        def expected_binding(self, evidence: bytes, known: Expected) -> Expected:
            said = getattr(parse_evidence(evidence).binding, field)
            return replace(super().expected_binding(evidence, known), **{field: said})

    return Credulous


#: What the orchestrator leaves out of a report's appraisal without each defence.
GPU: Final[Mapping[str, type[GpuVerifier]]] = {
    "gpu-certificate": TrustsAnyChain,
    "report-nonce": leaving_out(GpuVerifier, "expected_nonce"),
    "mode-check": _asking_less({"mode"}, modes=None),
    "debug-check": _asking_less({"debug"}, allow_debug=True),
    "reference-values": TakesAnyFirmware,
    "revocation-check": AsksNobody,
}

#: What a holder leaves out of a quote's appraisal without each defence.
QUOTE: Final[Mapping[str, type[TdVerifier]]] = {
    "orchestrator-quote": TrustsAnyMeasurement,
    "quote-bound-to-channel": _believing("exporter"),
    "manifest-check": _believing("manifest"),
}


NO_LIMITS: Final = UsageLimits(UNLIMITED, UNLIMITED)  #: The limits of keys where ``key-usage-limit`` is off.


@dataclass(frozen=True)
class AblatedDeployment(Deployment):
    """A deployment without the defences ``off``; with none off, the secure deployment.

    Raises ValueError if ``off`` names something that is no defence.
    """

    off: frozenset[str] = frozenset()

    maker: ClassVar[str] = f"{__name__}:AblatedDeployment.of"

    def __post_init__(self) -> None:
        unknown = sorted(self.off - defence_names()) if self.off else []
        if unknown:
            raise ValueError(f"'{unknown[0]}' is no defence that an implementation can have")

    @property
    def without(self) -> frozenset[str]:
        """The defences that the design lacks; key schedule ``none`` lacks rotation."""
        return self.off.union(("rotation-out", "rotation-in") if self.schedule == "none" else ())

    @property
    def removed_defences(self) -> tuple[str, ...]:
        """The removed defences, for the trace's header."""
        return tuple(sorted(self.off))

    @cached_property
    def parts(self) -> Parts:
        """The parts of the roles: the secure ones, with alternatives where defences are off."""
        off = self.off
        return Parts(
            Hardware(
                without(Device, gpu.DEVICES, off),
                without(CopyEngines, gpu.ENGINES, off),
                without(Firmware, gpu.FIRMWARE, off),
                ChecksWithout(off),
            ),
            without(GpuVerifier, GPU, off),
            without(TdVerifier, QUOTE, off),
            procedures(self.without),
        )

    @property
    def limits(self) -> UsageLimits:
        """The usage limits of link keys."""
        return NO_LIMITS if "key-usage-limit" in self.off else super().limits

    @cached_property
    def unauthenticated_addresses(self) -> list[int]:
        """The buffer addresses that were announced outside of every channel."""
        return []

    def holder_setup(self, name: str) -> HolderSetup:
        """Return a holder's setup; without ``address-in-grant`` it uses the last announced buffer address."""
        setup = super().holder_setup(name)
        link = without(BorrowedLink, gpu.BORROWED_LINKS, self.off)
        address = self._address_heard if "address-in-grant" in self.off else setup.address
        return replace(setup, checks=ChecksWithout(self.off), link=link, address=address)

    def _address_heard(self, grant: Grant) -> int:
        return self.unauthenticated_addresses[-1] if self.unauthenticated_addresses else grant.address

    @property
    def settings(self) -> dict[str, Any]:
        """The settings from which :meth:`of` makes the same deployment."""
        return {**super().settings, "off": sorted(self.off)}

    @classmethod
    def arguments(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the constructor arguments for these settings."""
        return {**super().arguments(settings), "off": frozenset(settings["off"])}
