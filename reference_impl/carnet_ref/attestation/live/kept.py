"""Keeping what was collected: a folder with one file for each part, which others appraise without this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from carnet_command.errors import UsageError
from carnet_command.files import create_durably, reason
from carnet_ref.attestation.live.collection import Collection, Part

WORDS: Final = "collected.json"
"""What is not evidence: the nonce, and what the driver and the kernel say."""
CHAIN: Final = "{}-chain.bin"


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


def keep(collection: Collection, folder: Path, at: datetime) -> dict[str, list[str]]:
    """Write every part, and return for each format the command that appraises its part.

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
    return {part.kind: _command(part, folder) for part in collection.parts}


def _command(part: Part, folder: Path) -> list[str]:
    asked: Sequence[str] = [word for name, value in part.asked.items() for word in (f"--{name}", value.hex())]
    chain = [] if part.chain is None else ["--chain", str(folder / CHAIN.format(part.kind))]
    return ["carnet", "attest", part.kind, str(folder / part.file), *asked, *chain]


def _words(collection: Collection, at: datetime) -> dict[str, object]:
    gpus, vm = collection.gpus, collection.vm
    return {
        "nonce": collection.nonce.hex(),
        "at": at.isoformat(),
        "driver_version": None if gpus is None else gpus.driver_version,
        "gpus": [{"uuid": gpu.uuid, "vbios_version": gpu.vbios_version} for gpu in gpus.devices] if gpus else [],
        "provider": None if vm is None else vm.provider,
        "absent": dict(collection.absent),
    }
