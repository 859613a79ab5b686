"""Options that may be given only once; click alone would silently take the last value."""

from collections.abc import Sequence

import click


def require_each_once(ctx: click.Context, command: click.Command, args: Sequence[str]) -> None:
    """Require that the arguments of a subcommand have each option with one value at most once.

    Nothing is required of a group, which checks the arguments of its own subcommands.

    Raises click.UsageError if an option is given more often.
    """
    if ctx.resilient_parsing or isinstance(command, click.Group):
        return
    called = click.Context(command, info_name=command.name, parent=ctx, **command.context_settings)
    _, _, given = command.make_parser(called).parse_args(list(args))
    single = [each for each in given if isinstance(each, click.Option) and not (each.is_flag or each.multiple)]
    for option in single:
        if (times := single.count(option)) > 1:
            raise click.UsageError(f"{option.opts[0]} takes one value: expected it once, not {times} times", called)
