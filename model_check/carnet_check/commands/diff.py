"""``carnet diff``: what two recorded runs say differently."""

from __future__ import annotations

import json
from pathlib import Path

import click

from carnet_check.commands.common import json_option, say
from carnet_command.exit_codes import ExitCode
from carnet_command.printable import printable
from carnet_command.text import wrapped

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
    from carnet_check.report.differences import as_json as plain
    from carnet_check.report.differences import differences, lines
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
