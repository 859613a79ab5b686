"""The command line, listed from the commands themselves: what each does, its arguments and its options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from carnet_check.cli import main

from .markdown import Lines, code, page, prose, table

COMMANDS_PAGE = "commands"
HEAD = (
    "Every command with its options, from the commands themselves; `carnet COMMAND --help` prints the same. Every "
    "command takes `--json` and prints one object then; a failure is one line, and the exit code says of which kind it "
    "is ({doc}`/adr/0004-verdicts-and-exit-codes`)."
)


def command_line() -> str:
    """Return the page that lists the commands, subcommands below their group."""
    context = click.Context(main, info_name="carnet")
    return page("# Command line", HEAD, _below(main, context, 2)).rstrip() + "\n"


def _below(group: click.Group, context: click.Context, depth: int) -> Lines:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        within = click.Context(command, info_name=name, parent=context)
        yield from (f"{'#' * depth} {within.command_path}", "")
        yield from _told(command, within)
        if isinstance(command, click.Group):
            yield from _below(command, within, depth + 1)


def _told(command: click.Command, context: click.Context) -> Lines:
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    yield from ("```text", usage, "```", "")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield from (prose(paragraph), "")
    yield from table(["Option", "What it does"], _options(command, context))


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        shown = parameter.get_help_record(context)
        if shown is not None and shown[1] and "--help" not in parameter.opts:
            yield code(shown[0]), prose(shown[1])
