"""The folder that ``carnet export`` writes: what is there already and is no export stays, and is said to be in the way.

=============================== ====================================================================================
``obligations/DIGEST.smt2``     one obligation, by the SHA-256 of its SMT-LIB text; as TPTP: ``DIGEST.p``
``index.csv``                   which obligation of which variant and threat model is in which file
``VARIANT.json``                a whole variant, in its canonical encoding
``PROTOCOL.pml``                one instance as a model for Spin
``PROTOCOL.tla``                one instance as a module for TLC, which ``PROTOCOL.cfg`` tells what to check
=============================== ====================================================================================
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from carnet_check.errors import UsageError
from carnet_check.exports.obligation_index import COLUMNS
from carnet_check.report.artefacts import make_folder, write_text
from carnet_command.files import reason
from carnet_spec.language.encoding import FORMAT

INDEX = "index.csv"
OBLIGATIONS = "obligations"
_OURS = re.compile(r"[0-9a-f]{64}\.(smt2|p)")


class ObligationFolder:
    """Where obligations are written: an earlier export goes first, and the index comes last."""

    def __init__(self, folder: Path, ending: str) -> None:
        """Remove an earlier export.

        Raises:
            UsageError: the folder holds what no export wrote, where an export writes.
        """
        self._folder = folder
        self._ending = ending
        self.files: set[str] = set()
        _clear(folder)

    def add(self, digest: str, text: str) -> None:
        """Write one obligation."""
        self.files.add(digest)
        write_text(self._folder / OBLIGATIONS / f"{digest}.{self._ending}", text)

    def close(self, index: str) -> None:
        """Write the index: from now on the export is whole."""
        write_text(self._folder / INDEX, index)


def _clear(folder: Path) -> None:
    index, inside = folder / INDEX, folder / OBLIGATIONS
    if index.exists() and not _first_line(index).startswith(",".join(COLUMNS)):
        raise UsageError(f"expected the index of an export or nothing, and '{index}' is something else")
    if inside.is_symlink():
        raise UsageError(f"expected a folder of the export's own, and '{inside}' is a link")
    make_folder(inside)
    files = list(inside.iterdir())
    for file in files:
        if not _OURS.fullmatch(file.name) or not file.is_file():
            raise UsageError(f"expected obligations that an export wrote, and '{file}' is something else")
    index.unlink(missing_ok=True)
    for file in files:
        file.unlink()


def clear_protocols(folder: Path) -> None:
    """Remove the protocols that an earlier export left in a folder, so that none is read beside those of a new one."""
    for file in folder.glob("*.json"):
        if _is_protocol(file):
            file.unlink()


def write_protocol(file: Path, encoded: str) -> None:
    """Write a protocol's canonical encoding; only an earlier one is replaced.

    Raises:
        UsageError: there is another file of this name, or it cannot be written.
    """
    if file.exists() and not _is_protocol(file):
        raise UsageError(f"expected a protocol in JSON or nothing, and '{file}' is something else")
    write_text(file, encoded)


def write_export(file: Path, text: str, mark: str) -> None:
    """Write a model; only one that bears the ``mark`` of an earlier export is replaced.

    Raises:
        UsageError: there is another file of this name, or it cannot be written.
    """
    if file.exists() and mark not in _read(file):
        raise UsageError(f"expected a model that an export wrote or nothing, and '{file}' is something else")
    make_folder(file.parent)
    write_text(file, text)


def _is_protocol(file: Path) -> bool:
    try:
        content = json.loads(_read(file))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def _first_line(file: Path) -> str:
    return _read(file).partition("\n")[0]


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {reason(error)}") from None
