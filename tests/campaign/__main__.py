"""Random protocols through every engine, kernel and export, beside an enumeration of all their small structures.

    make -C model_check/coq program exhaust
    python -m tests.campaign --protocols 10000 --seed 1 --jobs 2 --e-every 4 --out docs/results/random-campaign.csv

A run that was ended goes on where it was: what is done is kept beside the record, in ``….progress``. Exit code 1: some
two disagree, and the smallest protocol that was found for it is printed.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from carnet_check.coq import exhaustion
from carnet_check.coq.program import program
from tests.campaign.running import CHUNK, Campaign, Chunk, run, total

ENGINES = ("Z3", "cvc5", "E", "small structures")
ANSWERS = ("proved", "refuted", "unknown")
CLAIMS = ("induction PROVED", "explicit EXHAUSTED", "explicit VIOLATED", "explicit VACUOUS", "induction VACUOUS")
COUNTED = (
    *("protocols", "refused", "too big to enumerate", "variants", "variants outside the certified language"),
    *(f"claim {each}" for each in CLAIMS),
    *("obligations", "texts", "protocols asked of E"),
    *(f"{who}: {what}" for who in ENGINES for what in ANSWERS),
    *("certificates", "certificates judged", "certificates accepted", "claims proved by certificates"),
    *(f"layers proved by {who}" for who in ENGINES[:3]),
    *("spoilt certificates judged", "spoilt certificates that can be read", "spoilt certificates accepted"),
    *("certificates offered for what is not so", "instances", "instances too big", "states", "exhausted accepted"),
)
"""What the record has, in this order."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, and write the record when it is done."""
    options = _options(arguments)
    checker, exhaust = program(), exhaustion.program()
    if checker is None or exhaust is None:
        sys.stderr.write("expected the programs that `make -C model_check/coq program exhaust` builds\n")
        return 2
    campaign = Campaign(options.seed, checker, exhaust, options.e_every)
    chunks: list[Chunk] = []
    for chunk in run(campaign, options.protocols, options.jobs, options.out.with_suffix(".progress")):
        chunks.append(chunk)
        counts = total(chunks)
        sys.stdout.write(f"{len(chunks)} chunks of {CHUNK}: {counts['protocols']} of {options.protocols} protocols\n")
        sys.stdout.flush()
        if chunk.disagreements:
            sys.stdout.write("\n".join((*chunk.disagreements, "the smallest:", chunk.smallest, "")))
            return 1
    _write(options.out, options.seed, total(chunks))
    return 0


def _write(file: Path, seed: int, counts: Counter[str]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([("counted", "number"), ("seed", seed)])
        writer.writerows((what, counts[what]) for what in COUNTED if counts[what])
        writer.writerow(("disagreements", 0))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.campaign", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--protocols", type=int, default=10_000, help="how many are compared; refused ones count apart")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--e-every", type=int, default=1, help=f"of so many chunks of {CHUNK}, ask E about one")
    parser.add_argument("--out", type=Path, required=True, help="write the record into this CSV file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
