"""``carnet diff``: what two recorded runs say differently."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_check.commands.common import json_option, say
from carnet_command.exit_codes import ExitCode
from carnet_command.printable import printable

if TYPE_CHECKING:
    from carnet_check.report.differences import Difference, Differences

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
    from carnet_check.report.closing import rerun_command, rerun_line
    from carnet_check.report.differences import differences
    from carnet_check.report.run_folder import read_run

    found = differences(read_run(before), read_run(after))
    if as_json:
        value = {**_as_json(found), "run": {"rerun": rerun_command(context)}}
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        for line in _lines(found):
            say(line)
        say(rerun_line(context))
    return ExitCode.VIOLATED if found.verdicts else ExitCode.EXPECTED


def _as_json(found: Differences) -> dict[str, Any]:
    return {
        "same": not found.verdicts,
        "unchanged": found.unchanged,
        "differences": [each.as_json() for each in found.verdicts],
        "designs": [{"variant": name, "before": was, "after": now} for name, (was, now) in found.designs.items()],
    }


def _lines(found: Differences) -> Iterator[str]:
    from carnet_check.report.closing import DIGEST_SHOWN
    from carnet_command.text import counted, wrapped

    for each in found.verdicts:
        yield from wrapped(str(each.way), printable(f"{_where(each)}: {each.says}"))
    for name, digests in found.designs.items():
        was, now = (digest[:DIGEST_SHOWN] if digest else "not there" for digest in digests)
        yield from wrapped("spec", printable(f"{name}: {was} → {now}"))
    yield from wrapped("same", counted(found.unchanged, "verdict"))


def _where(each: Difference) -> str:
    key = each.key
    claim = key["claim"] if key["kind"] == "claim" else f"{key['claim']} ({key['kind']})"
    return f"{claim} under {key['threat']}, {key['variant']}, {key['engine']}"
