"""``carnet diff``: what two recorded runs say differently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from carnet_check.commands.common import DIGEST_SHOWN, json_option, say
from carnet_check.report.run_folder import Run
from carnet_check.wording import resting
from carnet_command.exit_codes import ExitCode
from carnet_command.printable import printable
from carnet_command.text import counted, wrapped

Row = Mapping[str, Any]
RowKey = tuple[str, ...]

KEY = ("protocol", "variant", "kind", "claim", "threat", "engine")
"""What a verdict is about, and who gave it."""
SAID = ("verdict", "bound", "expected", "assumptions")
"""What a verdict establishes; its detail, the defences of a proof and times are left out."""


class Way(StrEnum):
    """Which way a verdict changed."""

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"
    GONE = "gone"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Difference:
    """A verdict that differs; one side is missing where only one run has it."""

    way: Way
    key: Mapping[str, str]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"way": str(self.way), **self.key, "before": self.before, "after": self.after}

    @property
    def says(self) -> str:
        """What changed, in words."""
        if self.before is None or self.after is None:
            return _verdict(self.after or self.before or {})
        parts = []
        was, now = _verdict(self.before), _verdict(self.after)
        if was != now:
            parts.append(f"{was} → {now}")
        if self.before["expected"] != self.after["expected"]:
            parts.append(f"expected {self.before['expected']} → {self.after['expected']}")
        if self.before["assumptions"] != self.after["assumptions"]:
            parts.append(f"rests on {resting(self.before['assumptions'])} → {resting(self.after['assumptions'])}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Differences:
    """All that differs between two runs."""

    verdicts: tuple[Difference, ...]
    unchanged: int
    """Verdicts that both runs have, and that say the same."""
    designs: Mapping[str, tuple[str | None, str | None]]
    """For each variant whose specification differs, the digests before and after; none where a run lacks it."""


def differences(before: Run, after: Run) -> Differences:
    """Compare two runs; verdicts come in the order of the first, and then what only the second has."""
    old, new = ({_key(row): row for row in run.verdicts} for run in (before, after))
    found = tuple(_found(old, new))
    unchanged = sum(key in old for key in new) - sum(each.way not in (Way.GONE, Way.NEW) for each in found)
    return Differences(found, unchanged, dict(_designs(before, after)))


def as_json(found: Differences) -> dict[str, Any]:
    """Return all that differs as plain values."""
    return {
        "same": not found.verdicts,
        "unchanged": found.unchanged,
        "differences": [each.as_json() for each in found.verdicts],
        "designs": [{"variant": name, "before": was, "after": now} for name, (was, now) in found.designs.items()],
    }


def lines(found: Differences) -> Iterator[tuple[str, str]]:
    """Yield all that differs in words, each with a label."""
    for each in found.verdicts:
        yield str(each.way), f"{_where(each)}: {each.says}"
    for name, digests in found.designs.items():
        was, now = (digest[:DIGEST_SHOWN] if digest else "not there" for digest in digests)
        yield "spec", f"{name}: {was} → {now}"
    yield "same", counted(found.unchanged, "verdict")


def _where(each: Difference) -> str:
    key = each.key
    claim = key["claim"] if key["kind"] == "claim" else f"{key['claim']} ({key['kind']})"
    return f"{claim} under {key['threat']}, {key['variant']}, {key['engine']}"


def _key(row: Row) -> RowKey:
    return tuple(row[name] for name in KEY)


def _found(old: Mapping[RowKey, Row], new: Mapping[RowKey, Row]) -> Iterator[Difference]:
    for key, row in old.items():
        if key not in new:
            yield Difference(Way.GONE, _named(key), _said(row), None)
        elif _said(row) != _said(new[key]):
            yield Difference(_way(row, new[key]), _named(key), _said(row), _said(new[key]))
    for key, row in new.items():
        if key not in old:
            yield Difference(Way.NEW, _named(key), None, _said(row))


def _named(key: RowKey) -> dict[str, str]:
    return dict(zip(KEY, key, strict=True))


def _said(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in SAID}


def _way(before: Row, after: Row) -> Way:
    if before["as_expected"] is after["as_expected"]:
        return Way.CHANGED
    return Way.BETTER if after["as_expected"] else Way.WORSE


def _designs(before: Run, after: Run) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    old, new = ({each["name"]: each["digest"] for each in run.spec["variants"]} for run in (before, after))
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield name, (old.get(name), new.get(name))


def _verdict(said: Mapping[str, Any]) -> str:
    return said["verdict"] if said["bound"] is None else f"{said['verdict']}({said['bound']:,})"


FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("before", metavar="RUN", type=FOLDER)
@click.argument("after", metavar="RUN", type=FOLDER)
@json_option
@click.pass_context
def diff(context: click.Context, before: Path, after: Path, as_json: bool) -> int:
    """Compare two runs, folders that `carnet verify --out` wrote: the earlier one first.

    A verdict differs if its word, its bound, what is expected or what it rests on does; times and details do not count.
    A specification that changed is told. Exit code 0: every verdict is the same. 1: some differ, are gone or are new.
    """
    from carnet_check.commands.common import rerun_command, rerun_line
    from carnet_check.commands.diff import as_json as plain
    from carnet_check.commands.diff import differences, lines
    from carnet_check.report.run_folder import read_run

    found = differences(read_run(before), read_run(after))
    if as_json:
        value = {**plain(found), "run": {"rerun": rerun_command(context)}}
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        for label, text in lines(found):
            for line in wrapped(label, printable(text)):
                say(line)
        say(rerun_line(context))
    return ExitCode.VIOLATED if found.verdicts else ExitCode.EXPECTED
