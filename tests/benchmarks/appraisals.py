"""Measure how long appraisals take, beside other verifiers: ``python -m tests.benchmarks.appraisals``.

What is measured together runs by turns, twenty times each, and medians are shown: of processor time and, behind it in
parentheses, of the clock. Carnet remembers what it found out about certificates, revocation lists, collateral and
reference values, so three times are given:

* the first appraisal, which can remember nothing;
* one after another machine's evidence with the same authorities, collateral and reference values, as services meet it;
* the same evidence again.

Other verifiers remember nothing of the evidence, and run once before it counts. The table is written where the
documentation reads it; the evidence is in the folder named by ``CARNET_EVIDENCE``.
"""

import csv
import hashlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import dcap_qvl
import omne_attest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd.certificates import endorsement_key, endorsement_path, parse_certificates
from carnet_ref.attestation.amd.evidence import SnpEvidence
from carnet_ref.attestation.appraisal import AnchorRole, Appraisal, default_anchors
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from tests.fixtures import dcap, intel_evidence, nvidia_evidence, snp_evidence
from tests.fixtures.remembered import forget
from tests.fixtures.simulated_snp import der
from tests.repo.tracked import ROOT

TURNS: Final = 20
MACHINES: Final = 500
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
HEADER: Final = (
    *("Evidence", "First", "After another machine's", "Again"),
    *("Signatures in it", "Bare verifications of these", "Other verifier", "Its time", "Shares of it"),
)
NOTHING: Final = "–"
CARNET: Final = (sys.executable, "-c", "from carnet_check.cli import main; main()", "attest")
#: The least that verifies a quote with ``dcap-qvl``, which comes without a command of its own.
DCAP_QVL: Final = """
import sys, dcap_qvl
quote, collateral, at = sys.argv[1:]
collateral = dcap_qvl.QuoteCollateralV3.from_json(open(collateral).read())
dcap_qvl.verify(open(quote, "rb").read(), collateral, int(at))
"""

Work = Callable[[], object]


@dataclass(frozen=True)
class Duration:
    """How long something took, in milliseconds: of a processor, and by the clock."""

    processor: float
    clock: float

    def __str__(self) -> str:
        return f"{self.processor:.2f} ms ({self.clock:.2f})"


@dataclass(frozen=True)
class Comparison:
    """Evidence, what appraises it, and what another verifier does with it."""

    name: str  #: what the evidence is.
    appraise: Callable[[], bool]  #: appraises it, and says whether it was accepted.
    other_machine: Work | None  #: appraises evidence of another machine, so that what the two share is remembered.
    signatures: Mapping[str, int]  #: how many signatures are in it, by their kind; none for whole processes.
    peer: tuple[str, Work] | None = None  #: the other verifier, and its work, if there is one.


def acceptance(appraise: Callable[[], Appraisal]) -> Callable[[], bool]:
    """Return work that says whether an appraisal accepts."""
    return lambda: appraise().accepted


def quotes() -> Iterator[Comparison]:
    """Yield a quote with and without collateral.

    A quote has two certificates under the root, its QE report and itself to verify. Collateral has two documents, their
    signer's certificate, and two revocation lists. The other machine is of another kind, and is refused at ``fmspc``,
    which comes after all that the two share.
    """
    whole = {case.quote: case for case in intel_evidence.genuine() if case.collateral}
    case, other = whole[intel_evidence.CURRENT], whole[intel_evidence.NEAR_QUOTE]
    quote, foreign, collateral = (
        intel_evidence.read_quote(case.quote),
        intel_evidence.read_quote(other.quote),
        case.collateral_bytes(),
    )
    assert collateral is not None
    published = dcap.in_its_form(collateral)

    def appraisal(which: intel_evidence.Case, quote: bytes, beside: bytes | None) -> Appraisal:
        return appraise_quote(quote, at=which.at, policy=case.policy, anchors=default_anchors(), collateral=beside)

    def peer() -> None:
        read = dcap_qvl.QuoteCollateralV3.from_json(published.decode())
        dcap_qvl.verify(quote, read, int(case.at.timestamp()))

    qvl = f"dcap-qvl {version('dcap-qvl')}"
    yield Comparison(
        "TDX quote",
        acceptance(lambda: appraisal(case, quote, None)),
        lambda: appraisal(other, foreign, None),
        {P256: 4},
    )
    yield Comparison(
        "TDX quote with collateral",
        acceptance(lambda: appraisal(case, quote, collateral)),
        lambda: appraisal(other, foreign, collateral),
        {P256: 9},
        (qvl, peer),
    )
    at, seconds = f"{case.at:%Y-%m-%dT%H:%M:%SZ}", f"{case.at.timestamp():.0f}"
    files = {"quote": quote, "collateral.json": collateral, "published.json": published}
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(Path(folder, name)) for name in files}
        for name, data in files.items():
            Path(paths[name]).write_bytes(data)
        words = (*CARNET, "tdx", paths["quote"], "--at", at)
        theirs = (sys.executable, "-c", DCAP_QVL, paths["quote"], paths["published.json"], seconds)
        yield Comparison("whole process: TDX quote", process_run(*words), None, {})
        yield Comparison(
            "whole process: TDX quote with collateral",
            process_run(*words, "--collateral", paths["collateral.json"]),
            None,
            {},
            (f"Python with {qvl}", process_run(*theirs)),
        )


