"""Collecting on this machine, and keeping what was collected, so that it can be appraised elsewhere.

GPUs are asked first, with the nonce. The virtual machine is asked afterwards, with report data that begins with the
nonce and ends with a hash of the GPUs' reports (`report_data`). So its quote says which reports its own software held,
and evidence of two machines cannot be put together. Without GPUs the report data is the nonce and zeros.
`carnet_ref.attestation.composite` binds more: a channel, a job, an instance. None of these exists here.

What is kept is a folder with one file for each part. Whoever reads it brings the nonce. What the evidence should have
been asked with is worked out anew from the nonce and from the GPUs' reports; nothing that the folder says about that is
believed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from carnet_command.errors import UsageError
from carnet_command.files import create_durably, read_plain, reason
from carnet_ref.attestation.documents import Document
from carnet_ref.attestation.live import sources
from carnet_ref.attestation.nvidia.wrappers import DeviceEvidence, device_evidence
from carnet_ref.crypto.primitives import sha256
from carnet_ref.wire import MalformedError, join

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
    """Where evidence is looked for: what returns the binding of NVML, or raises AbsentError, and configfs-tsm."""

    nvml: Callable[[], sources.Nvml]
    tsm: sources.TsmFolder


def this_machine() -> Machine:
    """Return the machine that this runs on."""
    return Machine(sources.this_nvml, sources.TsmFolder())


@dataclass(frozen=True, slots=True)
class Part:
    """Evidence of the format ``kind``, as a ``file`` that its subcommand of ``carnet attest`` reads."""

    kind: str
    file: str
    evidence: bytes
    asked: Mapping[str, bytes]
    """What it was asked with, by the option that says so."""
    chain: bytes | None = None
    """Certificates that came apart from it; ``None`` where it has its own, or none came."""


@dataclass(frozen=True, slots=True)
class Collection:
    """All that was collected with a nonce of 32 bytes, at least one part, and what was looked for and is not here."""

    nonce: bytes
    driver: sources.DriverStatement | None
    """What the driver says of the GPUs; ``None`` where there are none."""
    parts: tuple[Part, ...]
    absent: Mapping[str, str]
    """Why there is no evidence of ``gpus`` or of the ``vm``."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The formats of the parts."""
        return tuple(part.kind for part in self.parts)


def collect(machine: Machine, nonce: bytes) -> Collection:
    """Collect all evidence that this machine can give.

    Raises CollectionError if there is none, or something that is there did not answer; then nothing is appraised.
    """
    absent: dict[str, str] = {}
    gpus, vm = None, None
    try:
        gpus = sources.collect_gpus(machine.nvml(), nonce)
    except sources.AbsentError as error:
        absent["gpus"] = str(error)
    reports = [gpu.report for gpu in gpus.devices] if gpus else []
    try:
        vm = sources.collect_vm(machine.tsm, report_data(nonce, reports))
    except sources.AbsentError as error:
        absent["vm"] = str(error)
    if vm is not None and vm.provider not in PROVIDERS:
        absent["vm"] = f"reports of the provider {vm.provider!r} are not appraised"
        vm = None
    if gpus is None and vm is None:
        raise sources.CollectionError(
            f"no evidence on this machine. GPUs: {absent['gpus']}. Virtual machine: {absent['vm']}"
        )
    return assemble(nonce, gpus, vm, absent)


