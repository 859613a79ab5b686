"""Explore a vote completely by the native engine, up to symmetry, and state by state with all of them on the disk.

``python -m tests.benchmarks.large --folder DIR --out FILE.csv`` takes the better part of half an hour, some eleven
gigabytes of memory, and six of the empty folder DIR. ``--sites`` makes the vote smaller. The last site does less than
the others: what it says is not lost, it does not refuse, and it is not told. Six sites and such a seventh have more
than half a billion states. A time is user and system time of the process, and what states take is rows and table.
"""

import argparse
import csv
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.explicit.bounds import Watch, peak_bytes
from carnet_check.engines.explicit.model import build
from carnet_check.engines.native.machine import Machine
from carnet_check.engines.native.search import NativeSearch
from carnet_check.semantics import Interpreter
from carnet_spec.language import Instance
from tests.fixtures.unseen import sites, vote

SITES = 7
LEFT_TO_OTHERS = ("lose", "refuse", "tell")  #: What the last site does not do.
MEBIBYTE = 1 << 20


def kept_by(found: Sequence[int]) -> int:
    """Return the bytes of states that compiled code found, and of the table; how Python keeps them is not told."""
    return found.held if isinstance(found, Machine) else 0


def posed(number: int) -> Instance:
    """Return a vote of so many sites, of which the last one does less."""
    instance = sites(number)
    others = instance.elements["Site"][:-1]
    return replace(instance, pools={(action, "site"): others for action in LEFT_TO_OTHERS})


def explored(number: int, folder: Path | None) -> Mapping[str, str]:
    """Explore the vote, state by state into a folder, or up to symmetry without one; return what it took.

    Raises RuntimeError if the search was stopped, or the claim fell.
    """
    protocol, instance = vote(), posed(number)
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    model = build(Interpreter(protocol, instance), invariants, (), reduce=True, symmetric=folder is None)
    saved = None if folder is None else Checkpoint(folder).for_instance("vote")
    watch = Watch()
    search = NativeSearch(model, watch, enough=0, dominance=True, saved=saved)
    began = time.process_time()
    stopped_by = search.run()
    if stopped_by or search.sightings:
        raise RuntimeError(f"stopped by {stopped_by}" if stopped_by else "the claim fell")
    seconds, states = time.process_time() - began, len(search.found)
    canonical = model.canonical
    on_disk = 0 if folder is None else sum(file.stat().st_size for file in folder.iterdir())
    return {
        "sites": str(number),
        "one for those that differ in names": "no" if canonical is None else "yes",
        "states visited": f"{states:,}",
        "states stood for": f"{states if canonical is None else search.represented(canonical):,}",
        "transitions": f"{sum(search.fired.values()):,}",
        "depth": str(search.depth),
        "CPU s": f"{seconds:,.0f}",
        "bytes a state": f"{kept_by(search.found) / states:.1f}",
        "most memory, MiB": f"{peak_bytes() / MEBIBYTE:,.0f}",
        "on the disk, MiB": f"{on_disk / MEBIBYTE:,.0f}",
    }


def apart(number: int, folder: Path | None) -> Mapping[str, str]:
    """Explore in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(explored, number, folder).result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Explore both ways, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=SITES)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    rows = [apart(given.sites, None), apart(given.sites, given.folder)]
    with given.out.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
