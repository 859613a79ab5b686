"""Carnet and Spin on the same exported instances: processor time, memory, and bytes for each state, side by side.

``python -m tests.benchmarks.spin --out FILE.csv`` exports each instance, compiles Spin's verifier, and then runs
``carnet explore --no-reduction``, the verifier, and ``carnet explore`` as it is in turn, each ``--repeat`` times. None
runs beside another. A time is user and system time of the whole process with its children; compiling the verifier is
reported apart, and Carnet compiles within its own time. ``--instance`` names an instance as words of ``carnet
explore``; without it the usual ones are run, which takes an hour or more.

The bytes of a state are, for Spin, those that it says it stored, with overhead and a share of its hash table. For
Carnet they are what the process held beyond one that stopped early, so its frontier is among them.
"""

import argparse
import csv
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fixtures.spin import COMPILER

#: Models of at most 64 bits a state that no engine was made for; their files are named from the repository's root.
NARROW = (
    "tests/benchmarks/models/link_ring.py --profile narrow",
    "tests/benchmarks/models/verdict_cache.py --profile narrow",
    "tests/benchmarks/models/chunk_transfer.py --profile narrow",
)
#: Instances of millions of states, each explored from one first state by both.
USUAL = (
    "gpu-travelling --threat holder --rounds 2 --moves 5",
    "gpu-travelling --threat past-keys --rounds 2 --moves 3",
    "gpu-travelling --threat past-keys --rounds 2 --moves 4",
    *NARROW,
)
CARNET = (sys.executable, "-c", "from carnet_check.cli import main; main()")
#: The binary logarithm of the most slots that Spin's hash table gets: at four times the states, it is never full.
LARGEST_TABLE = 30
HEADINGS = (
    *("instance", "states", "Carnet, CPU s", "Spin, CPU s", "ratio of CPU time"),
    *("Carnet with reductions, CPU s", "ratio with reductions"),
    *("Carnet, MiB", "Spin, MiB", "Carnet, bytes a state", "Spin, bytes a state"),
)
SPARE = 10  #: How many steps deeper than it goes Spin may go: its stack takes memory whether it is used or not.
BEGUN = 25_000  #: After so many states Carnet has loaded all that it needs.
ENOUGH = 1_000_000  #: How many states it takes until what they take shows in what a process holds.


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took."""

    cpu: float  #: seconds of user and system time, children included.
    memory: int  #: the most bytes that it held.
    states: int  #: how many states it counted.
    said: str  #: what it printed.


@dataclass(frozen=True, slots=True)
class Row:
    """One instance in the table; times in seconds, memory in bytes, of ``repeats`` runs the median."""

    instance: str
    states: int
    transitions: int
    repeats: int
    carnet_cpu: float
    spin_cpu: float
    ratio: float
    lowest_ratio: float
    highest_ratio: float
    reduced_cpu: float
    reduced_ratio: float
    spin_compile_cpu: float
    carnet_memory: int
    spin_memory: int
    carnet_bytes_per_state: float
    spin_bytes_per_state: float


def measured(command: Sequence[str], counted: Callable[[str], int], folder: Path | None = None) -> Run:
    """Run a command and return what it took. Raises RuntimeError if it failed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said = out.read()
        if process.returncode not in (0, 1, 3):
            raise RuntimeError(f"{shlex.join(command)} ended with {process.returncode}: {err.read()[-500:]}")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, counted(said), said)


def compare(instance: str, repeats: int, folder: Path, carnet: Sequence[str] = CARNET) -> Row:
    """Run both on one instance, in turn. Raises RuntimeError if one fails, or they count different states."""
    options = shlex.split(instance)
    measured([*carnet, "export", *options, "--to", "promela", "--out", str(folder)], len)
    (model,) = folder.glob("*.pml")
    reduced = [*carnet, "explore", *options, "--json"]
    explore = [*reduced, "--no-reduction"]
    begun = measured([*explore, "--max-states", str(BEGUN)], len)
    states = measured(explore, _states_of_carnet).states
    compiled = _compiled(model)
    table = f"-w{min(LARGEST_TABLE, (4 * states).bit_length())}"
    deepest = _number(r"depth reached (\d+)", measured(["./pan", f"-m{states}", table, "-c0"], len, folder).said)
    verifier = ["./pan", f"-m{deepest + SPARE}", table, "-c0"]
    turns = [
        (
            measured(explore, _states_of_carnet),
            measured(verifier, _states_of_spin, folder),
            measured(reduced, _states_of_carnet),
        )
        for _ in range(repeats)
    ]
    if {run.states for *unreduced, _ in turns for run in unreduced} != {states}:
        raise RuntimeError(f"{instance}: Carnet counts {states} states, and Spin {turns[0][1].states}")
    if any(not 0 < run.states <= states for *_, run in turns):
        raise RuntimeError(f"{instance}: with reductions, Carnet counts {turns[0][2].states} states of {states}")
    return _row(instance, turns, compiled, begun)


