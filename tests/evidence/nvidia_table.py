"""Write the table of NVIDIA evidence that the documentation shows: ``python -m tests.evidence.nvidia_table``.

The folder of evidence is named by ``CARNET_EVIDENCE``. A test compares the committed table with a new one.
"""

import csv
import io
from pathlib import Path

from carnet_ref.attestation.appraisal import Appraisal
from tests.fixtures.nvidia_evidence import GO, NVTRUST, SDK, cases, rim_cases

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "evidence-nvidia.csv"
HEADER = ("Evidence", "What it is", "Appraised at", "Verdict")
REPOSITORIES = {NVTRUST: "NVIDIA/nvtrust", SDK: "NVIDIA/attestation-sdk", GO: "google/go-nvattest-tools"}


def table() -> str:
    """Return the table as CSV: one row for each report and RIM in the evidence, as appraised now."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for case in cases():
        appraisal = case.appraised()
        writer.writerow((_source(case.name), _device(appraisal), f"{case.at:%Y-%m-%d %H:%M}", _verdict(appraisal)))
    for rim in rim_cases():
        appraisal = rim.appraised()
        writer.writerow((_source(rim.name), _reference(appraisal), f"{rim.at:%Y-%m-%d %H:%M}", _verdict(appraisal)))
    return out.getvalue()


def _source(name: str) -> str:
    folder, _, path = name.partition("/")
    return f"{REPOSITORIES[folder]}: {path.rpartition('/')[2]}"


def _device(appraisal: Appraisal) -> str:
    if not appraisal.accepted:
        return "report"
    claims = appraisal.claims
    driver = f", driver {claims['driver_version']}" if claims["driver_version"] else ""
    return f"{claims['product']} report{driver}, VBIOS {claims['vbios_version']}"


def _reference(appraisal: Appraisal) -> str:
    if not appraisal.accepted:
        return "RIM"
    return f"RIM {appraisal.claims['version']} for {appraisal.claims['product']}"


def _verdict(appraisal: Appraisal) -> str:
    if not appraisal.accepted:
        return f"refused at {appraisal.failed_step}: {appraisal.steps[-1].detail}"
    measured = next((step.detail for step in appraisal.steps if step.id == "measurements" and step.ok), "")
    return f"accepted, {measured}" if measured else "accepted"


if __name__ == "__main__":
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(table(), "utf-8")
