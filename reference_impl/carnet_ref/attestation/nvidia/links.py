"""Which switches the GPUs of a node say that they are linked to, against the switches that show evidence.

A GPU's signed report names the switch at the other end of each of its links, by the switch's device identifier (PDI). A
switch's report has its own identifier and those of eight GPUs. Hopper's reports do not state the GPU's own identifier,
so only the number of GPUs that a switch names can be compared. What follows the identifiers in a switch's list, a byte
for each port, is not read: its meaning is not public.

Source: NVIDIA nvtrust, PPCIE verifier, "topology checks"; an unused link has the identifier zero, and a switch writes
its own with its bytes the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from carnet_ref.attestation.appraisal import Checklist
from carnet_ref.attestation.nvidia.report import GpuReport, OpaqueType

STEP: Final = "links"
SOURCE: Final = "NVIDIA nvtrust, PPCIE verifier, topology checks"
LACKING: Final = "links not compared"
SWITCHES: Final = "evidence"
"""The argument by which evidence of switches is given."""
PDI_BYTES: Final = 8
UNUSED: Final = bytes(PDI_BYTES)
GPUS_OF_A_SWITCH: Final = 8 * PDI_BYTES
PORTS: Final = 64
"""The sizes of the two parts of what a switch says of its links."""

Names = frozenset[bytes]


def check_links(steps: Checklist, gpus: Sequence[GpuReport], switches: Sequence[GpuReport]) -> None:
    """Insist that the GPUs are linked to the switches that are here, and the switches to as many GPUs as are here.

    Where no GPU names a switch, or no switch is here, the step is left out.

    Raises:
        RefusedError: devices differ about their links, or do not say how they are linked.
    """
    named = [_identifiers(steps, gpu.field(OpaqueType.SWITCH_PDI) or b"") for gpu in gpus]
    if not any(named):
        steps.left_out(STEP, "no GPU names a switch that it is linked to", SOURCE, lacking=LACKING)
        return
    if len(set(named)) > 1:
        steps.refuse(STEP, "the GPUs differ in which switches they are linked to", SOURCE)
    if not switches:
        why = f"the GPUs name {len(named[0])} switches, of which no evidence is given"
        steps.left_out(STEP, why, SOURCE, lacking=LACKING, without=(SWITCHES,))
        return
    _check_switches(steps, named[0], switches)
    _check_gpus(steps, len(gpus), switches)
    steps.passed(STEP, f"every GPU to the {len(switches)} switches, every switch to {len(gpus)} GPUs", SOURCE)


def _check_switches(steps: Checklist, named: Names, switches: Sequence[GpuReport]) -> None:
    own = [_own(steps, switch) for switch in switches]
    if len(set(own)) < len(own):
        steps.refuse(STEP, "two switches have the same identifier", SOURCE)
    absent = sorted(named - set(own))
    if absent:
        steps.refuse(STEP, f"the GPUs are linked to switch {absent[0].hex()}, which shows no evidence", SOURCE)
    foreign = sorted(set(own) - named)
    if foreign:
        steps.refuse(STEP, f"switch {foreign[0].hex()} is linked to none of the GPUs", SOURCE)


def _check_gpus(steps: Checklist, gpus: int, switches: Sequence[GpuReport]) -> None:
    ends = [_gpus_of(steps, switch) for switch in switches]
    if len(set(ends)) > 1:
        steps.refuse(STEP, "the switches differ in which GPUs they are linked to", SOURCE)
    if len(ends[0]) != gpus:
        steps.refuse(STEP, f"the switches are linked to {len(ends[0])} GPUs, and {gpus} show evidence", SOURCE)


def _own(steps: Checklist, switch: GpuReport) -> bytes:
    """Return the identifier of a switch as GPUs write it."""
    value = switch.field(OpaqueType.SWITCH_PDI)
    if value is None or len(value) != PDI_BYTES:
        steps.refuse(STEP, "a switch does not state its identifier", SOURCE)
    return value[::-1]


def _gpus_of(steps: Checklist, switch: GpuReport) -> Names:
    """Return the identifiers of the GPUs that a switch is linked to."""
    value = switch.field(OpaqueType.SWITCH_GPU_PDIS) or b""
    if len(value) != GPUS_OF_A_SWITCH + PORTS:
        steps.refuse(STEP, "a switch does not say which GPUs it is linked to", SOURCE)
    return _identifiers(steps, value[:GPUS_OF_A_SWITCH])


def _identifiers(steps: Checklist, value: bytes) -> Names:
    """Return the identifiers in a list of them, without those of unused links."""
    if len(value) % PDI_BYTES:
        steps.refuse(STEP, f"{len(value)} bytes are no list of identifiers of {PDI_BYTES} bytes", SOURCE)
    every = (value[place : place + PDI_BYTES] for place in range(0, len(value), PDI_BYTES))
    return frozenset(each for each in every if each != UNUSED)
