"""The page of the command line names every command and every option, and says of each what its help says."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from carnet_check.cli import main
from docs._ext.carnet_pages.listings import command_line

PAGE = command_line()


def every(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        within = click.Context(command, info_name=name, parent=context)
        yield within.command_path, command
        if isinstance(command, click.Group):
            yield from every(command, within)


COMMANDS = dict(every(main, click.Context(main, info_name="carnet")))


def section(path: str) -> str:
    found = re.search(rf"^#+ {re.escape(path)}\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, path
    return found[1]


@pytest.mark.mends("N7")
def test_every_command_is_there_with_its_options() -> None:
    missing: dict[str, list[str]] = {}
    for path, command in COMMANDS.items():
        said = section(path)
        shown = [each for each in command.params if not (isinstance(each, click.Option) and each.hidden)]
        options = [name for each in shown if isinstance(each, click.Option) for name in each.opts]
        arguments = [each.make_metavar(click.Context(command)) for each in shown if not isinstance(each, click.Option)]
        first = (command.help or "").split(".")[0].split("`")[0].split()[:3]
        expected = [*options, *arguments, *(word.strip("*,:") for word in first)]
        missing[path] = [each for each in expected if each not in said]
    assert {path: names for path, names in missing.items() if names} == {}


def test_groups_have_their_subcommands_below_them() -> None:
    assert PAGE.index("## carnet attest\n") < PAGE.index("### carnet attest gpu\n")
    assert len(COMMANDS) > 20


def test_nothing_in_it_is_taken_for_a_place_to_fill_in() -> None:
    assert "{" not in re.sub(r"\{doc\}`[^`]+`", "", PAGE)
