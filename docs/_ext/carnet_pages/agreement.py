"""What every engine says of every proof obligation, as recorded: a command that a reader would type asks them."""

import csv
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from carnet_spec.language import Family

from .markdown import Lines, code, page, prose, table
from .verdicts import freshness

ANSWERS = ("proved", "frame", "refuted", "unknown")
RERUN = "python -m docs._ext.carnet_pages.obligation_answers"
#: The rows of the table that the command writes: one for each variant, layer and engine.
Recorded = Sequence[Mapping[str, str]]


# -- the page ---------------------------------------------------------------------------------------------------------


def agreement(families: Sequence[Family], recorded: Mapping[str, Recorded]) -> str:
    """Return the page: how many obligations of each variant each engine proves, refutes and leaves unknown."""
    return page(
        "# What the engines say of each obligation",
        "Every engine that answers single obligations is asked about all of them. An obligation of a *frame* is about "
        "something that the step does not change, and needs no solver; a kernel has certificates for these, too.",
        "" if recorded else "No run is recorded.",
        *(_of(family, recorded[family.id]) for family in families if family.id in recorded),
    )


def _of(family: Family, rows: Recorded) -> Lines:
    yield from (f"## {prose(family.title)}", "", "```sh", f"{RERUN} {family.id}", "```", "")
    for variant, digest in dict.fromkeys((row["variant"], row["digest"]) for row in rows):
        now = family.digest(variant) if variant in family.variants else None
        yield from (f"### {prose(variant)}", "", freshness(digest, now), "")
        mine = [row for row in rows if row["variant"] == variant]
        engines = dict.fromkeys((row["engine"], row["version"]) for row in mine)
        yield from table(
            ["engine", "version", "obligations", *ANSWERS, "longest (ms)"],
            (_engine(name, version, [row for row in mine if row["engine"] == name]) for name, version in engines),
        )


def _engine(name: str, version: str, rows: Recorded) -> tuple[str, ...]:
    counts = (sum(int(row[column]) for row in rows) for column in ("obligations", *ANSWERS))
    longest = max(int(row["max ms"]) for row in rows)
    return (code(name), prose(version), *(f"{count:,}" for count in counts), f"{longest:,}")


# -- the record -------------------------------------------------------------------------------------------------------


def record(family: Family, file: Path) -> None:
    """Ask every engine about every obligation of a protocol, and keep the table.

    Raises SystemExit if two engines disagree, or one does not know; nothing is kept.
    """
    found = file.with_suffix(".new")
    command = [sys.executable, *RERUN.split()[1:], family.id, "--out", str(found)]
    if subprocess.run(command, check=False).returncode:
        found.unlink(missing_ok=True)
        raise SystemExit("the engines do not agree, or one does not know, so nothing is recorded")
    found.replace(file)


def read(file: Path) -> Recorded:
    """Return the rows of a record."""
    with file.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))