def assemble(
    nonce: bytes, gpus: sources.CollectedGpus | None, vm: sources.CollectedVm | None, absent: Mapping[str, str]
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


def _of_gpus(gpus: sources.CollectedGpus, nonce: bytes) -> Part:
    """Write the reports as NVIDIA's SDKs do, which ``carnet attest node`` reads."""
    document = json.dumps([_entry(gpu) for gpu in gpus.devices])
    return Part(NODE, GPUS_FILE, document.encode(), {"nonce": nonce})


def _entry(gpu: sources.CollectedGpu) -> dict[str, str]:
    return {
        "evidence": base64.b64encode(gpu.report).decode(),
        "certificate": base64.b64encode(gpu.chain).decode(),
    }


def _of_vm(vm: sources.CollectedVm, asked: bytes) -> Part:
    kind = PROVIDERS[vm.provider]
    return Part(kind, VM_FILE.format(kind), vm.report, {"report-data": asked}, vm.auxiliary)


STATEMENTS: Final = "collected.json"
"""What is not evidence: the nonce, and what the driver and the kernel say."""
WHAT: Final = "collected evidence"
CHAIN: Final = "{}-chain.bin"
LARGEST: Final = 16 * sources.LARGEST_BLOB
NOT_IN_FOLDER: Final = "it is not in the folder"


def prepare_folder(folder: Path) -> None:
    """Make the folder before anything is collected, or take one that is empty.

    Raises UsageError if something is in it, or it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"'{folder}' is not empty: evidence is kept in a folder of its own")
    except OSError as error:
        raise UsageError(f"cannot keep evidence in '{folder}': {reason(error)}") from None


def write_collection(collection: Collection, folder: Path, at: datetime) -> None:
    """Write every part. Raises UsageError if a file could not be written."""
    files = {part.file: part.evidence for part in collection.parts}
    files |= {CHAIN.format(part.kind): part.chain for part in collection.parts if part.chain is not None}
    files[STATEMENTS] = json.dumps(_words(collection, at), indent=2).encode()
    try:
        for name, data in files.items():
            create_durably(folder / name, data)
    except OSError as error:
        raise UsageError(f"cannot keep evidence in '{folder}': {reason(error)}") from None


def _words(collection: Collection, at: datetime) -> dict[str, object]:
    driver = None if collection.driver is None else asdict(collection.driver)
    return {"nonce": collection.nonce.hex(), "at": at.isoformat(), "driver": driver, "absent": dict(collection.absent)}


def read_collection(folder: Path, nonce: bytes) -> Collection:
    """Return what is in the folder, as evidence that should have been asked for with the nonce.

    Raises:
        MalformedError: a file is none of those that `write_collection` writes, or two of them contradict each other.
        UsageError: there is no such folder, or a file cannot be read.
    """
    words = _file(folder, STATEMENTS)
    if words is None:
        raise UsageError(f"'{folder}' has no {STATEMENTS}: it is no folder of --out")
    document = _file(folder, GPUS_FILE)
    gpus = None if document is None else _gpus(parse_driver_statement(words), device_evidence(document))
    reports = {kind: _file(folder, VM_FILE.format(kind)) for kind in PROVIDERS.values()}
    found = [kind for kind, report in reports.items() if report is not None]
    if len(found) > 1:
        raise MalformedError(WHAT, "the evidence of one virtual machine", " and ".join(found))
    vms = [_vm(folder, provider, reports[kind]) for provider, kind in PROVIDERS.items() if kind in found]
    vm = next(iter(vms), None)
    if gpus is None and vm is None:
        raise MalformedError(WHAT, f"{GPUS_FILE}, or the evidence of a virtual machine", "neither")
    absent = {what: NOT_IN_FOLDER for what, part in (("gpus", gpus), ("vm", vm)) if part is None}
    return assemble(nonce, gpus, vm, absent)


def _vm(folder: Path, provider: str, report: bytes | None) -> sources.CollectedVm:
    assert report is not None, "only evidence that is there is taken"
    return sources.CollectedVm(provider, report, _file(folder, CHAIN.format(PROVIDERS[provider])))


def parse_driver_statement(data: bytes) -> sources.DriverStatement:
    """Read what the driver said, out of ``STATEMENTS``. Raises MalformedError if it is something else."""
    driver = Document.parse(data, WHAT).document("driver")
    gpus = tuple(
        sources.GpuStatement(each.text("uuid"), each.text("vbios_version")) for each in driver.documents("gpus")
    )
    return sources.DriverStatement(driver.text("version"), driver.flag("devtools"), gpus)


def _gpus(driver: sources.DriverStatement, devices: Sequence[DeviceEvidence]) -> sources.CollectedGpus:
    if len(driver.gpus) != len(devices):
        raise MalformedError(WHAT, f"{len(driver.gpus)} GPUs, as the driver counted", f"{len(devices)}")
    return sources.CollectedGpus(
        tuple(sources.CollectedGpu(each.report, each.chain or b"") for each in devices), driver
    )


def _file(folder: Path, name: str) -> bytes | None:
    """Return what is in a file of the folder; ``None`` where there is none."""
    try:
        data = read_plain(folder / name, LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read '{folder / name}': {reason(error)}") from None
    if len(data) > LARGEST:
        raise MalformedError(WHAT, f"at most {LARGEST} bytes of {name}", "more")
    return data
