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
@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_is_there_with_its_options(path: str) -> None:
    said, command = section(path), COMMANDS[path]
    shown = [each for each in command.params if not (isinstance(each, click.Option) and each.hidden)]
    options = [each for each in shown if isinstance(each, click.Option)]
    assert [name for option in options for name in option.opts if name not in said] == []
    arguments = [each for each in shown if each not in options]
    assert [each.name for each in arguments if each.make_metavar(click.Context(command)) not in said] == []
    first = (command.help or "").split(".")[0].split("`")[0].split()[:3]
    assert all(word.strip("*,:") in said for word in first)


def test_groups_have_their_subcommands_below_them() -> None:
    assert PAGE.index("## carnet attest\n") < PAGE.index("### carnet attest gpu\n")
    assert len(COMMANDS) > 20


def test_nothing_in_it_is_taken_for_a_place_to_fill_in() -> None:
    assert "{" not in re.sub(r"\{doc\}`[^`]+`", "", PAGE)
