"""Measure how many TDX quotes are appraised in a second: ``python -m tests.benchmarks.intel_throughput``.

As for NVIDIA's reports, the rate is set against the ECDSA P-256 verifications that the evidence contains, done bare and
one after the other, and processor time is counted. The evidence is in the folder named by ``CARNET_EVIDENCE``.
"""

from __future__ import annotations

import csv
import platform
from dataclasses import replace
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.anchors import default_anchors
from carnet_ref.attestation.intel.appraisal import appraise_quote
from tests.benchmarks.nvidia_throughput import HEADER, rate
from tests.fixtures.intel_evidence import CURRENT, NEAR_QUOTE, Case, genuine, read_quote

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "throughput-intel.csv"
CERTIFICATES = 2  # platform and authority; the root is the anchor itself
ALONE = CERTIFICATES + 2  # the QE report and the quote
WITH_COLLATERAL = ALONE + 2 * 2 + 2  # two documents and their signer's certificate each, two revocation lists


def workloads() -> list[tuple[str, Case, int]]:
    """Return quotes with and without collateral: a name, the case, and how many signatures it contains."""
    whole = {case.quote: case for case in genuine() if case.collateral}
    return [
        ("quote and certificates", replace(whole[CURRENT], collateral=None), ALONE),
        ("with collateral, 44 revoked platforms", whole[CURRENT], WITH_COLLATERAL),
        ("with collateral, another platform", whole[NEAR_QUOTE], WITH_COLLATERAL),
    ]


def appraisals_per_second(case: Case) -> float:
    """Return how often the appraisal is done in a second, reading files aside."""
    quote, collateral = read_quote(case.quote), case.collateral_bytes()

    def appraise() -> None:
        anchors = default_anchors()
        found = appraise_quote(quote, at=case.at, policy=case.policy, anchors=anchors, collateral=collateral)
        assert found.accepted

    return rate(appraise)


def bare_rate() -> float:
    """Return how many P-256 signatures are verified in a second."""
    key, message = ec.generate_private_key(ec.SECP256R1()), bytes(632)
    signature = key.sign(message, ec.ECDSA(hashes.SHA256()))
    public = key.public_key()
    return rate(lambda: public.verify(signature, message, ec.ECDSA(hashes.SHA256())))


def main() -> None:
    """Measure and write the table."""
    bare = bare_rate()
    with TABLE.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        for name, case, signatures in workloads():
            done, limit = appraisals_per_second(case), bare / signatures
            writer.writerow((name, signatures, f"{done:.0f}", f"{limit:.0f}", f"{done / limit:.0%}"))
    print(f"{TABLE}: Python {platform.python_version()}, {bare:.0f} bare verifications per second")  # noqa: T201


if __name__ == "__main__":
    main()
