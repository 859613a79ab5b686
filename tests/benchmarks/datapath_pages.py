"""Runs ``carnet datapath`` and ``carnet sweep`` for the documentation: JSON, and the tables that pages include.

``python -m tests.benchmarks.datapath_pages`` runs everything anew; with names of tables, only those. Throughput is that
of the machine it runs on.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from carnet_ref.commands.key_budget import amount
from carnet_ref.datapath.quantities import Duration, Size
from carnet_ref.datapath.report import quantity
from tests.unit.model_check.command import carnet

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "datapath"
COMMANDS = {
    "gpu-travelling": ("datapath", "--table", "gpu-travelling"),
    "fastrack": ("datapath", "--table", "fastrack"),
    "ddp": ("datapath", "--table", "ddp"),
    "pipellm": ("datapath", "--table", "pipellm"),
    "capacity": ("datapath", "--table", "capacity"),
    "capacity-slow-link": ("datapath", "--table", "capacity", "--network", "500 Mbit/s", "--buffer", "4 GiB"),
    "keys": ("datapath", "--table", "keys"),
    "throughput": ("datapath", "--table", "throughput"),
    "sweep": ("sweep", "--jobs", "2"),
}
PLOTTED = ("gpu-travelling", "fastrack", "ddp", "pipellm")
MEASURED = ("throughput", "sweep")


def run(name: str, *more: str) -> dict[str, Any]:
    """Run the command behind a table, with ``more`` arguments, and return what it printed.

    Raises RuntimeError if it failed.
    """
    ran = carnet(*COMMANDS[name], *more, "--json")
    if ran.code:
        raise RuntimeError(f"{name}: {ran.err}")
    return dict(ran.json)


def page(shown: Mapping[str, Any]) -> str:
    """Return the tables of one run as Markdown."""
    match shown.get("table"):
        case None:
            lines = _sweep(shown)
        case "capacity":
            lines = _capacity(shown)
        case "keys":
            lines = _keys(shown)
        case "throughput":
            lines = _throughput(shown)
        case _:
            lines = _published(shown)
    return "\n".join([*lines, "", "```sh", shown["rerun"], "```", ""])


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def _published(shown: Mapping[str, Any]) -> Iterator[str]:
    cells = [
        [
            row["name"] + (f" ({row['remark']})" if row["remark"] else ""),
            quantity(row["published"], row["unit"]),
            quantity(row["reproduced"], row["unit"]),
            f"{round(row['relative_error'], 4) + 0.0:+.1%}",
            row["role"],
        ]
        for row in shown["rows"]
    ]
    yield from _table(["figure", "published", "model", "error", "role"], cells)
    yield ""
    parameters = [
        [
            one["name"],
            quantity(one["value"], one["unit"]),
            "–".join(quantity(bound, one["unit"]) for bound in one["interval"] or []),
            f"fitted to *{one['fitted_to']}*" if one["fitted_to"] else one["standing"],
            one["source"],
        ]
        for one in shown["parameters"]
    ]
    yield from _table(["parameter", "value", "interval", "standing", "source"], parameters)
    yield ""
    if shown["box"]:
        yield from _box(shown["box"])
    yield from (f"* {remark}" for remark in shown["remarks"])


def _box(box: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{box['share']:.1%} of the parameter box ({box['meets_all']} of {box['samples']} points) meet all ratios, the "
        f"one held out among them, within {box['tolerance']:.0%}."
    )
    yield from (f"* {name}: {count / box['samples']:.1%}" for name, count in box["meets_each"].items())
    yield ""


def _capacity(shown: Mapping[str, Any]) -> Iterator[str]:
    yield "For " + ", ".join(f"{name} {value}" for name, value in shown["demand"].items()) + ":"
    yield ""
    rows = [[row["name"], *(_time(row[key]) for key in ("reproduced", "low", "high"))] for row in shown["rows"]]
    yield from _table(["", "nominal", "from", "to"], rows)
    yield ""
    yield f"* {shown['hand_overs']:,} hand-overs, with {shown['rotations_for_visits']:,} rotations"
    yield f"* {shown['sessions']:,} sessions at least; the model crosses in each, and in no hand-over"
    yield f"* {shown['rotations_for_key_limit']} rotations that the key limit would force on one key for all the data"
    yield f"* a visit pays from a buffer of {Size(shown['break_even_buffer_bytes'])} on"
    yield f"* at nominal costs lease and GPU memory allow a buffer of {Size(shown['largest_buffer_bytes'])}"


def _keys(shown: Mapping[str, Any]) -> Iterator[str]:
    demand, one_key, designs = shown["demand"], list[list[str]](), list[list[str]]()
    for row in shown["rows"]:
        if "schedule" in row:
            figures = ["–"] * 4 if row["sessions"] is None else _design(row)
            designs.append([f"`{row['schedule']}`", row["target"], *figures])
        else:
            published = "" if row["published"] is None else f"{row['published']:,}"
            one_key.append(
                [row["name"], published, _power(row["reproduced"]) if row["unit"] == "log2" else amount(row)]
            )
    yield from _table(["", "driver", "bound"], one_key)
    yield ""
    said = ", ".join(f"{name} {value}" for name, value in demand.items() if name != "advantage")
    yield f"For {said} ({shown['hand_overs']:,} hand-overs), and an advantage of {_power(-demand['advantage'])}:"
    yield ""
    head = [
        "design",
        "the advantage is for",
        "a session carries",
        "sessions",
        "gained, session",
        "gained, job",
    ]
    yield from _table(head, designs)
    yield ""
    for schedule, ends in shown["room"].items():
        room = ", ".join(f"{name} for {count:,} hand-overs" for name, count in ends.items())
        yield f"* Room in a session of `{schedule}`: {room}."
    yield (
        f"* An engine has {shown['channel_counters']:,} channel counters and a channel {shown['message_counters']:,} "
        "message counters. Other limits come first."
    )


def _design(row: Mapping[str, Any]) -> list[str]:
    carried = f"{row['hand_overs']:,} hand-overs, {Size(row['reproduced'])}"
    return [carried, f"{row['sessions']:,}", _power(row["session_log2"]), _power(row["job_log2"])]


def _power(exponent: float) -> str:
    return f"2<sup>{round(exponent, 1):g}</sup>".replace("-", "−")


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return str(Duration(seconds)) if seconds >= 0 else f"−{Duration(-seconds)}"


def _throughput(shown: Mapping[str, Any]) -> Iterator[str]:
    def rate(value: float | None) -> str:
        return "–" if value is None else f"{value / 1e9:.2f}"

    rows = [
        [
            str(Size(row["chunk_bytes"])),
            str(row["threads"]),
            rate(row["reproduced"]),
            rate(row["bare_loop"]),
            f"{row['share_of_bare_loop']:.0%}",
            rate(row["openssl_encrypt"]),
            rate(row["openssl_decrypt"]),
        ]
        for row in shown["rows"]
    ]
    head = ["chunk", "lanes", "link", "bare loop", "link of bare loop", "openssl encrypt", "openssl decrypt"]
    yield from _table(head, rows)


def _sweep(shown: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{shown['configurations']:,} configurations in {shown['seconds']:.0f} s by {shown['jobs']} processes, on two "
        "cores that were shared:"
    )
    yield ""
    keys = ("lower_quartile", "median", "upper_quartile")
    rows = [[one["name"], *(f"{one[key]:.3g}" for key in keys), f"{one['above_one']:.0%}"] for one in shown["factors"]]
    yield from _table(["times as fast", "lower quartile", "median", "upper quartile", "faster in"], rows)


def write(names: list[str]) -> None:
    """Run the commands behind these tables and write JSON, Markdown and pictures."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in names:
        shown = run(name)
        (RESULTS / f"{name}.json").write_text(json.dumps(shown, ensure_ascii=False, indent=1) + "\n", "utf-8")
        (RESULTS / f"{name}.inc").write_text(page(shown), "utf-8")
        if name in PLOTTED:
            carnet(*COMMANDS[name], "--samples", "1", "--plot", str(RESULTS / f"{name}.svg"))


if __name__ == "__main__":
    write(sys.argv[1:] or list(COMMANDS))
