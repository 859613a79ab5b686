"""The folder that ``carnet certify --out`` writes and ``carnet recheck`` judges by itself, without any specification.

=============================== ====================================================================================
``index.csv``                   which obligation of which variant and threat model is in which file
``obligations/DIGEST.smt2``     one obligation, by the SHA-256 of its text
``certificates.json.xz``        the certificates
``systems/VARIANT.json``        a whole variant, in its canonical encoding
=============================== ====================================================================================
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from carnet_check.certificates.file import DIGITS, Certificates, Entry
from carnet_check.certificates.judging import follow
from carnet_check.certificates.place import NAME, load_certificates
from carnet_check.errors import UsageError
from carnet_check.exports.obligation_index import COLUMNS
from carnet_check.kernel.checker import Refused
from carnet_command.files import reason

INDEX = "index.csv"
OBLIGATIONS = "obligations"
SYSTEMS = "systems"
LARGEST = 1_000_000
"""The most bytes of an obligation."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether the certificate of one row of the index is accepted; if not, why, and whether there is none at all."""

    variant: str
    obligation: str
    digest: str
    why: str = ""
    missing: bool = False


def judged(folder: Path) -> Iterator[Judged]:
    """Judge the certificate of every obligation that the folder's index lists; equal texts are judged once.

    Raises:
        UsageError: the folder is none that ``carnet certify --out`` writes.
    """
    certificates = load_certificates(folder / NAME)
    entries = {entry.digest: entry for entry in _entries(certificates)}
    known: dict[str, tuple[str, bool]] = {}
    for variant, obligation, digest in _rows(folder / INDEX):
        if digest not in known:
            known[digest] = _outcome(folder, digest, entries.get(digest[:DIGITS]))
        yield Judged(variant, obligation, digest, *known[digest])


def _entries(certificates: Certificates) -> Iterator[Entry]:
    for layer in certificates.layers.values():
        yield from (entry for entry in (*layer.entries, *layer.skipped.values()) if entry is not None)


def _rows(index: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the variant, the obligation and the digest of every row of the index."""
    try:
        with index.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as error:
        raise UsageError(f"cannot read '{index}': {reason(error)}") from None
    except (ValueError, csv.Error) as error:
        raise UsageError(f"expected an index of obligations in '{index}': {error}") from None
    if not rows or tuple(rows[0]) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise UsageError(f"expected rows of {', '.join(COLUMNS)} in '{index}'")
    yield from ((row[0], row[2], row[3]) for row in rows[1:])


def _outcome(folder: Path, digest: str, entry: Entry | None) -> tuple[str, bool]:
    """Return why a certificate is not accepted, or nothing, and whether something is missing."""
    try:
        text = _text(folder, digest)
    except OSError as error:
        return f"its text cannot be read: {reason(error)}", True
    except (UnicodeError, Refused) as error:
        return str(error), False
    if entry is None:
        return "there is no certificate", True
    try:
        follow(text, entry)
    except Refused as refused:
        return f"the certificate is refused: {refused}", False
    return "", False


def _text(folder: Path, digest: str) -> str:
    """Return the text of an obligation, which must have the digest that it is called by."""
    if len(digest) != 64 or not digest.isalnum():
        raise Refused(f"'{digest[:70]}' is no SHA-256 digest")
    with (folder / OBLIGATIONS / f"{digest}.smt2").open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST or hashlib.sha256(data).hexdigest() != digest:
        raise Refused("the text has another digest than the index says")
    return data.decode()