def fleet() -> Iterator[Comparison]:
    """Yield a folder of quotes of as many machines, which share authorities and collateral."""
    platform = SimulatedPlatform(b"a fleet", START)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        quotes, collateral, root = home / "quotes", home / "collateral.json", home / "root.pem"
        quotes.mkdir()
        for place in range(MACHINES):
            machine = platform.sibling(place.to_bytes(4, "big"))
            (quotes / f"{place:03}").write_bytes(machine.td().quote(bytes(64)))
        collateral.write_bytes(platform.collateral)
        root.write_bytes(platform.pck_chain[-1].certificate.public_bytes(Encoding.PEM))
        words = (str(quotes), "--collateral", str(collateral), "--trust-anchor", str(root), "--at", f"{START:%Y-%m-%d}")
        name = f"whole process: {MACHINES} TDX quotes of as many machines, with collateral"
        yield Comparison(name, process_run(*CARNET, *words), None, {})


def guests() -> Iterator[Comparison]:
    """Yield the report of a guest on Milan with its chip's certificate: two links in RSASSA-PSS, and the report."""
    cases = {case.evidence: case for case in snp_evidence.genuine()}
    case, other = cases[snp_evidence.MILAN], cases[snp_evidence.HEXADECIMAL]
    evidence, foreign = (
        replace(snp_evidence.found(each.evidence), certificates=each.certificates) for each in (case, other)
    )
    yield Comparison(
        "SNP report with its VCEK",
        acceptance(lambda: case.appraised_with(evidence)),
        lambda: other.appraised_with(foreign),
        {P384: 1, RSA_4096: 2},
        (f"omne-attest {version('omne-attest')}", _omne(evidence)),
    )


def _omne(evidence: SnpEvidence) -> Work:
    given = parse_certificates(evidence.certificates or b"")
    path = endorsement_path(endorsement_key(given, None), given, default_anchors().of(AnchorRole.AMD_SEV))
    leaf, authority, root = (der(each) for each in path.certificates)
    pin, policy = hashlib.sha256(root).digest(), omne_attest.Policy(max_vmpl=3, reject_debug=True)

    def verify() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of serial numbers that are zero, as AMD's are
            omne_attest.verify(evidence.report, leaf, authority, root, pin, policy)

    return verify


def devices() -> Iterator[Comparison]:
    """Yield the H100 report of nvtrust alone and with what may come with it.

    A path of five certificates has four signatures under its root, and the report one. A recorded OCSP reply has two,
    its own and its responder's. A RIM has one, and three on the path of its signer, of which two RIMs share two.
    """
    cases = list(nvidia_evidence.cases())
    whole = next(case for case in cases if case.rims)
    other = next(case for case in cases if not case.rims and case.refused_at is None and case.chain != whole.chain)
    replies = replace(whole, rims=())
    compared, alone = replace(whole, ocsp=()), replace(replies, ocsp=())
    rims = [case for case in nvidia_evidence.rim_cases() if case.document in whole.rims]

    def others() -> None:
        other.appraised()
        for rim in rims:
            rim.appraised()

    yield Comparison("GPU report and chain", acceptance(alone.appraised), other.appraised, {P384: 4 + 1})
    yield Comparison("GPU report with two RIMs", acceptance(compared.appraised), others, {P384: 4 + 1 + 2 * (3 + 1)})
    yield Comparison(
        "GPU report with two RIMs and three OCSP replies",
        acceptance(whole.appraised),
        others,
        {P384: 4 + 1 + 2 * (3 + 1) + 3 * 2},
    )


