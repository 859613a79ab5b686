"""Decide who gets the drill of a desk in the end, by the explicit engine and by compiled code.

``python -m tests.benchmarks.liveness --out FILE.csv`` takes some three minutes. The property is that of one of the
persons; it holds if lending is strongly fair to that one, and fails if it is weakly fair. Each search is made in a
process of its own, and a time is user and system time of that process. Compiled code is made before.
"""

import argparse
import csv
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from carnet_check.engines.explicit.bounds import peak_bytes
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.explicit.explorer import PackedExplorer
from carnet_check.engines.native.engine import NATIVE
from carnet_check.loading.families import load
from carnet_spec.language import Eventually, Instance, Protocol
from carnet_spec.language.terms import Member

ENGINES: Mapping[str, PackedExplorer] = {engine.name: engine for engine in (EXPLICIT, NATIVE)}
PERSONS = 17
MEBIBYTE = 1 << 20
FAIRNESS = {"lend is strongly fair": True, "lend is weakly fair": False}


def posed(persons: int, strong: bool) -> tuple[Protocol, Instance, Eventually]:
    """Return the desk, so many persons, and that the first of them gets the drill, with less fairness."""
    protocol = load("tests/fixtures/desk.py").protocol()
    names = tuple(f"person{number}" for number in range(1, persons + 1))
    (served,) = (live for live in protocol.liveness if live.name == "served")
    (person,) = served.params
    mine = served.at([Member(person.sort, names[0])])
    return protocol, Instance({"Person": names}), replace(mine, strong=mine.strong if strong else ())


def decided(engine: str, persons: int, fairness: str) -> Mapping[str, str]:
    """Decide the property in this process; return what it took.

    Raises RuntimeError if the search was stopped, or its verdict is wrong.
    """
    protocol, instance, live = posed(persons, FAIRNESS[fairness])
    began = time.process_time()
    found = ENGINES[engine].lassos(protocol, instance, liveness=[live])
    seconds = time.process_time() - began
    if found.stopped_by or bool(found.violations) == FAIRNESS[fairness]:
        raise RuntimeError(f"stopped by {found.stopped_by}" if found.stopped_by else "the verdict is wrong")
    return {
        "fairness": fairness,
        "engine": engine,
        "states": f"{found.states:,}",
        "transitions": f"{found.transitions:,}",
        "verdict": "VIOLATED" if found.violations else "EXHAUSTED",
        "CPU s": f"{seconds:.1f}",
        "most memory, MiB": f"{peak_bytes() / MEBIBYTE:,.0f}",
    }


def apart(engine: str, persons: int, fairness: str) -> Mapping[str, str]:
    """Decide it in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(decided, engine, persons, fairness).result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Decide all, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=PERSONS)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    for fairness in FAIRNESS:
        apart(NATIVE.name, given.persons, fairness)
    rows = [apart(engine, given.persons, fairness) for fairness in FAIRNESS for engine in ENGINES]
    with given.out.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
