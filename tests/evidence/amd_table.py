"""Write the table of AMD evidence that the documentation shows: ``python -m tests.evidence.amd_table``.

The folder of evidence is named by ``CARNET_EVIDENCE``. A test compares the committed table with a new one.
"""

import csv
import io
from pathlib import Path

from carnet_ref.attestation.appraisal import Appraisal
from tests.fixtures.snp_evidence import GOOGLE, LUNAL, VIRTEE, Case, genuine, refused

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "evidence-amd.csv"
HEADER = ("Evidence", "What is asked", "Appraised at", "Verdict")
REPOSITORIES = {LUNAL: "confidential-dot-ai/attestation-rs", GOOGLE: "google/go-sev-guest", VIRTEE: "virtee/sev"}
LONGEST = 200  #: How many characters of a reason are shown; digests make some longer.


def table() -> str:
    """Return the table as CSV: one row for each question asked of the evidence, as appraised now."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for case in (*genuine(), *refused()):
        writer.writerow((_source(case), case.note, f"{case.at:%Y-%m-%d}", _verdict(case.appraised())))
    return out.getvalue()


def _source(case: Case) -> str:
    folder, _, path = case.evidence.partition("/")
    return f"{REPOSITORIES[folder]}: {path.rpartition('/')[2]}"


def _verdict(appraisal: Appraisal) -> str:
    if not appraisal.accepted:
        detail = appraisal.steps[-1].detail
        shown = detail if len(detail) <= LONGEST else f"{detail[:LONGEST]}…"
        return f"refused at {appraisal.failed_step}: {shown}"
    claims = appraisal.claims
    tcb = claims["reported_tcb"]
    assert isinstance(tcb, dict)
    versions = ", ".join(f"{part} {version}" for part, version in tcb.items())
    return f"accepted: report of version {claims['report_version']} of {claims['product_name']}, {versions}"


if __name__ == "__main__":
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(table(), "utf-8")