P256, P384, RSA_4096 = "ECDSA P-256", "ECDSA P-384", "RSASSA-PSS 4096"


def process_run(*words: str) -> Callable[[], bool]:
    """Return work that runs a command and says whether it ended well."""

    def run() -> bool:
        return subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0

    return run


def bare_verifications() -> Mapping[str, Work]:
    """Return one verification of each kind of signature, over as many bytes as a report has."""
    pss, message = padding.PSS(padding.MGF1(hashes.SHA384()), 48), bytes(672)
    rsa_key = rsa.generate_private_key(65537, 4096)
    signed = rsa_key.sign(message, pss, hashes.SHA384())
    return {
        P256: _ecdsa(ec.SECP256R1(), hashes.SHA256(), message),
        P384: _ecdsa(ec.SECP384R1(), hashes.SHA384(), message),
        RSA_4096: lambda: rsa_key.public_key().verify(signed, message, pss, hashes.SHA384()),
    }


def _ecdsa(curve: ec.EllipticCurve, digest: hashes.HashAlgorithm, message: bytes) -> Work:
    key = ec.generate_private_key(curve)
    signature, public = key.sign(message, ec.ECDSA(digest)), key.public_key()
    return lambda: public.verify(signature, message, ec.ECDSA(digest))


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def duration_of(work: Work, before: Sequence[Work]) -> Duration:
    """Return how long ``work`` takes after what comes ``before``, which is not counted."""
    for each in before:
        each()
    processor, clock = processor_seconds(), time.perf_counter()
    work()
    return Duration((processor_seconds() - processor) * 1000, (time.perf_counter() - clock) * 1000)


def by_turns(works: Mapping[str, tuple[Work, Sequence[Work]]]) -> dict[str, Duration]:
    """Return the median of each, of as many turns as ``TURNS``."""
    found: dict[str, list[Duration]] = {name: [] for name in works}
    for _ in range(TURNS):
        for name, (work, before) in works.items():
            found[name].append(duration_of(work, before))
    return {
        name: Duration(statistics.median(d.processor for d in each), statistics.median(d.clock for d in each))
        for name, each in found.items()
    }


def row(comparison: Comparison, verifications: Mapping[str, Work]) -> tuple[str, ...]:
    assert comparison.appraise(), f"{comparison.name} is not accepted"
    works: dict[str, tuple[Work, Sequence[Work]]] = {"first": (comparison.appraise, (forget,))}
    if comparison.other_machine is not None:
        works["next"] = (comparison.appraise, (forget, comparison.other_machine))
        works["again"] = (comparison.appraise, (comparison.appraise,))
    if comparison.peer is not None:
        works["peer"] = (comparison.peer[1], (comparison.peer[1],))
    if comparison.signatures:
        kinds = [verifications[kind] for kind, count in comparison.signatures.items() for _ in range(count)]
        works["bare"] = (lambda: [verify() for verify in kinds], ())
    times = by_turns(works)
    counts = ", ".join(f"{count} {kind}" for kind, count in comparison.signatures.items())
    ours = [times[name] for name in ("first", "next", "again") if name in times]
    peer = comparison.peer[0] if comparison.peer else NOTHING
    shares = [f"{each.processor / times['peer'].processor:.2f}" for each in ours if comparison.peer]
    return (
        *(comparison.name, *map(str, ours), *[NOTHING] * (3 - len(ours))),
        *(counts or NOTHING, str(times.get("bare", NOTHING))),
        *(peer, str(times.get("peer", NOTHING)), ", ".join(shares) or NOTHING),
    )


def main() -> None:
    verifications = bare_verifications()
    with (ROOT / "docs" / "results" / "appraisal-times.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(row(each, verifications) for part in (quotes, fleet, guests, devices) for each in part())


if __name__ == "__main__":
    main()
