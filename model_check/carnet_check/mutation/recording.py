"""What a campaign found so far, one JSON object to a line, so that an interrupted campaign goes on where it was.

The first line says what the others are about: digests of the protocols, of the specification's code, and of Carnet's.
What was written about anything else is not read, and a last line that was cut off is no line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from carnet_check.cache import code
from carnet_check.certificates.file import place_of
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, parts_of
from carnet_command.files import reason

FORMAT: Final = "carnet-mutants/2"
NAME: Final = "mutants.ndjson"


class Record:
    """Results by kind and key; without a file they are kept in memory alone.

    Raises:
        UsageError: the file cannot be read or written.
    """

    def __init__(self, file: Path | None, about: Mapping[str, Any]) -> None:
        self._file = file
        self._known: dict[tuple[str, str], Any] = {}
        if file is None:
            return
        header = _line({"format": FORMAT, **about})
        lines = _lines(file)
        if not lines or lines[0] != header:
            _write(file, header, "w")
            return
        for line in lines[1:]:
            entry = json.loads(line)
            self._known[entry["kind"], entry["key"]] = entry["value"]
        _write(file, "".join(lines), "w")

    def __contains__(self, entry: tuple[str, str]) -> bool:
        return entry in self._known

    def known(self, kind: str, key: str) -> Any:
        """Return what was found; ``None`` may have been found too."""
        return self._known.get((kind, key))

    def keep(self, kind: str, key: str, value: Any) -> None:
        """Write down what was found."""
        self._known[kind, key] = value
        if self._file is not None:
            _write(self._file, _line({"kind": kind, "key": key, "value": value}), "a")


def about(source: Source, variants: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Return what results depend on: the protocols, how the specification makes instances, Carnet, and options."""
    digests = {name: source.protocol(name).digest for name in variants}
    return {"protocols": digests, "specification": _specification(source), "code": code(), **options}


def _specification(source: Source) -> str:
    """Return the digest of the module that the family is loaded from, and of all that lies in its package."""
    place = place_of(source)
    if place is None:
        return ""
    folder = place.parent
    inside = sorted([*folder.rglob("*.py"), *folder.rglob("*.json")])
    files = inside if (folder / "__init__.py").is_file() else [Path(parts_of(source.reference)[0])]
    told = "".join(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n" for file in files)
    return hashlib.sha256(told.encode()).hexdigest()


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"


def _lines(file: Path) -> list[str]:
    try:
        lines = file.read_text("utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read '{file}': {reason(error) if isinstance(error, OSError) else error}") from None
    return [line for line in lines if line.endswith("\n")]


def _write(file: Path, text: str, mode: str) -> None:
    try:
        with file.open(mode, encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"cannot write '{file}': {reason(error)}") from None
