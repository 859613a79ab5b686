"""Measure how much evidence is appraised in a second: ``python -m tests.benchmarks.appraisals intel`` (or ``nvidia``).

The rate is set against the ECDSA verifications that the evidence contains, done bare and one after the other, on the
same processor. Processor time is counted, so that other work on the machine does not show. The table is written where
the documentation reads it; the evidence is in the folder named by ``CARNET_EVIDENCE``.
"""

from __future__ import annotations

import csv
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.attestation.appraisal import default_anchors
from carnet_ref.attestation.intel.appraisal import appraise_quote
from tests.fixtures import intel_evidence, nvidia_evidence
from tests.repo.tracked import ROOT

HEADER = ("Evidence", "Signatures in it", "Appraised per second", "Bare verifications of as many, per second", "Share")
SECONDS = 3.0
Workload = tuple[str, Callable[[], bool], int]
"""A name, what appraises the evidence and says whether it is accepted, and how many signatures the evidence has."""


def quotes() -> list[Workload]:
    """Return quotes with and without collateral.

    A quote has two certificates under the root, its QE report and itself to verify. Collateral has two documents and
    their signer's certificate each, and two revocation lists.
    """
    whole = {case.quote: case for case in intel_evidence.genuine() if case.collateral}
    current, near = whole[intel_evidence.CURRENT], whole[intel_evidence.NEAR_QUOTE]
    return [
        ("quote and certificates", _appraising(replace(current, collateral=None)), 4),
        ("with collateral, 44 revoked platforms", _appraising(current), 10),
        ("with collateral, another platform", _appraising(near), 10),
    ]


def _appraising(case: intel_evidence.Case) -> Callable[[], bool]:
    """Return the appraisal of a quote, reading files aside."""
    quote, collateral = intel_evidence.read_quote(case.quote), case.collateral_bytes()

    def appraise() -> bool:
        anchors = default_anchors()
        return appraise_quote(quote, at=case.at, policy=case.policy, anchors=anchors, collateral=collateral).accepted

    return appraise


def reports() -> list[Workload]:
    """Return the H100 report of nvtrust alone and with what may come with it.

    A path of five certificates has four signatures under its root, and the report one. A recorded OCSP reply has two,
    its own and its responder's. A RIM has one, and three on the path of its signer.
    """
    whole = next(case for case in nvidia_evidence.cases() if case.rims)
    replies = replace(whole, rims=())
    alone = replace(replies, ocsp=())
    return [
        ("report and chain", lambda: alone.appraised().accepted, 4 + 1),
        ("with three OCSP replies", lambda: replies.appraised().accepted, 4 + 1 + 3 * 2),
        ("with two RIMs too", lambda: whole.appraised().accepted, 4 + 1 + 3 * 2 + 2 * (3 + 1)),
    ]


VENDORS = {
    "intel": (quotes, ec.SECP256R1(), hashes.SHA256(), 632),
    "nvidia": (reports, ec.SECP384R1(), hashes.SHA384(), 4021),
}
"""Workloads, and what one bare verification is of: a curve, a digest, and the bytes of a message."""


def rate(work: Callable[[], object]) -> float:
    """Return how often ``work`` is done in a second of processor time."""
    work()
    times, start = 0, time.process_time()
    while time.process_time() - start < SECONDS:
        work()
        times += 1
    return times / (time.process_time() - start)


def main(vendor: str) -> None:
    """Measure and write the table."""
    workloads, curve, digest, size = VENDORS[vendor]
    table = ROOT / "docs" / "results" / f"throughput-{vendor}.csv"
    key, message = ec.generate_private_key(curve), bytes(size)
    signature, public = key.sign(message, ec.ECDSA(digest)), key.public_key()
    bare = rate(lambda: public.verify(signature, message, ec.ECDSA(digest)))
    with table.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        for name, appraise, signatures in workloads():
            assert appraise()
            done, limit = rate(appraise), bare / signatures
            writer.writerow((name, signatures, f"{done:.0f}", f"{limit:.0f}", f"{done / limit:.0%}"))
    print(f"{table}: Python {platform.python_version()}, {bare:.0f} bare verifications per second")  # noqa: T201 # what the program is for


if __name__ == "__main__":
    main(sys.argv[1])
