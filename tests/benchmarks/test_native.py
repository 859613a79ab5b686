"""How fast the native engine finds states of protocols that it was not made for, and in how much memory.

Slow tests, run with ``-s`` to see the figures: medians, beside those of the explicit engine in the same run. What is
asserted is how the engines compare, since other work slows both.
"""

import csv
import multiprocessing
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from carnet_check.engines.explicit.bounds import Watch, peak_bytes, resident_bytes
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps
from carnet_check.engines.native.compiling import compiler
from carnet_check.engines.native.search import NativeSearch
from carnet_check.semantics import Interpreter
from tests.benchmarks import large
from tests.fixtures.unseen import letters, relay, sites, vote

pytestmark = [pytest.mark.processes, pytest.mark.skipif(compiler() is None, reason="there is no C compiler")]

TRIES = 3
SIZES = {"vote": 4_000_000, "relay": 2_000_000}
FASTER = 2.5  #: How many times as many states a second as in Python, at least.
MOST = {"vote": 16, "relay": 64}  #: What a state may take, with the table by which it is found again.


class Run(NamedTuple):
    """What a search took: states, their bits, CPU seconds, what states are kept in, and all that the process gained."""

    states: int
    bits: int
    seconds: float
    kept: int
    gained: int


def run(packed: type[PackedSearch], name: str, states: int) -> Run:
    """Search for so many states of a protocol, in a process of its own."""
    protocol, instance = (vote(), sites(7)) if name == "vote" else (relay(), letters(8, among=5))
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    before, began = resident_bytes(), time.process_time()
    model = build(Interpreter(protocol, instance), invariants, (), reduce=True)
    search = packed(model, Watch(Caps(states=states)), enough=0, dominance=True)
    search.run()
    seconds, gained = time.process_time() - began, peak_bytes() - before
    return Run(len(search.found), model.layout.bits, seconds, large.kept_by(search.found), gained)


def runs(packed: type[PackedSearch], name: str, tries: int) -> list[Run]:
    """Search in new processes, one after the other."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        return [pool.submit(run, packed, name, SIZES[name]).result() for _ in range(tries)]


@pytest.mark.mends("P12")
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["vote", "relay"])
def test_states_a_second_and_bytes_a_state(name: str) -> None:
    runs(NativeSearch, name, 1)  # what is compiled is on the disk then
    rates, sizes = {}, {}
    for packed in (PackedSearch, NativeSearch):
        found = runs(packed, name, TRIES)
        rates[packed] = statistics.median(each.states / each.seconds for each in found)
        sizes[packed] = statistics.median(each.kept / each.states for each in found)
        gained = statistics.median(each.gained for each in found) / 1e6
        sys.stdout.write(
            f"\n{name}, {packed.__name__}: {found[0].states:,} states of {found[0].bits} bits, "
            f"{rates[packed]:,.0f} a CPU second, {sizes[packed]:.1f} bytes each kept, {gained:.0f} MB in all\n"
        )
    assert rates[NativeSearch] >= FASTER * rates[PackedSearch]
    assert sizes[NativeSearch] <= MOST[name]


def test_state_by_state_there_are_as_many_as_those_found_stand_for(tmp_path: Path) -> None:
    folder, table = tmp_path / "kept", tmp_path / "large.csv"
    folder.mkdir()
    large.main(["--sites", "4", "--folder", str(folder), "--out", str(table)])
    with table.open(encoding="utf-8", newline="") as file:
        reduced, whole = csv.DictReader(file)
    assert whole["states visited"] == whole["states stood for"] == reduced["states stood for"] == "32,498"
    assert reduced["states visited"] == "6,212"
    assert reduced["depth"] == whole["depth"]
    assert any(folder.glob("*.states.*"))
