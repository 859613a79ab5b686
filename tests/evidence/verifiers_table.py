"""Ask other verifiers what Carnet is asked, and write the tables that the documentation shows.

``python -m tests.evidence.verifiers_table`` writes them; it fails if an answer differs and no row says who is right.
Verifiers that are no dependency of the tests run in environments of their own, which are fetched once.
"""

import csv
import io
import json
import subprocess
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cryptography import x509

from tests.fixtures import dcap, omne
from tests.fixtures import nvidia_mutations as nvidia
from tests.fixtures.asked_of_verifiers import Question, questions
from tests.fixtures.own_environment import node_with, python_with, verifier_python
from tests.fixtures.peer_drivers import node_driver, python_driver

RESULTS: Final = Path(__file__).resolve().parents[2] / "docs" / "results"
AGREEMENT: Final = RESULTS / "agreement-verifiers.csv"
DIFFERENCES: Final = RESULTS / "agreement-differences.csv"
JUDGED: Final = Path(__file__).with_name("differences.toml")
Answers = list[str | None]
Ask = Callable[[Sequence[Question]], Answers]


@dataclass(frozen=True)
class Peer:
    """A verifier of others: its package, what of it is asked about which kind of document, and how."""

    name: str
    version: str
    kind: str
    ask: Ask


def _in_python(name: str, version: str, function: str, *beside: str) -> Ask:
    def ask(asked: Sequence[Question]) -> Answers:
        python = python_with(name, version, *beside)
        return _answers([str(python), str(python_driver.__file__), function], asked)

    return ask


def _in_node(name: str, version: str, function: str) -> Ask:
    def ask(asked: Sequence[Question]) -> Answers:
        folder = node_with(name, version)
        return _answers(["node", str(node_driver.PLACE), function, str(folder)], asked)

    return ask


def _answers(command: Sequence[str], asked: Sequence[Question]) -> Answers:
    told = json.dumps([dict(each.asked) for each in asked])
    ran = subprocess.run(command, input=told, text=True, check=True, capture_output=True, timeout=600)
    answers: Answers = json.loads(ran.stdout.splitlines()[-1])
    assert len(answers) == len(asked), command
    return answers


def _dcap_qvl(asked: Sequence[Question]) -> Answers:
    return [
        dcap.refusal(
            bytes.fromhex(each["quote"]), each["collateral"].encode(), _time(each), bytes.fromhex(each["root"])
        )
        for each in _as_json(asked)
    ]


def _omne(asked: Sequence[Question]) -> Answers:
    return [
        omne.refusal(
            bytes.fromhex(each["report"]),
            bytes.fromhex(each["vcek"]),
            bytes.fromhex(each["authority"]),
            x509.load_der_x509_certificate(bytes.fromhex(each["root"])),
        )
        for each in _as_json(asked)
    ]


def _nvidia(asked: Sequence[Question]) -> Answers:
    cases = [case for each in asked if isinstance(case := each.asked["case"], nvidia.Case)]
    with tempfile.TemporaryDirectory() as folder:
        accepted = nvidia.judged_by_nvidia(verifier_python(), cases, Path(folder))
    return [None if each else "refused" for each in accepted]


def _gpu_reports() -> Iterator[Question]:
    """Yield what is asked of real evidence; what nobody recorded, replies about signers of RIMs, is left out."""
    for case in nvidia.mutations():
        ours = case.appraised()
        steps = tuple(step for step in ours.steps if step != nvidia.UNASKED)
        yield Question("gpu", case.name, replace(ours, steps=steps), {"case": case})


def _as_json(asked: Sequence[Question]) -> Iterator[dict[str, Any]]:
    return (dict(each.asked) for each in asked)


