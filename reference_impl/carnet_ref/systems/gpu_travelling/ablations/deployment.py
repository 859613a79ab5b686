"""The deployment of a design that lacks some defences: the secure parts, and alternatives where defences are off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from carnet_ref.device import CopyEngines
from carnet_ref.keys import UNLIMITED, UsageLimits
from carnet_ref.systems.ablation import without
from carnet_ref.systems.gpu_travelling.ablations import evidence, gpu
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout, defence_names, procedures
from carnet_ref.systems.gpu_travelling.deployment import Deployment, Parts
from carnet_ref.systems.gpu_travelling.device import Device, Firmware
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdVerifier
from carnet_ref.systems.gpu_travelling.roles.gpu import Hardware
from carnet_ref.systems.gpu_travelling.roles.holder import HolderSetup
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink
from carnet_ref.systems.gpu_travelling.roles.messages import Grant

NO_LIMITS: Final = UsageLimits(UNLIMITED, UNLIMITED)
"""The limits of keys where ``key-usage-limit`` is off."""


@dataclass(frozen=True)
class AblatedDeployment(Deployment):
    """A deployment without the defences ``off``, which shows what each of them is worth; without any, the secure one.

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
        """The defences that the design lacks; the schedule ``none`` is one without rotation."""
        return self.off.union(("rotation-out", "rotation-in") if self.schedule == "none" else ())

    @property
    def removed(self) -> tuple[str, ...]:
        """The defences that the trace says are off."""
        return tuple(sorted(self.off))

    @cached_property
    def parts(self) -> Parts:
        """The secure parts, with alternatives."""
        off = self.off
        return Parts(
            Hardware(
                without(Device, gpu.DEVICES, off),
                without(CopyEngines, gpu.ENGINES, off),
                without(Firmware, gpu.FIRMWARE, off),
                ChecksWithout(off),
            ),
            without(GpuVerifier, evidence.GPU, off),
            without(TdVerifier, evidence.QUOTE, off),
            procedures(self.without),
        )

    @property
    def limits(self) -> UsageLimits:
        """How much a link key may protect."""
        return NO_LIMITS if "key-usage-limit" in self.off else super().limits

    @cached_property
    def unauthenticated_addresses(self) -> list[int]:
        """Where somebody said, outside of every channel, that the buffer is."""
        return []

    def holder_setup(self, name: str) -> HolderSetup:
        """Return what a holder brings; without ``address-in-grant`` it believes what was said of the buffer last."""
        setup = super().holder_setup(name)
        link = without(BorrowedLink, gpu.BORROWED_LINKS, self.off)
        address = self._address_heard if "address-in-grant" in self.off else setup.address
        return replace(setup, checks=ChecksWithout(self.off), link=link, address=address)

    def _address_heard(self, grant: Grant) -> int:
        return self.unauthenticated_addresses[-1] if self.unauthenticated_addresses else grant.address

    @property
    def settings(self) -> dict[str, Any]:
        """What `of` makes the same deployment of."""
        return {**super().settings, "off": sorted(self.off)}

    @classmethod
    def arguments(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the deployment with these settings is made with."""
        return {**super().arguments(settings), "off": frozenset(settings["off"])}
