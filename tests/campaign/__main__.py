"""Random protocols through every engine, kernel and export, beside an enumeration of all their small structures.

    make -C model_check/coq program exhaust
    python -m tests.campaign --protocols 10000 --seed 1 --jobs 2 --e-every 4 --out docs/results/random-campaign.csv

The record is written after every chunk, and a run that was ended goes on where its record ends. Exit code 1: some two
disagree, and the smallest protocol that was found for it is printed.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from carnet_check.coq import program as coq_program
from carnet_check.coq.program import program
from carnet_command.files import replacing
from tests.campaign.running import CHUNK, Campaign, run

ENGINES = ("Z3", "cvc5", "E", "small structures")
ANSWERS = ("proved", "refuted", "unknown")
CLAIMS = (
    *("induction PROVED", "explicit EXHAUSTED", "explicit VIOLATED", "explicit VACUOUS", "induction VACUOUS"),
    *(f"native {verdict}" for verdict in ("EXHAUSTED", "VIOLATED", "VACUOUS")),
    *(f"bmc {verdict}" for verdict in ("HOLDS-TO", "VIOLATED", "VACUOUS", "UNKNOWN")),
)
#: What the record has, in this order.
COUNTED = (
    *("chunks", "protocols", "refused", "too big to enumerate", "variants", "variants outside the certified language"),
    *(f"claim {each}" for each in CLAIMS),
    *("obligations", "texts", "protocols asked of E"),
    *(f"{who}: {what}" for who in ENGINES for what in ANSWERS),
    *("certificates", "certificates judged", "certificates accepted", "claims proved by certificates"),
    *(f"layers proved by {who}" for who in ENGINES[:3]),
    *("spoilt certificates judged", "spoilt certificates that can be read", "spoilt certificates accepted"),
    *("certificates offered for what is not so", "instances", "instances too big", "states", "exhausted accepted"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign from where its record ends, and write the record after every chunk."""
    options = _options(arguments)
    checker, exhaust = program(), coq_program.exhaust_program()
    if checker is None or exhaust is None:
        sys.stderr.write("expected the programs that `make -C model_check/coq program exhaust` builds\n")
        return 2
    campaign = Campaign(options.seed, checker, exhaust, options.e_every, explorers_only=options.explorers_only)
    try:
        counts = _recorded(options.out, campaign)
    except ValueError as error:
        sys.stderr.write(f"cannot go on with '{options.out}': {error}\n")
        return 2
    for chunk in run(campaign, options.protocols - counts["protocols"], options.jobs, counts["chunks"]):
        if chunk.disagreements:
            sys.stdout.write("\n".join((*chunk.disagreements, "the smallest:", chunk.smallest, "")))
            return 1
        counts.update({**chunk.counts, "chunks": 1})
        _write(options.out, campaign, counts)
        done = f"{counts['chunks']} chunks of {CHUNK}: {counts['protocols']} of {options.protocols} protocols"
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()
    return 0


def _head(campaign: Campaign) -> dict[str, int]:
    """Return what says which protocols are drawn, and who is asked of which."""
    return {
        "seed": campaign.seed,
        "E is asked about one chunk in": 0 if campaign.explorers_only else campaign.e_every,
        "only explorers are asked": int(campaign.explorers_only),
    }


def _recorded(file: Path, campaign: Campaign) -> Counter[str]:
    """Return what a record counts; nothing if there is none.

    Raises ValueError if it is the record of something else.
    """
    if not file.exists():
        return Counter()
    with file.open(encoding="utf-8", newline="") as lines:
        found = {what: int(number) for what, number in list(csv.reader(lines))[1:]}
    if {what: found.pop(what, 0) for what in _head(campaign)} != _head(campaign) or found.pop("disagreements", 1):
        raise ValueError("it is the record of another campaign")
    return Counter(found)


def _write(file: Path, campaign: Campaign, counts: Counter[str]) -> None:
    with replacing(file) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("counted", "number"))
        writer.writerows((what, number) for what, number in _head(campaign).items() if number)
        writer.writerows((what, counts[what]) for what in COUNTED if counts[what])
        writer.writerow(("disagreements", 0))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.campaign", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--protocols", type=int, default=10_000, help="how many are compared; refused ones count apart")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--e-every", type=int, default=1, help=f"of so many chunks of {CHUNK}, ask E about one")
    parser.add_argument("--explorers-only", action="store_true", help="ask none but the explorers, a fifth of the time")
    parser.add_argument("--out", type=Path, required=True, help="write the record into this CSV file")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
