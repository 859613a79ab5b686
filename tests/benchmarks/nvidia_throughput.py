"""Measure how many NVIDIA reports are appraised in a second: ``python -m tests.benchmarks.nvidia_throughput``.

The rate is set against the ECDSA P-384 verifications that the evidence contains, done bare and one after the other, on
the same processor. Processor time is counted, so that other work on the machine does not show. The table is
written where the documentation reads it; the evidence is in the folder named by ``CARNET_EVIDENCE``.
"""

from __future__ import annotations

import csv
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from tests.fixtures.nvidia_evidence import Case, cases

TABLE = Path(__file__).resolve().parents[2] / "docs" / "results" / "throughput-nvidia.csv"
HEADER = ("Evidence", "Signatures in it", "Appraised per second", "Bare verifications of as many, per second", "Share")
SECONDS = 3.0


@dataclass(frozen=True)
class Workload:
    """Evidence to appraise, and how many signatures it has."""

    name: str
    case: Case
    signatures: int


def workloads() -> list[Workload]:
    """Return the H100 report of nvtrust alone and with what may come with it.

    A path of five certificates has four signatures under its root, and the report one. A recorded OCSP reply has two,
    its own and its responder's. A RIM has one, and three on the path of its signer.
    """
    whole = next(case for case in cases() if case.rims)
    replies = replace(whole, rims=())
    return [
        Workload("report and chain", replace(replies, ocsp=()), 4 + 1),
        Workload("with three OCSP replies", replies, 4 + 1 + 3 * 2),
        Workload("with two RIMs too", whole, 4 + 1 + 3 * 2 + 2 * (3 + 1)),
    ]


def rate(work: Callable[[], object]) -> float:
    """Return how often ``work`` is done in a second of processor time."""
    work()
    times, start = 0, time.process_time()
    while time.process_time() - start < SECONDS:
        work()
        times += 1
    return times / (time.process_time() - start)


def bare_rate() -> float:
    """Return how many P-384 signatures are verified in a second."""
    key, message = ec.generate_private_key(ec.SECP384R1()), bytes(4021)
    signature = key.sign(message, ec.ECDSA(hashes.SHA384()))
    public = key.public_key()
    return rate(lambda: public.verify(signature, message, ec.ECDSA(hashes.SHA384())))


def main() -> None:
    """Measure and write the table."""
    bare = bare_rate()
    with TABLE.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        for work in workloads():
            assert work.case.appraised().accepted
            done, limit = rate(work.case.appraised), bare / work.signatures
            writer.writerow((work.name, work.signatures, f"{done:.0f}", f"{limit:.0f}", f"{done / limit:.0%}"))
    print(f"{TABLE}: Python {platform.python_version()}, {bare:.0f} bare verifications per second")  # noqa: T201


if __name__ == "__main__":
    main()
