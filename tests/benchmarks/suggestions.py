"""Remove each lemma of a protocol by itself, and see whether lemmas are suggested that prove what lost its proof.

``python -m tests.benchmarks.suggestions`` writes the table that the documentation reads. A row that is there already
and about the same specification is left as it is, so that what was interrupted goes on.
"""

import argparse
import csv
import functools
import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from carnet_check.engines.induction.induction import ProofResult, prove
from carnet_check.engines.interface import Plan, Strengthens
from carnet_check.engines.registry import able
from carnet_check.engines.runner import NullListener
from carnet_check.loading.families import load
from carnet_check.suggestion.facts import rules_of
from carnet_check.suggestion.shapes import Reader
from carnet_check.suggestion.suggestions import suggest
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool
from carnet_spec.language import Invariant, Protocol
from carnet_spec.language.notation import ASCII, show
from carnet_spec.language.terms import Term
from tests.repo.tracked import ROOT

PROTOCOLS = ("fastrack", "pipellm", "tensortee")
PATIENCE = 900  #: Seconds of the clock that one lemma may take on a busy machine.
SHOWN = 12  #: How much of a digest tells specifications apart.
TABLE = ROOT / "docs" / "results" / "suggestions.csv"


class Removal(StrEnum):
    """What became of the claims that lost their proof with a lemma."""

    UNNEEDED = "not needed"  #: Every claim is proved without it.
    AGAIN = "offered again"  #: The claims are proved with clauses of the lemma itself.
    REPLACED = "replaced"  #: The claims are proved with other lemmas.
    OPEN = "not found"  #: A claim is left without a proof.


@dataclass(frozen=True, slots=True)
class RemovedLemma:
    """One lemma that was removed; ``seconds`` are of processor time, the failing proof included."""

    protocol: str
    digest: str
    lemma: str
    removal: Removal
    claims: str = ""
    open: str = ""
    offered: str = ""
    seconds: str = ""


HEADER = (
    *("Protocol", "Specification", "Lemma removed", "What became of the claims", "Claims that lost their proof"),
    *("Still without one", "Offered", "Seconds"),
)
HEADER_NAMES = dict(zip(HEADER, (field.name for field in fields(RemovedLemma)), strict=True))


def removed(id: str, lemma: str) -> RemovedLemma:
    """Remove a lemma of a protocol, and look for what proves the claims that lose their proof."""
    source = load(id)
    whole = source.protocol()
    protocol = replace(whole, lemmas=tuple(each for each in whole.lemmas if each.name != lemma))
    (gone,) = (each for each in whole.lemmas if each.name == lemma)
    known = _proof(id)
    began = time.process_time()
    open_ = _unproved(protocol, known)
    found = RemovedLemma(id, whole.digest[:SHOWN], lemma, Removal.UNNEEDED)
    if not open_:
        return replace(found, seconds=_shown(began))
    plan = Plan(protocol, "", protocol.threats, (), frozenset(), True)
    pairs = {(claim, threat.id) for claim in open_ for threat in protocol.threats}
    suggestions = list(suggest(able(Strengthens), source, plan, pairs, NullListener()))
    lemmas = [each for suggestion in suggestions for each in suggestion.lemmas]
    stronger = replace(protocol, lemmas=(*protocol.lemmas, *lemmas))
    left = _unproved(stronger, known)
    again = _clauses(protocol, lemmas) <= _clauses(protocol, [gone])
    return replace(
        found,
        removal=Removal.OPEN if left else Removal.AGAIN if again else Removal.REPLACED,
        claims=", ".join(sorted(open_)),
        open=", ".join(sorted(left)),
        offered="; ".join(show(each.body, ASCII) for each in lemmas),
        seconds=_shown(began),
    )


@functools.cache
def _proof(id: str) -> ProofResult:
    """Prove a protocol as it is, under every threat model at once; what is proved so is not asked again."""
    return prove(load(id).protocol(), jobs=1)


def _unproved(protocol: Protocol, known: ProofResult) -> set[str]:
    """Return the claims that have no proof under every threat model."""
    proof = prove(protocol, jobs=1, baselines=[known])
    return {claim.name for claim in protocol.claims if not proof.claim(claim.name).is_proved}


def _shown(began: float) -> str:
    return f"{time.process_time() - began:.1f}"


def _clauses(protocol: Protocol, lemmas: Iterable[Invariant]) -> set[Term]:
    """Return the clauses of lemmas, whatever their variables are called."""
    reader = Reader(protocol, (), {})
    return {reader.canonical_form(rule.premises, rule.conclusion)[1] for each in lemmas for rule in rules_of(each.body)}


def rows(protocols: Sequence[str], known: Mapping[tuple[str, str, str], RemovedLemma]) -> Iterator[RemovedLemma]:
    """Yield a row for each lemma: those that are known as they are, and then the others.

    These come in the order of their digests, so that a table that was interrupted is a sample.
    """
    whole = [load(id).protocol() for id in protocols]
    parts = [(each.id, each.digest[:SHOWN], lemma.name) for each in whole for lemma in each.lemmas]
    yield from (known[part] for part in parts if part in known)
    left = sorted((part for part in parts if part not in known), key=_digest)
    with WorkerPool(1, patience=PATIENCE, memory=None, keep=False) as pool:
        for part, found in pool.results(_row, left):
            if isinstance(found, Lost):
                raise RuntimeError(f"{part}: {found.reason}")
            yield found


def _digest(part: tuple[str, str, str]) -> str:
    return hashlib.sha256(" ".join(part).encode("ascii")).hexdigest()


def _row(part: tuple[str, str, str]) -> list[RemovedLemma]:
    """Remove one lemma, in a process that starts no other, so that its processor time is all there is."""
    return [removed(part[0], part[2])]


def read(table: Path) -> list[RemovedLemma]:
    """Return the rows of a table, or none if there is no table."""
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as text:
        listed = [{HEADER_NAMES[name]: value for name, value in row.items()} for row in csv.DictReader(text)]
    return [RemovedLemma(removal=Removal(row.pop("removal")), **row) for row in listed]


def write(table: Path, found: Iterable[RemovedLemma]) -> None:
    """Write a table, each row as soon as it is there, and the rows that it had until it is whole."""
    listed: list[RemovedLemma] = []
    before = read(table)
    for row in found:
        listed.append(row)
        names = {(each.protocol, each.lemma) for each in listed}
        rest = [each for each in before if (each.protocol, each.lemma) not in names]
        with table.open("w", encoding="utf-8", newline="") as text:
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(HEADER)
            writer.writerows(astuple(each) for each in (*listed, *rest))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.suggestions")
    parser.add_argument("protocols", nargs="*", default=PROTOCOLS)
    parser.add_argument("--out", type=Path, default=TABLE)
    options = parser.parse_args()
    known = {(each.protocol, each.digest, each.lemma): each for each in read(options.out)}
    write(options.out, rows(options.protocols, known))


if __name__ == "__main__":
    main()
