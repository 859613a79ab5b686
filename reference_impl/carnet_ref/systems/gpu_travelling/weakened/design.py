"""Which parts a deployment is built of: the secure ones, and alternatives where defences are off."""

from __future__ import annotations

from typing import Final

from carnet_ref.device.engines import CopyEngines
from carnet_ref.keys import UsageLimits
from carnet_ref.keys.usage import UNLIMITED
from carnet_ref.systems.gpu_travelling.device.device import Device
from carnet_ref.systems.gpu_travelling.device.firmware import Firmware
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdVerifier
from carnet_ref.systems.gpu_travelling.roles.gpu import Hardware
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Link
from carnet_ref.systems.gpu_travelling.weakened import device, engines, evidence, links, reports
from carnet_ref.systems.gpu_travelling.weakened.composing import without

NO_LIMITS: Final = UsageLimits(UNLIMITED, UNLIMITED)
"""The limits of keys where ``key-usage-limit`` is off."""


def hardware(off: frozenset[str]) -> Hardware:
    """Return what a GPU is made of."""
    return Hardware(
        without(Device, device.ALTERNATIVES, off),
        without(CopyEngines, engines.ALTERNATIVES, off),
        without(Firmware, reports.ALTERNATIVES, off),
        Checks(off),
    )


def link(off: frozenset[str]) -> type[Link]:
    """Return the orchestrator's end of the link."""
    return without(Link, links.ALTERNATIVES, off)


def borrowed_link(off: frozenset[str]) -> type[BorrowedLink]:
    """Return a holder's end of the link."""
    return without(BorrowedLink, links.BORROWED, off)


def gpu_verifier(off: frozenset[str]) -> type[GpuVerifier]:
    """Return what appraises a GPU's report."""
    return without(GpuVerifier, evidence.GPU, off)


def quote_verifier(off: frozenset[str]) -> type[TdVerifier]:
    """Return what appraises the orchestrator's quote."""
    return without(TdVerifier, evidence.QUOTE, off)


def limits(asked: UsageLimits, off: frozenset[str]) -> UsageLimits:
    """Return how much a key may protect."""
    return NO_LIMITS if "key-usage-limit" in off else asked
