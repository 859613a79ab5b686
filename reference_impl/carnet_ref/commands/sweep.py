"""``carnet sweep``: time many configurations of the data path, with progress."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_command.errors import UsageError
from carnet_command.files import replacing, require_writable_file
from carnet_command.interrupts import stoppable
from carnet_command.progress import progress
from carnet_command.text import LABEL_WIDTH, hanging, plural

if TYPE_CHECKING:
    from carnet_ref.datapath.sweeping import Outcome


@click.command(short_help="Time many configurations of the data path.")
@click.option("--configurations", default=10_000, show_default=True, help="How many.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Which ones: the same seed, the same configurations.",
)
@click.option("--jobs", type=int, help="Worker processes. [default: one to a core]")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write every outcome, as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def sweep(configurations: int, seed: int, jobs: int | None, out: Path | None, as_json: bool) -> None:
    """Draw random configurations of sizes, chunks, links and costs, and time each of them on every data path.

    Each is timed for sending the data, for GPU Travelling, for the H100's own path and for Fastrack.
    """
    from carnet_ref.datapath import sweeping

    workers = len(os.sched_getaffinity(0)) if jobs is None else jobs
    sweeping.check_extent(configurations, workers)
    if out:
        require_writable_file(out)
    started = sweeping.processes(configurations, workers)
    extent = f"{plural(configurations, 'configuration')} in {started:,} process{'' if started == 1 else 'es'}"
    click.echo(f"timing {extent}", err=True)
    began = time.monotonic()
    outcomes: list[Outcome] = []
    with stoppable():
        with progress() as live, contextlib.closing(sweeping.sweep(configurations, seed, workers)) as timed:
            for outcome in timed:
                outcomes.append(outcome)
                live.status(f"{len(outcomes):,} of {plural(configurations, 'configuration')}")
        seconds = time.monotonic() - began
        if out:
            _write(out, outcomes)
    shown = {
        "configurations": len(outcomes),
        "seed": seed,
        "jobs": workers,
        "seconds": round(seconds, 2),
        "out": str(out) if out else None,
        "factors": [
            {"name": one.name, "lower_quartile": one.lower, "median": one.median, "upper_quartile": one.upper}
            | {"above_one": one.above_one}
            for one in sweeping.summarise(outcomes)
        ],
        "rerun": _rerun(len(outcomes), seed, workers, out),
    }
    if as_json:
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    for line in _lines(shown):
        click.echo(line)


def _write(path: Path, outcomes: list[Outcome]) -> None:
    """Write all outcomes atomically: to a file beside ``path``, which is then moved to ``path``."""
    from carnet_ref.datapath.figures import with_unit

    ways = ("conventional", "travelling", "base_path", "fastrack")
    try:
        with replacing(path) as file:
            writer = csv.writer(file)
            names = [with_unit(name) for name, _ in outcomes[0].configuration.values]
            writer.writerow([*names, *(f"{way}_seconds" for way in ways)])
            for one in outcomes:
                values = [value for _, value in one.configuration.values]
                writer.writerow([*values, *(getattr(one, way) for way in ways)])
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from None


def _lines(shown: dict[str, Any]) -> Iterator[str]:
    yield f"{plural(shown['configurations'], 'configuration')} in {shown['seconds']} s"
    for one in shown["factors"]:
        yield from hanging(
            f"{one['name']}: {one['median']:.3g} times as fast (quartiles {one['lower_quartile']:.3g} and "
            f"{one['upper_quartile']:.3g}), faster in {one['above_one']:.1%}"
        )
    yield f"\n{'rerun':<{LABEL_WIDTH}}{shown['rerun']}"


def _rerun(configurations: int, seed: int, jobs: int, out: Path | None) -> str:
    words = ["carnet", "sweep", "--configurations", str(configurations), "--seed", str(seed), "--jobs", str(jobs)]
    return shlex.join([*words, *(["--out", str(out)] if out else [])])
