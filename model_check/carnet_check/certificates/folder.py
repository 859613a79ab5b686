"""The folder that ``carnet certify --out`` writes and ``carnet recheck`` judges by itself.

What has to be proved is made anew of the variants in it: an index that leaves an obligation out, or puts the text of
another in its place, is not accepted. Whether these are the variants that somebody has in mind, their digests say.

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
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from carnet_check.certificates.file import DIGITS, Certificates, Entry
from carnet_check.certificates.judging import follow
from carnet_check.certificates.place import NAME, load_certificates
from carnet_check.errors import UsageError
from carnet_check.exports.obligation_index import COLUMNS
from carnet_check.exports.obligation_text import Writer
from carnet_check.exports.obligation_text import digest as digest_of
from carnet_check.kernel.checker import Refused
from carnet_check.obligations import Obligation, layers, obligations
from carnet_command.files import reason
from carnet_spec.language import Protocol, SpecificationError
from carnet_spec.language.decoding import decoded

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


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the index."""

    variant: str
    threat: str
    obligation: str
    digest: str
    hypotheses: str


def specifications(folder: Path) -> Iterator[tuple[Protocol, str]]:
    """Yield the variants of a folder, each with its canonical JSON.

    Raises:
        UsageError: there is none, two have one name, or one cannot be read.
    """
    seen: set[str] = set()
    files = sorted((folder / SYSTEMS).glob("*.json"))
    if not files:
        raise UsageError(f"expected variants in '{folder / SYSTEMS}', as `carnet certify --out` writes them")
    for file in files:
        try:
            text = file.read_text("ascii")
            protocol = decoded(text)
        except OSError as error:
            raise UsageError(f"cannot read '{file}': {reason(error)}") from None
        except (UnicodeError, SpecificationError) as error:
            raise UsageError(f"cannot read '{file}': {error}") from None
        if protocol.variant in seen:
            raise UsageError(f"expected one variant '{protocol.variant}' in '{folder / SYSTEMS}', found two")
        seen.add(protocol.variant)
        yield protocol, text


def judged(folder: Path, protocols: Iterable[Protocol]) -> Iterator[Judged]:
    """Judge the certificate of every obligation of these variants; equal texts are judged once.

    Raises:
        UsageError: the folder is none that ``carnet certify --out`` writes.
        SpecificationError: a variant says something that has no obligations.
    """
    certificates = load_certificates(folder / NAME)
    entries = {entry.digest: entry for entry in _entries(certificates)}
    known: dict[str, tuple[str, bool]] = {}
    required = {
        (protocol.variant, obligation.id): (obligation, writer)
        for protocol, writer in ((each, Writer()) for each in protocols)
        for layer in layers(protocol)
        for obligation in obligations(layer)
    }
    listed: set[tuple[str, str]] = set()
    for row in _rows(folder / INDEX):
        key = row.variant, row.obligation
        listed.add(key)
        if row.digest not in known:
            known[row.digest] = _outcome(folder, row.digest, entries.get(row.digest[:DIGITS]))
        why, missing = known[row.digest]
        if not why:
            why = _other_than(row, *required[key]) if key in required else f"no variant in '{SYSTEMS}' asks for it"
        yield Judged(row.variant, row.obligation, row.digest, why, missing)
    for variant, id in (key for key in required if key not in listed):
        yield Judged(variant, id, "", "the index leaves it out", missing=True)


def _other_than(row: _Row, obligation: Obligation, writer: Writer) -> str:
    """Say how a row differs from the obligation of the variant, if it does."""
    try:
        text = writer.text(obligation, _names(row.hypotheses))
    except (SpecificationError, ValueError, RecursionError) as error:
        return f"its hypotheses are not those of the variant in '{SYSTEMS}': {error}"
    return "" if digest_of(text) == row.digest else f"its text is not the one that the variant in '{SYSTEMS}' asks for"


def _names(hypotheses: str) -> list[str]:
    found = json.loads(hypotheses)
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError("expected a list of names")
    return found


def _entries(certificates: Certificates) -> Iterator[Entry]:
    for layer in certificates.layers.values():
        yield from (entry for entry in (*layer.entries, *layer.skipped.values()) if entry is not None)


def _rows(index: Path) -> Iterator[_Row]:
    """Yield every row of the index."""
    try:
        with index.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as error:
        raise UsageError(f"cannot read '{index}': {reason(error)}") from None
    except (ValueError, csv.Error) as error:
        raise UsageError(f"expected an index of obligations in '{index}': {error}") from None
    if not rows or tuple(rows[0]) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise UsageError(f"expected rows of {', '.join(COLUMNS)} in '{index}'")
    yield from (_Row(*row) for row in rows[1:])


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
