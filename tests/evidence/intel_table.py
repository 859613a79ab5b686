"""Write the table of Intel evidence that the documentation shows: ``python -m tests.evidence.intel_table``.

The folder of evidence is named by ``CARNET_EVIDENCE``. A test compares the committed table with a new one.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from carnet_ref.attestation.appraisal import Appraisal
from tests.fixtures.intel_evidence import GOOGLE, INTEL, LUNAL, PHALA, Case, genuine, refused

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "evidence-intel.csv"
HEADER = ("Evidence", "What is asked", "Appraised at", "Verdict")
REPOSITORIES = {
    GOOGLE: "google/go-tdx-guest",
    PHALA: "Phala-Network/dcap-qvl",
    INTEL: "intel/SGX-TDX-DCAP-QuoteVerificationLibrary",
    LUNAL: "confidential-dot-ai/attestation-rs",
}


def table() -> str:
    """Return the table as CSV: one row for each question asked of the evidence, as appraised now."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for case in (*genuine(), *refused()):
        writer.writerow((_source(case), _asked(case), f"{case.at:%Y-%m-%d}", _verdict(case.appraised())))
    return out.getvalue()


def _source(case: Case) -> str:
    folder, _, path = case.quote.partition("/")
    return f"{REPOSITORIES[folder]}: {path.rpartition('/')[2]}"


def _asked(case: Case) -> str:
    return case.note or "with its certificates alone"


def _verdict(appraisal: Appraisal) -> str:
    if not appraisal.accepted:
        return f"refused at {appraisal.failed_step}: {appraisal.steps[-1].detail}"
    claims = appraisal.claims
    status = f", TCB status {claims['tcb_status']}" if claims["tcb_status"] else ""
    return f"accepted: quote of version {claims['quote_version']}, FMSPC {claims['fmspc']}{status}"


if __name__ == "__main__":
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(table(), "utf-8")
