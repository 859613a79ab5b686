"""Keeping what was collected, and appraising it elsewhere: a folder with one file for each part.

Whoever reads such a folder brings the nonce. What the evidence should have been asked with is worked out anew from the
nonce and from the GPUs' reports; nothing that the folder says about that is believed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Final

from carnet_command.errors import UsageError
from carnet_command.files import create_durably, read_plain, reason
from carnet_ref.attestation.documents import Document
from carnet_ref.attestation.live.collection import GPUS_FILE, PROVIDERS, VM_FILE, Collection, assembled
from carnet_ref.attestation.live.nvml import CollectedGpu, CollectedGpus, DriverWords, StatedGpu
from carnet_ref.attestation.live.tsm import LARGEST_BLOB, CollectedVm
from carnet_ref.attestation.nvidia.wrappers import DeviceEvidence, device_evidence
from carnet_ref.wire.reader import MalformedError

WORDS: Final = "collected.json"
"""What is not evidence: the nonce, and what the driver and the kernel say."""
WHAT: Final = "collected evidence"
CHAIN: Final = "{}-chain.bin"
LARGEST: Final = 16 * LARGEST_BLOB
NOT_KEPT: Final = "it is not in the folder"


def prepare(folder: Path) -> None:
    """Make the folder before anything is collected, or take one that is empty.

    Raises:
        UsageError: something is in it, or it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"'{folder}' is not empty: evidence is kept in a folder of its own")
    except OSError as error:
        raise UsageError(f"cannot keep evidence in '{folder}': {reason(error)}") from None


def keep(collection: Collection, folder: Path, at: datetime) -> None:
    """Write every part.

    Raises:
        UsageError: a file could not be written.
    """
    files = {part.file: part.evidence for part in collection.parts}
    files |= {CHAIN.format(part.kind): part.chain for part in collection.parts if part.chain is not None}
    files[WORDS] = json.dumps(_words(collection, at), indent=2).encode()
    try:
        for name, data in files.items():
            create_durably(folder / name, data)
    except OSError as error:
        raise UsageError(f"cannot keep evidence in '{folder}': {reason(error)}") from None


def _words(collection: Collection, at: datetime) -> dict[str, object]:
    driver = None if collection.driver is None else asdict(collection.driver)
    return {"nonce": collection.nonce.hex(), "at": at.isoformat(), "driver": driver, "absent": dict(collection.absent)}


def kept(folder: Path, nonce: bytes) -> Collection:
    """Return what is in the folder, as evidence that should have been asked for with the nonce.

    Raises:
        MalformedError: a file is none of those that `keep` writes, or two of them contradict each other.
        UsageError: there is no such folder, or a file cannot be read.
    """
    words = _file(folder, WORDS)
    if words is None:
        raise UsageError(f"'{folder}' has no {WORDS}: it is no folder of --out")
    document = _file(folder, GPUS_FILE)
    gpus = None if document is None else _gpus(parse_driver_words(words), device_evidence(document))
    reports = {kind: _file(folder, VM_FILE.format(kind)) for kind in PROVIDERS.values()}
    found = [kind for kind, report in reports.items() if report is not None]
    if len(found) > 1:
        raise MalformedError(WHAT, "the evidence of one virtual machine", " and ".join(found))
    vms = [_vm(folder, provider, reports[kind]) for provider, kind in PROVIDERS.items() if kind in found]
    vm = next(iter(vms), None)
    if gpus is None and vm is None:
        raise MalformedError(WHAT, f"{GPUS_FILE}, or the evidence of a virtual machine", "neither")
    absent = {what: NOT_KEPT for what, part in (("gpus", gpus), ("vm", vm)) if part is None}
    return assembled(nonce, gpus, vm, absent)


def _vm(folder: Path, provider: str, report: bytes | None) -> CollectedVm:
    assert report is not None, "only evidence that is there is taken"
    return CollectedVm(provider, report, _file(folder, CHAIN.format(PROVIDERS[provider])))


def parse_driver_words(data: bytes) -> DriverWords:
    """Read what the driver said, out of ``WORDS``.

    Raises:
        MalformedError: it is something else.
    """
    driver = Document.parse(data, WHAT).document("driver")
    gpus = tuple(StatedGpu(each.text("uuid"), each.text("vbios_version")) for each in driver.documents("gpus"))
    return DriverWords(driver.text("version"), driver.flag("devtools"), gpus)


def _gpus(driver: DriverWords, devices: Sequence[DeviceEvidence]) -> CollectedGpus:
    if len(driver.gpus) != len(devices):
        raise MalformedError(WHAT, f"{len(driver.gpus)} GPUs, as the driver counted", f"{len(devices)}")
    return CollectedGpus(tuple(CollectedGpu(each.report, each.chain or b"") for each in devices), driver)


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
