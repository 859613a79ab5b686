"""``carnet diff``: the differences between two recorded runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from carnet_check.commands.common import DIGEST_SHOWN, json_option, rerun_command, show
from carnet_check.report.run_folder import Run, read_run
from carnet_check.wording import list_assumptions
from carnet_command.exit_codes import ExitCode
from carnet_command.printable import printable
from carnet_command.text import plural, wrap_text

Row = Mapping[str, Any]
RowKey = tuple[str, ...]

#: The fields that identify a verdict: its subject and its engine.
KEY = ("protocol", "variant", "kind", "claim", "threat", "engine")
#: The fields that are compared; detail, the defences of a proof and times are not.
ESTABLISHED = ("verdict", "bound", "expected", "assumptions")


class Direction(StrEnum):
    """The direction in which a verdict changed."""

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"
    GONE = "gone"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Difference:
    """A verdict that differs; one side is missing if only one run has the verdict."""

    direction: Direction
    key: Mapping[str, str]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"way": str(self.direction), **self.key, "before": self.before, "after": self.after}

    @property
    def says(self) -> str:
        """The change in words."""
        if self.before is None or self.after is None:
            return _verdict(self.after or self.before or {})
        parts = []
        was, now = _verdict(self.before), _verdict(self.after)
        if was != now:
            parts.append(f"{was} → {now}")
        if self.before["expected"] != self.after["expected"]:
            parts.append(f"expected {self.before['expected']} → {self.after['expected']}")
        if self.before["assumptions"] != self.after["assumptions"]:
            rests, rests_now = (list_assumptions(each["assumptions"]) for each in (self.before, self.after))
            parts.append(f"rests on {rests} → {rests_now}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences between two runs."""

    verdicts: tuple[Difference, ...]
    unchanged: int  #: The number of verdicts that are the same in both runs.
    #: For each variant whose specification differs, the digests before and after; None if a run lacks the variant.
    designs: Mapping[str, tuple[str | None, str | None]]


def differences(before: Run, after: Run) -> Differences:
    """Compare two runs; verdicts are in the order of the first run, followed by those that only the second has."""
    old, new = ({tuple(row[name] for name in KEY): row for row in run.verdicts} for run in (before, after))
    found = tuple(_differences(old, new))
    unchanged = sum(key in old for key in new) - sum(bool(each.before and each.after) for each in found)
    return Differences(found, unchanged, dict(_designs(before, after)))


def differences_as_json(found: Differences) -> dict[str, Any]:
    """Return all differences as plain values."""
    return {
        "same": not found.verdicts,
        "unchanged": found.unchanged,
        "differences": [each.as_json() for each in found.verdicts],
        "designs": [{"variant": name, "before": was, "after": now} for name, (was, now) in found.designs.items()],
    }


def difference_lines(found: Differences) -> Iterator[str]:
    """Yield all differences as text, each with a label."""
    for each in found.verdicts:
        key = each.key
        claim = key["claim"] if key["kind"] == "claim" else f"{key['claim']} ({key['kind']})"
        where = f"{claim} under {key['threat']}, {key['variant']}, {key['engine']}"
        yield from wrap_text(str(each.direction), printable(f"{where}: {each.says}"))
    for name, digests in found.designs.items():
        was, now = (digest[:DIGEST_SHOWN] if digest else "not there" for digest in digests)
        yield from wrap_text("spec", printable(f"{name}: {was} → {now}"))
    yield from wrap_text("same", plural(found.unchanged, "verdict"))


def _differences(old: Mapping[RowKey, Row], new: Mapping[RowKey, Row]) -> Iterator[Difference]:
    for key, row in old.items():
        if key not in new:
            yield Difference(Direction.GONE, dict(zip(KEY, key, strict=True)), _established(row), None)
        elif _established(row) != (now := _established(new[key])):
            direction = Direction.BETTER if new[key]["as_expected"] else Direction.WORSE
            if row["as_expected"] is new[key]["as_expected"]:
                direction = Direction.CHANGED
            yield Difference(direction, dict(zip(KEY, key, strict=True)), _established(row), now)
    for key, row in new.items():
        if key not in old:
            yield Difference(Direction.NEW, dict(zip(KEY, key, strict=True)), None, _established(row))


def _established(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ESTABLISHED}


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
    Specifications that changed are listed. Exit code 0: every verdict is the same. 1: some differ, are gone or are new.
    """
    found = differences(read_run(before), read_run(after))
    value = {**differences_as_json(found), "run": {"rerun": rerun_command(context)}}
    show(context, as_json, value, difference_lines(found))
    return ExitCode.VIOLATED if found.verdicts else ExitCode.EXPECTED
