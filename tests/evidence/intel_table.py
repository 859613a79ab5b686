"""Write the tables of Intel evidence that the documentation shows: ``python -m tests.evidence.intel_table``.

The folder of evidence is named by ``CARNET_EVIDENCE``. Tests compare the committed tables with new ones.
"""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from carnet_ref.attestation.appraisal import Appraisal
from tests.fixtures.dcap import both_asked
from tests.fixtures.intel_evidence import GOOGLE, INTEL, LUNAL, PHALA, Case, genuine, refused

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "evidence-intel.csv"
AGREEMENT = TABLE.with_name("agreement-intel.csv")
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


def agreement(asked: Iterable[tuple[str, Appraisal, str | None]]) -> str:
    """Return as CSV how often both verifiers said the same of each mutation, and where Carnet alone refused."""
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for name, ours, theirs in asked:
        alone = "both accept" if ours.accepted else f"{ours.failed_step}"
        said[name.replace("_", " ")][alone if theirs is None else "both refuse"] += 1
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("Mutation", "Both accept", "Both refuse", "Carnet alone refuses, at"))
    for name, counts in sorted(said.items()):
        both = counts.pop("both accept", 0), counts.pop("both refuse", 0)
        alone = ", ".join(f"{step} {count}" for step, count in sorted(counts.items()))
        writer.writerow((name, *both, alone))
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
    AGREEMENT.write_text(agreement(both_asked()), "utf-8")
