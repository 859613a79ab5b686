"""Write the table of recorded SPDM sessions that the documentation shows: ``python -m tests.evidence.spdm_table``.

The folder of evidence is named by ``CARNET_EVIDENCE``. A test compares the committed table with a new one.
"""

import csv
import io
import os
from pathlib import Path

from tests.fixtures.spdm import Walker

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "spdm-recordings.csv"
HEADER = (
    "Recording",
    "SPDM",
    "Messages read",
    "Records opened",
    "Signatures verified",
    "MACs verified",
    "Secrets equal",
)
SIGNATURES = ("CHALLENGE_AUTH", "MEASUREMENTS", "KEY_EXCHANGE_RSP")


def table() -> str:
    """Return the table as CSV: one row for each recording, as walked now."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for path in sorted(Path(os.environ["CARNET_EVIDENCE"], "13-spdm", "libspdm-transcripts").glob("*.json")):
        walk = Walker(path).run()
        signatures = sum(walk.checked[purpose] for purpose in SIGNATURES)
        equal = len(set(walk.recorded) & set(walk.computed))
        counts = walk.checked["messages"], walk.checked["records"], signatures, walk.checked["verify data"], equal
        writer.writerow((path.stem, walk.version.label, *counts))
    return out.getvalue()


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