def _time(asked: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(asked["at"], UTC)


def _peer(name: str, version: str, kind: str, function: str, *beside: str) -> Peer:
    how = _in_node if function in node_driver.FUNCTIONS else _in_python
    return Peer(name, version, kind, how(name, version, function, *beside))


PEERS: Final = (
    Peer("dcap-qvl", "0.7.0", "quote with collateral", _dcap_qvl),
    _peer("@phala/dcap-qvl", "0.3.9", "quote with collateral", "phala"),
    _peer("voltage-verify", "0.2.3", "quote", "voltage_quote"),
    _peer("cvm-attest", "1.0.0", "quote", "cvm_quote", "cryptography"),
    Peer("omne-attest", "0.1.0", "report", _omne),
    _peer("secretvm-verify", "0.12.0", "report", "secret_report"),
    _peer("cvm-attest", "1.0.0", "report", "cvm_report", "cryptography"),
    _peer("epsilon-attestation-verifier", "1.1.0", "document", "epsilon_document"),
    _peer("@0xsequence/tee-verifier", "0.1.2", "document", "sequence"),
    Peer("nv-local-gpu-verifier", "2.7.3", "gpu", _nvidia),
    _peer("voltage-verify", "0.2.3", "bundle", "voltage_tokens"),
    _peer("PyJWT", "2.15.1", "token", "pyjwt_token", "cryptography"),
    _peer("jose", "6.2.18", "token", "jose"),
    _peer("PyJWT", "2.15.1", "result", "pyjwt_token", "cryptography"),
    _peer("jose", "6.2.18", "result", "jose"),
)
KINDS: Final = {
    "quote with collateral": "TDX quotes with collateral",
    "quote": "TDX quotes alone",
    "report": "SEV-SNP reports",
    "document": "Nitro documents",
    "gpu": "H100 reports with RIMs and OCSP replies (real)",
    "bundle": "bundles of NVIDIA's service",
    "token": "tokens of services, as JWTs",
    "result": "results of verifiers (EAR), as JWTs",
}


@dataclass(frozen=True)
class Pair:
    """One document asked of one verifier and of Carnet."""

    peer: Peer
    question: Question
    theirs: str | None

    @property
    def agreement(self) -> str:
        """Whether both say the same, or who alone refuses."""
        if self.question.ours.accepted:
            return "both accept" if self.theirs is None else "the other alone refuses"
        return "Carnet alone refuses" if self.theirs is None else "both refuse"


def pairs() -> list[Pair]:
    """Return every document with what each verifier that reads it says; ``CARNET_EVIDENCE`` names real ones."""
    every = [*questions(), *_gpu_reports()]
    found = []
    for peer in PEERS:
        asked = [each for each in every if each.kind == peer.kind]
        found += [Pair(peer, each, theirs) for each, theirs in zip(asked, peer.ask(asked), strict=True)]
    return found


def agreement(found: Sequence[Pair]) -> str:
    """Return as CSV how often each verifier and Carnet said the same."""
    outcomes = ("both accept", "both refuse", "Carnet alone refuses", "the other alone refuses")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("Verifier", "Documents", "Pairs", *(f"{each[0].upper()}{each[1:]}" for each in outcomes)))
    for peer in PEERS:
        counts = Counter(pair.agreement for pair in found if pair.peer is peer)
        numbers = [counts[each] for each in outcomes]
        writer.writerow((f"{peer.name} {peer.version}", KINDS[peer.kind], sum(numbers), *numbers))
    return out.getvalue()


def judged(found: Sequence[Pair]) -> dict[tuple[str, str, str], tuple[dict[str, Any], int]]:
    """Return each judgement that some differences have, with how many; raise AssertionError if nobody judged one."""
    rows = {_key(row): row for row in tomllib.loads(JUDGED.read_text("utf-8"))["difference"]}
    counts: Counter[tuple[str, str, str]] = Counter()
    for pair in found:
        if pair.agreement in ("Carnet alone refuses", "the other alone refuses"):
            step = pair.question.ours.failed_step or ""
            key = next((each for each in rows if _fits(each, pair, step)), None)
            assert key is not None, f"nobody judged: {pair.peer.name}, {pair.peer.kind}, {pair.question}, {step}"
            counts[key] += 1
    return {key: (row, counts[key]) for key, row in rows.items()}


def differences(found: Sequence[Pair]) -> str:
    """Return as CSV every difference, with who is right and by which clause.

    Raises AssertionError if nobody judged one, or one that was judged is none.
    """
    rows = judged(found)
    left = [key for key, (_, count) in rows.items() if not count]
    assert not left, f"no difference: {left}"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("Documents", "Difference", "Pairs", "Right", "By"))
    for row, count in rows.values():
        writer.writerow((KINDS[row["kind"]], row["says"], count, row["right"], row["by"]))
    return out.getvalue()


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["kind"], row.get("step", ""), json.dumps(row.get("changes", []))


def _fits(key: tuple[str, str, str], pair: Pair, step: str) -> bool:
    kind, judged_step, changes = key
    named = json.loads(changes)
    change = pair.question.change.partition(": ")[2] or pair.question.change
    return kind == pair.peer.kind and judged_step == step and (not named or change in named)


if __name__ == "__main__":
    asked_of_all = pairs()
    AGREEMENT.write_text(agreement(asked_of_all), "utf-8")
    DIFFERENCES.write_text(differences(asked_of_all), "utf-8")
