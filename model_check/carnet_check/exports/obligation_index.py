"""The index of exported obligations: a row per variant, threat model and obligation, skipped pairs included."""

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from carnet_check.exports.obligation_text import Provable, Writer, digest, select_hypotheses
from carnet_check.exports.tptp import tptp
from carnet_check.obligations import GOAL

COLUMNS = ("variant", "threat", "obligation", "digest", "hypotheses")
#: The hypotheses that a proof uses, by variant and by id of the obligation.
Cores = Mapping[tuple[str, str], Collection[str]]


@dataclass(frozen=True, slots=True)
class Row:
    """One obligation, and the digest of its SMT-LIB text; equal obligations have equal digests."""

    obligation: Provable
    kept: Collection[str] | None
    digest: str
    smtlib: str

    @property
    def tptp(self) -> str:
        """The name of the same obligation's TPTP file."""
        return tptp(self.obligation, self.kept)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row; the names of hypotheses are one cell, a JSON list."""
        names = [each.name for each in select_hypotheses(self.obligation, self.kept) if each.name != GOAL]
        said = json.dumps(names, ensure_ascii=False)
        return (self.obligation.variant, self.obligation.under, self.obligation.id, self.digest, said)


def rows(obligations: Iterable[Provable], cores: Cores) -> Iterator[Row]:
    """Yield a row per obligation, with the hypotheses of its core, or all of its own if it has no core."""
    writer = Writer()
    for each in obligations:
        kept = cores.get((each.variant, each.id))
        text = writer.text(each, kept)
        yield Row(each, kept, digest(text), text)


def index(cells: Iterable[Iterable[str]]) -> str:
    """Return rows of cells as CSV, with a header."""
    file = io.StringIO(newline="")
    write = csv.writer(file, lineterminator="\n")
    write.writerow(COLUMNS)
    write.writerows(cells)
    return file.getvalue()
