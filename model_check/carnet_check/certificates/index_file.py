"""The index of a folder that ``carnet recheck`` judges: read once, and what is handed on is what was read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from carnet_check.errors import UsageError
from carnet_check.exports.obligation_index import COLUMNS
from carnet_command.files import read_plain, reason

INDEX = "index.csv"
LARGEST = 256 << 20
"""The most bytes of an index."""


class Row(NamedTuple):
    """A row of an index: which obligation of which variant and threat model has which text, by its digest."""

    variant: str
    threat: str
    obligation: str
    digest: str
    hypotheses: str


def read_index(folder: Path) -> bytes:
    """Return what the index of a folder holds.

    Raises:
        UsageError: it cannot be read, is no plain file, or is too large.
    """
    index = folder / INDEX
    try:
        data = read_plain(index, LARGEST)
    except OSError as error:
        raise UsageError(f"cannot read '{index}': {reason(error)}") from None
    if len(data) > LARGEST:
        raise UsageError(f"expected an index of at most {LARGEST:,} bytes in '{index}'")
    return data


def rows_of(data: bytes, folder: Path) -> list[Row]:
    """Return the rows of an index that was read from a folder.

    Raises:
        UsageError: it is no index.
    """
    index = folder / INDEX
    try:
        header, *rows = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
    except (ValueError, csv.Error) as error:
        raise UsageError(f"expected an index of obligations in '{index}': {error}") from None
    if tuple(header) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise UsageError(f"expected rows of {', '.join(COLUMNS)} in '{index}'")
    return [Row(*row) for row in rows]


def digests(rows: Sequence[Row]) -> list[str]:
    """Return the digest of every text that an index names, each once."""
    return list(dict.fromkeys(row.digest for row in rows))
