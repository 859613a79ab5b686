"""Collecting on this machine: one nonce for everything, and a virtual machine that vouches for its GPUs' reports.

GPUs are asked first, with the nonce. The virtual machine is asked afterwards, with report data that begins with the
nonce and ends with a hash of the GPUs' reports (`report_data`). So its quote says which reports its own software held,
and evidence of two machines cannot be put together. Without GPUs the report data is the nonce and zeros.

`carnet_ref.attestation.composite` binds more: a channel, a job, an instance. None of these exists here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from carnet_ref.attestation.live.errors import AbsentError, CollectionError
from carnet_ref.attestation.live.nvml import CollectedGpu, CollectedGpus, DriverWords, Nvml, collect_gpus, this_nvml
from carnet_ref.attestation.live.tsm import CollectedVm, TsmFolder, collect_vm
from carnet_ref.crypto.primitives import sha256
from carnet_ref.wire.fields import join

NONCE_BYTES: Final = 32
NODE: Final = "node"
"""The format of evidence of GPUs."""
GPUS_FILE: Final = "gpus.json"
VM_FILE: Final = "{}.bin"
"""What files of evidence are called."""
PROVIDERS: Final = {"tdx_guest": "tdx", "sev_guest": "snp"}
"""The format of evidence for each provider of configfs-tsm."""
KINDS: Final = (NODE, *PROVIDERS.values())
"""What can be collected, by the names of formats."""
PROVIDED: Final = ("nonce", "report-data")
"""Options of formats whose values come from what was asked."""
_BINDING: Final = b"carnet live binding 1\0"


@dataclass(frozen=True, slots=True)
class Machine:
    """Where evidence is looked for."""

    nvml: Callable[[], Nvml]
    """Returns the binding of NVML, or raises ``AbsentError``."""
    tsm: TsmFolder
    """The folder of configfs-tsm."""


def this_machine() -> Machine:
    """Return the machine that this runs on."""
    return Machine(this_nvml, TsmFolder())


@dataclass(frozen=True, slots=True)
class Part:
    """Evidence of one format, as a file that its subcommand of ``carnet attest`` reads."""

    kind: str
    """The name of the format."""
    file: str
    """What the file is called where it is kept."""
    evidence: bytes
    """The contents of the file."""
    asked: Mapping[str, bytes]
    """What it was asked with, by the option that says so."""
    chain: bytes | None = None
    """Certificates that came apart from it; ``None`` where it has its own, or none came."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Everything that was collected, and what was looked for and is not here."""

    nonce: bytes
    """The 32 bytes that everything was asked with."""
    driver: DriverWords | None
    """What the driver says of the GPUs; ``None`` where there are none."""
    parts: tuple[Part, ...]
    """The evidence to appraise, at least one."""
    absent: Mapping[str, str]
    """Why there is no evidence of ``gpus`` or of the ``vm``."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The formats of the parts."""
        return tuple(part.kind for part in self.parts)


def collect(machine: Machine, nonce: bytes) -> Collection:
    """Collect all evidence that this machine can give.

    Raises:
        CollectionError: there is none, or something that is there did not answer; then nothing is appraised.
    """
    absent: dict[str, str] = {}
    gpus, vm = None, None
    try:
        gpus = collect_gpus(machine.nvml(), nonce)
    except AbsentError as error:
        absent["gpus"] = str(error)
    reports = [gpu.report for gpu in gpus.devices] if gpus else []
    try:
        vm = collect_vm(machine.tsm, report_data(nonce, reports))
    except AbsentError as error:
        absent["vm"] = str(error)
    if vm is not None and vm.provider not in PROVIDERS:
        absent["vm"] = f"reports of the provider {vm.provider!r} are not appraised"
        vm = None
    if gpus is None and vm is None:
        raise CollectionError(f"no evidence on this machine. GPUs: {absent['gpus']}. Virtual machine: {absent['vm']}")
    return assembled(nonce, gpus, vm, absent)


def assembled(
    nonce: bytes, gpus: CollectedGpus | None, vm: CollectedVm | None, absent: Mapping[str, str]
) -> Collection:
    """Return evidence that should have been asked for with the nonce, as parts to appraise."""
    parts = [] if gpus is None else [_of_gpus(gpus, nonce)]
    reports = [gpu.report for gpu in gpus.devices] if gpus else []
    parts += [] if vm is None else [_of_vm(vm, report_data(nonce, reports))]
    return Collection(nonce, None if gpus is None else gpus.driver, tuple(parts), absent)


def report_data(nonce: bytes, gpu_reports: Sequence[bytes]) -> bytes:
    """Return the 64 bytes to ask the virtual machine with: the nonce, and what commits to the GPUs' reports."""
    assert len(nonce) == NONCE_BYTES, "a nonce has 32 bytes"
    commitment = sha256(_BINDING + join(*gpu_reports)) if gpu_reports else bytes(32)
    return nonce + commitment


def _of_gpus(gpus: CollectedGpus, nonce: bytes) -> Part:
    """Write the reports as NVIDIA's SDKs do, which ``carnet attest node`` reads."""
    document = json.dumps([_entry(gpu) for gpu in gpus.devices])
    return Part(NODE, GPUS_FILE, document.encode(), {"nonce": nonce})


def _entry(gpu: CollectedGpu) -> dict[str, str]:
    return {
        "evidence": base64.b64encode(gpu.report).decode(),
        "certificate": base64.b64encode(gpu.chain).decode(),
    }


def _of_vm(vm: CollectedVm, asked: bytes) -> Part:
    kind = PROVIDERS[vm.provider]
    return Part(kind, VM_FILE.format(kind), vm.report, {"report-data": asked}, vm.auxiliary)
