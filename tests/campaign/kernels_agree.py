"""Spoilt certificates of a protocol's obligations, judged by both kernels, which accept the same ones.

    python -m tests.campaign.kernels_agree gpu-travelling --count 10000 --out docs/results/spoilt-certificates.csv

Each is offered for an obligation that is certified. Both kernels are asked about the whole obligation.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from carnet_check.certificates.file import Certificates, Entry, load_certificates, place_of
from carnet_check.certificates.judging import Asked, key_of
from carnet_check.coq.certificates import ConvertedCertificate
from carnet_check.coq.program import program
from carnet_check.exports.obligation_text import Writer
from carnet_check.loading.families import Source, load
from tests.campaign.kernels import Both, Key
from tests.campaign.spoiling import spoilt

ROUNDS = 4
"""How often each obligation's certificate is spoilt: the whole obligation takes longest to read."""
WHAT = ("spoilt", "can be read", "accepted by both", "accepted by one alone")


@dataclass
class Judged:
    """What was counted, and what only one kernel accepts."""

    counts: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)


def certified(both: Both, certificates: Certificates) -> dict[Key, Entry]:
    """Return the certificates of a variant's obligations."""
    found: dict[Key, Entry] = {}
    for layer in both.layers:
        asked = Asked.of(layer)
        entries = asked.entries(certificates.layers.get(key_of(layer)))
        for each in asked.proper:
            entry = entries.get(each.id)
            if entry is not None:
                found[layer.threat.id if layer.threat else "", each.id.removeprefix(layer.prefix)] = entry
    return found


def judge(both: Both, sound: dict[Key, Entry], count: int, draw: random.Random, judged: Judged) -> None:
    """Spoil ``count`` certificates of one variant, and have both kernels judge them."""
    every, writer = list(sound.values()), Writer()
    chosen = draw.sample(sorted(sound), min(len(sound), -(-count // ROUNDS)))
    for _ in range(-(-count // len(chosen))):
        given: dict[Key, ConvertedCertificate] = {}
        for key in chosen:
            certificate = both.converted(key, spoilt(sound[key], every, draw))
            judged.counts["spoilt"] += 1
            if certificate is not None:
                given[key] = certificate
        in_coq, well_stated = both.accepted_in_coq(given)
        assert well_stated
        here = {key for key, certificate in given.items() if both.accepted_here(writer, key, certificate)}
        judged.counts["can be read"] += len(given)
        judged.counts["accepted by both"] += len(here & in_coq)
        judged.counts["accepted by one alone"] += len(here ^ in_coq)
        judged.differing += [f"{both.protocol.variant} {key}: {given[key]}" for key in sorted(here ^ in_coq)]


def judged_of(source: Source, executable: Path, count: int, seed: int) -> Iterator[tuple[str, Judged]]:
    """Yield what becomes of each variant; all together have ``count`` certificates spoilt."""
    place = place_of(source)
    assert place is not None, "the protocol lies where no certificates can lie beside it"
    certificates, variants = load_certificates(place), source.family.with_layers(source.family.main)
    for variant in variants:
        both, found = Both(source.protocol(variant), executable), Judged()
        share = -(-count // len(variants))
        judge(both, certified(both, certificates), share, random.Random(f"{seed}/{variant}"), found)
        yield variant, found


def main(arguments: Sequence[str] | None = None) -> int:
    """Spoil, judge, and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("protocol")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    executable = program()
    if executable is None:
        sys.stderr.write("expected the program that `make -C model_check/coq program` builds\n")
        return 2
    rows: list[dict[str, str | int]] = []
    differing: list[str] = []
    for variant, found in judged_of(load(options.protocol), executable, options.count, options.seed):
        rows.append({"variant": variant, "seed": options.seed, **{what: found.counts[what] for what in WHAT}})
        differing += found.differing
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()
    with options.out.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ["variant", "seed", *WHAT], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sys.stdout.writelines(f"{each}\n" for each in differing)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