def _compiled(model: Path) -> float:
    """Make the verifier, and return the processor time that takes."""
    vector = re.search(r"-DVECTORSZ=\d+", model.read_text("utf-8"))
    options = ["-O2", "-DSAFETY", "-DNOREDUCE", *([vector[0]] if vector else [])]
    made = measured(["spin", "-a", "-o2", model.name], len, model.parent)
    return made.cpu + measured([str(COMPILER), *options, "-w", "-o", "pan", "pan.c"], len, model.parent).cpu


def _row(instance: str, turns: Sequence[tuple[Run, Run, Run]], compiled: float, begun: Run) -> Row:
    carnet, spin, reduced = zip(*turns, strict=True)
    ratios = [one.cpu / other.cpu for one, other, _ in turns]
    states = carnet[0].states
    return Row(
        instance=instance,
        states=states,
        transitions=_number(r'"transitions": (\d+)', carnet[0].said),
        repeats=len(turns),
        carnet_cpu=round(statistics.median(run.cpu for run in carnet), 3),
        spin_cpu=round(statistics.median(run.cpu for run in spin), 3),
        ratio=round(statistics.median(ratios), 3),
        lowest_ratio=round(min(ratios), 3),
        highest_ratio=round(max(ratios), 3),
        reduced_cpu=round(statistics.median(run.cpu for run in reduced), 3),
        reduced_ratio=round(statistics.median(less.cpu / other.cpu for _, other, less in turns), 3),
        spin_compile_cpu=round(compiled, 3),
        carnet_memory=int(statistics.median(run.memory for run in carnet)),
        spin_memory=int(statistics.median(run.memory for run in spin)),
        carnet_bytes_per_state=_carnet_bytes(carnet[0], begun),
        spin_bytes_per_state=_spin_bytes(spin[0].said),
    )


def _states_of_carnet(said: str) -> int:
    return _number(r'"states": (\d+)', said) if '"complete": true' in said else 0


def _states_of_spin(said: str) -> int:
    return 0 if "max search depth too small" in said else _number(r"(\d+) states, stored", said)


def _carnet_bytes(run: Run, begun: Run) -> float:
    """Return what a state took beyond what the process holds anyway; 0 where there are too few states to tell."""
    return round((run.memory - begun.memory) / run.states, 1) if run.states >= ENOUGH else 0.0


def _spin_bytes(said: str) -> float:
    """Return the bytes of a state as stored, its overhead, and its share of the hash table."""
    stored = re.search(r"state-vector as stored = (\d+) byte \+ (\d+) byte overhead", said)
    vector = int(stored[1]) + int(stored[2]) if stored else _number(r"State-vector (\d+) byte", said)
    table = re.search(r"([\d.]+)\s+memory used for hash table", said)
    return round(vector + (float(table[1]) * (1 << 20) / _states_of_spin(said) if table else 0.0), 1)


def _number(pattern: str, said: str) -> int:
    found = re.search(pattern, said)
    if found is None:
        raise RuntimeError(f"expected {pattern} in: {said[-500:]}")
    return int(found[1])


def write(rows: Iterable[Row], file: Path) -> None:
    with file.open("w", newline="", encoding="utf-8") as kept:
        written = csv.writer(kept, lineterminator="\n")
        written.writerow(HEADINGS)
        written.writerows(_shown(row) for row in rows)


def _shown(row: Row) -> tuple[str, ...]:
    return (
        row.instance,
        f"{row.states:,}",
        f"{row.carnet_cpu:.1f}",
        f"{row.spin_cpu:.1f}",
        f"{row.ratio:.2f} ({row.lowest_ratio:.2f} to {row.highest_ratio:.2f}, {row.repeats} runs)",
        f"{row.reduced_cpu:.1f}",
        f"{row.reduced_ratio:.2f}",
        f"{row.carnet_memory / (1 << 20):,.0f}",
        f"{row.spin_memory / (1 << 20):,.0f}",
        f"{row.carnet_bytes_per_state:.1f}",
        f"{row.spin_bytes_per_state:.1f}",
    )


def told(row: Row) -> Iterator[str]:
    yield f"{row.instance}: {row.states:,} states, {row.transitions:,} transitions"
    yield (
        f"  time     carnet {row.carnet_cpu:.2f} s, spin {row.spin_cpu:.2f} s (compiled {row.spin_compile_cpu:.2f} s); "
        f"ratio {row.ratio:.2f}, from {row.lowest_ratio:.2f} to {row.highest_ratio:.2f} in {row.repeats} runs"
    )
    yield f"  reduced  carnet {row.reduced_cpu:.2f} s, ratio {row.reduced_ratio:.2f}"
    yield (
        f"  memory   carnet {row.carnet_memory / (1 << 20):.0f} MiB, spin {row.spin_memory / (1 << 20):.0f} MiB; "
        f"bytes a state: carnet {row.carnet_bytes_per_state or 'not told'}, spin {row.spin_bytes_per_state}"
    )


def _asked(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instance", action="append", metavar="WORDS", help="as after `carnet explore`; repeatable")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each [default: 5]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write a table as CSV")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _asked(arguments)
    rows = []
    for instance in asked.instance or USUAL:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(compare(instance, asked.repeat, Path(folder)))
        sys.stdout.write("".join(f"{line}\n" for line in told(rows[-1])))
        sys.stdout.flush()
        if asked.out:
            write(rows, asked.out)


if __name__ == "__main__":
    main()
