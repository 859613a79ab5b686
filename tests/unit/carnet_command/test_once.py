"""An option with one value is given once."""

from __future__ import annotations

import click
import pytest

from carnet_command.once import require_each_once

COMMAND = click.Command(
    "command",
    params=[
        click.Argument(["file"]),
        click.Option(["--single", "-s"]),
        click.Option(["--several"], multiple=True),
        click.Option(["--flag"], is_flag=True),
    ],
)


def required(*args: str, command: click.Command = COMMAND, resilient: bool = False) -> None:
    above = click.Context(click.Group("group"))
    above.resilient_parsing = resilient
    require_each_once(above, command, args)


@pytest.mark.parametrize("args", [[], ["--single", "1"], ["--several", "1", "--several=2", "x"], ["--flag", "--flag"]])
def test_what_comes_once_or_may_come_often_passes(args: list[str]) -> None:
    required(*args)


@pytest.mark.parametrize(
    ("args", "times"), [(["--single", "1", "--single=2"], 2), (["-s", "1", "x", "-s1", "--single", "1"], 3)]
)
def test_what_comes_more_often_is_refused(args: list[str], times: int) -> None:
    with pytest.raises(click.UsageError, match=f"--single takes one value: expected it once, not {times} times"):
        required(*args)


def test_nothing_is_required_of_a_group_or_while_words_are_completed() -> None:
    required("--single", "1", "--single", "2", command=click.Group("other"))
    required("--single", "1", "--single", "2", resilient=True)
