"""Options with one value, given once: click would silently take the last of several."""

from __future__ import annotations

from collections.abc import Sequence

import click


def require_each_once(ctx: click.Context, command: click.Command, args: Sequence[str]) -> None:
    """Require that a subcommand of the command in ``ctx`` gets an option with one value only once.

    A group looks at the arguments of its own subcommands, so nothing is required of one here.

    Raises:
        click.UsageError: it is given more often.
    """
    if ctx.resilient_parsing or isinstance(command, click.Group):
        return
    called = click.Context(command, info_name=command.name, parent=ctx, **command.context_settings)
    _, _, given = command.make_parser(called).parse_args(list(args))
    single = [each for each in given if isinstance(each, click.Option) and not (each.is_flag or each.multiple)]
    for option in single:
        if (times := single.count(option)) > 1:
            raise click.UsageError(f"{option.opts[0]} takes one value: expected it once, not {times} times", called)
