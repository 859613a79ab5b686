"""``carnet datapath``: compare published figures with the model's, and compute the cost of an epoch."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_command.errors import UsageError
from carnet_command.printable import printable
from carnet_command.text import LABEL_WIDTH, hanging, plural

if TYPE_CHECKING:
    from carnet_ref.datapath.planning import TransferPlan
    from carnet_ref.datapath.tables.model import Table

PUBLISHED = ("gpu-travelling", "fastrack", "ddp", "pipellm")
CAPACITY = "capacity"
THROUGHPUT = "throughput"
KEYS = "keys"
TABLES = (*PUBLISHED, CAPACITY, KEYS, THROUGHPUT)
THROUGHPUT_CHUNKS = ("64 KiB", "256 KiB", "1 MiB")
THROUGHPUT_ROUNDS = 81
DEFAULTS = {
    "dataset": "44 TiB",
    "buffer": "256 MiB",
    "network": "10 Gbit/s",
    "lease": "60 s",
    "model": "498 MB",
}
HOLDERS = {CAPACITY: 4, KEYS: 7}
#: The tables that have further options, each with these options.
DEMANDED = {
    CAPACITY: {*DEFAULTS, "holders", "rounds"},
    KEYS: {"dataset", "buffer", "holders", "model", "advantage"},
}


@click.command(short_help="Reproduce published transfer times, and plan capacity.")
@click.option("--table", type=click.Choice(TABLES), default=PUBLISHED[0], show_default=True)
@click.option("--plot", "plot_file", type=click.Path(path_type=Path), metavar="FILE", help="Also draw it, as SVG.")
@click.option("--samples", default=500, show_default=True, help="Points of the parameter box that are tried.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of these points.")
@click.option("--dataset", metavar="SIZE", help=f"capacity, keys: all data. [default: {DEFAULTS['dataset']}]")
@click.option("--buffer", metavar="SIZE", help=f"capacity, keys: data of a visit. [default: {DEFAULTS['buffer']}]")
@click.option("--holders", type=int, help="capacity, keys: how many holders share the data. [default: 4, or 7]")
@click.option("--network", metavar="RATE", help=f"capacity: link between machines. [default: {DEFAULTS['network']}]")
@click.option("--lease", metavar="TIME", help=f"capacity: longest visit. [default: {DEFAULTS['lease']}]")
@click.option("--model", metavar="SIZE", help=f"capacity, keys: size of the model. [default: {DEFAULTS['model']}]")
@click.option("--rounds", type=int, help="capacity: exchanges of a shared model in an epoch. [default: 1]")
@click.option("--advantage", type=int, metavar="N", help="keys: an attacker gains at most 2^-N. [default: 60]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def datapath(
    table: str, plot_file: Path | None, samples: int, seed: int, as_json: bool, **demanded: str | int | None
) -> None:
    """Compare a published table with the figures of the timed data path.

    Each row says whether it was fitted or predicted. `--table capacity` plans an epoch instead; sizes are in MiB, MB or
    Mbit, rates in these per second, and a bare M is refused. `--table keys` says how much data the keys of a session
    may protect before it is renewed. `--table throughput` compares the link on this machine with a bare loop of
    AES-256-GCM.
    """
    from carnet_ref.datapath.tables.model import check_samples

    check_samples(samples)
    given = {name: value for name, value in demanded.items() if value is not None}
    _check_demanded(table, given)
    if plot_file and table not in PUBLISHED:
        raise UsageError(f"--plot draws published tables; '{table}' has nothing published to draw")
    if table == CAPACITY:
        shown = _capacity(given)
        text = _capacity_lines(shown)
    elif table == KEYS:
        shown, text = _keys(given)
    elif table == THROUGHPUT:
        shown = _throughput()
        text = _throughput_lines(shown)
    else:
        shown, text = _published(table, samples, seed, plot_file)
    rerun = _rerun(table, plot_file, samples, seed, given)
    if as_json:
        click.echo(json.dumps({**shown, "rerun": rerun}, indent=2))
        return
    for line in list(text):  # an error is raised before anything is printed
        click.echo(line)
    click.echo(f"\n{'rerun':<{LABEL_WIDTH}}{printable(rerun)}")


def _check_demanded(table: str, given: dict[str, str | int]) -> None:
    for option in given:
        if option not in DEMANDED.get(table, ()):
            tables = " or ".join(name for name, options in DEMANDED.items() if option in options)
            raise UsageError(f"--{option} belongs to --table {tables}")


def _keys(given: dict[str, str | int]) -> tuple[dict[str, Any], Iterator[str]]:
    from carnet_ref.commands import key_budget
    from carnet_ref.crypto.primitives import KeyMaterialError

    dataset, buffer, model = (str(given.get(name, DEFAULTS[name])) for name in ("dataset", "buffer", "model"))
    holders, exponent = int(given.get("holders", HOLDERS[KEYS])), int(given.get("advantage", 60))
    try:
        shown = key_budget.budget_json(dataset, buffer, holders, model, exponent)
    except KeyMaterialError as error:
        raise UsageError(str(error)) from None
    return shown, key_budget.lines(shown)


def _published(table: str, samples: int, seed: int, plot_file: Path | None) -> tuple[dict[str, Any], Iterator[str]]:
    from carnet_ref.datapath import report

    made = _table(table, samples, seed)
    if plot_file:
        report.plot(made, plot_file)
    shown = report.as_json(made)
    return shown, report.lines(shown)


def _table(table: str, samples: int, seed: int) -> Table:
    from carnet_ref.datapath.tables import ddp, fastrack, gpu_travelling, pipellm

    if table == "gpu-travelling":
        return gpu_travelling.table()
    return {"fastrack": fastrack.table, "ddp": ddp.table, "pipellm": pipellm.table}[table](samples, seed)


def _capacity(given: dict[str, str | int]) -> dict[str, Any]:
    from carnet_ref.datapath.planning import Demand, plan
    from carnet_ref.datapath.quantities import Duration, Rate, Size

    text = {name: str(given.get(name, value)) for name, value in DEFAULTS.items()}
    demand = Demand(
        dataset=Size.parse(text["dataset"]),
        buffer=Size.parse(text["buffer"]),
        holders=int(given.get("holders", HOLDERS[CAPACITY])),
        network=Rate.parse(text["network"]),
        lease=Duration.parse(text["lease"]),
        model=Size.parse(text["model"]),
        rounds=int(given.get("rounds", 1)),
    )
    made = plan(demand)
    return {
        "table": CAPACITY,
        "demand": {**text, "holders": demand.holders, "rounds": demand.rounds},
        "rows": _capacity_rows(made),
        "hand_overs": made.hand_overs,
        "sessions": made.sessions,
        "rotations_for_visits": made.rotations_for_visits,
        "rotations_for_key_limit": made.rotations_for_limit,
        "lease_holds": made.lease_holds,
        "largest_buffer_bytes": made.largest_buffer.octets,
        "break_even_buffer_bytes": made.break_even.octets,
    }


def _capacity_rows(plan: TransferPlan) -> list[dict[str, Any]]:
    spans = {
        "one visit": plan.visit,
        "the model in and out, once in a session": plan.model_moves,
        "epoch, GPU Travelling": plan.travelling,
        "epoch, sending the data": plan.conventional,
        "epoch, sending the model": plan.shared_model,
    }
    rows = [
        {"name": name, "published": None, "reproduced": span.nominal.seconds, "relative_error": None}
        | {"unit": "s", "low": span.low.seconds, "high": span.high.seconds}
        for name, span in spans.items()
    ]
    saved = {
        "saved against sending the data": plan.conventional.nominal.seconds - plan.travelling.nominal.seconds,
        "saved against sending the model": plan.shared_model.nominal.seconds - plan.travelling.nominal.seconds,
        "saved, with the deck's unattributed times": plan.deck_saved_seconds,
    }
    return rows + [
        {"name": name, "published": None, "reproduced": seconds, "relative_error": None}
        | {"unit": "s", "low": None, "high": None}
        for name, seconds in saved.items()
    ]


def _capacity_lines(shown: dict[str, Any]) -> Iterator[str]:
    from carnet_ref.datapath.quantities import Size

    demand = ", ".join(f"{name} {value}" for name, value in shown["demand"].items())
    yield from hanging(f"Capacity: {demand}")
    yield ""
    yield f"{'':42}" + "".join(f"{head:>12}" for head in ("nominal", "from", "to"))
    for row in shown["rows"]:
        values = [_seconds(row[key]) for key in ("reproduced", "low", "high") if row[key] is not None]
        yield f"{row['name']:42}" + "".join(f"{value:>12}" for value in values)
    yield ""
    yield f"a visit pays from a buffer of {Size(shown['break_even_buffer_bytes'])} on"
    holds = "even at its dearest" if shown["lease_holds"] else "at its cheapest, but not at its dearest"
    rotations = {name: plural(shown[f"rotations_for_{name}"], "rotation") for name in ("visits", "key_limit")}
    sessions = plural(shown["sessions"], "session")
    yield f"{plural(shown['hand_overs'], 'hand-over')} in {sessions} at least, and {rotations['visits']} for them"
    yield f"{rotations['key_limit']} forced by the key limit if one key carried it all"
    yield f"a visit ends within the lease {holds}; training time is not counted"
    yield f"at nominal costs lease and GPU memory allow a buffer of {Size(shown['largest_buffer_bytes'])}"


def _throughput() -> dict[str, Any]:
    """Measure the link; the data path reads a real clock only here and in ``carnet sweep``."""
    from carnet_ref.datapath.quantities import Size
    from carnet_ref.datapath.throughput import measure, openssl_speed

    rows = []
    for chunk in (Size.parse(text) for text in THROUGHPUT_CHUNKS):
        said = {way: openssl_speed(chunk, way == "decrypt") for way in ("encrypt", "decrypt")}
        for threads in (1, 2):
            got = measure(Size.parse("8 MiB"), chunk, threads, THROUGHPUT_ROUNDS, os.urandom, time.perf_counter)
            rows.append(
                {"name": f"link, {chunk}, {threads} lanes", "published": None, "relative_error": None}
                | {
                    "reproduced": got.link.bytes_per_second,
                    "unit": "B/s",
                    "chunk_bytes": chunk.octets,
                    "threads": threads,
                }
                | {"bare_loop": got.bare.bytes_per_second, "share_of_bare_loop": got.share}
                | {f"openssl_{way}": rate.bytes_per_second if rate else None for way, rate in said.items()}
            )
    return {"table": THROUGHPUT, "rows": rows}


def _throughput_lines(shown: dict[str, Any]) -> Iterator[str]:
    yield from hanging(
        "AES-256-GCM, sealed and opened once for each byte, and what openssl speed says of each way alone (GB/s)"
    )
    yield ""
    yield f"{'':28}{'link':>8}{'bare loop':>11}{'share':>8}{'encrypt':>10}{'decrypt':>10}"
    for row in shown["rows"]:
        keys = ("openssl_encrypt", "openssl_decrypt")
        said = "".join(f"{'-' if row[key] is None else f'{row[key] / 1e9:.2f}':>10}" for key in keys)
        rates = f"{row['reproduced'] / 1e9:>8.2f}{row['bare_loop'] / 1e9:>11.2f}{row['share_of_bare_loop']:>8.1%}"
        yield f"{row['name']:28}{rates}{said}"


def _seconds(value: float) -> str:
    from carnet_ref.datapath.quantities import Duration

    return str(Duration(value)) if value >= 0 else f"-{Duration(-value)}"


def _rerun(table: str, plot_file: Path | None, samples: int, seed: int, given: dict[str, str | int]) -> str:
    words = ["carnet", "datapath", "--table", table]
    if table in PUBLISHED[1:]:
        words += ["--samples", str(samples), "--seed", str(seed)]
    if plot_file:
        words += ["--plot", str(plot_file)]
    for name, value in given.items():
        words += [f"--{name}", str(value)]
    return shlex.join(words)
