"""``carnet verify`` without a protocol: the one of this folder, or each registered one, as if it was asked for."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from carnet_check.commands.common import log, say, show_json
from carnet_check.loading.families import protocol_here
from carnet_command.exit_codes import ExitCode, deciding

ABOUT_ONE = ("claims", "threats", "variants", "cti", "shard")
PLACES = ("out", "junit_file", "sarif_file", "markdown_file", "html")
"""Options that name something in one protocol, and places for one run."""
COLLECTED = "carnet.verify.collected"
"""The key in a context's ``meta`` under which the objects of all protocols are collected, to be printed as one."""


def verify_unnamed(context: click.Context, named: str | None, every: bool, as_json: bool) -> int:
    """Verify the protocol of this folder, or every registered one, with the options that were given.

    Raises:
        UsageError: one is named beside ``--all``, or an option makes sense for one protocol only.
    """
    if named is not None:
        raise click.UsageError("--all is about every registered protocol: leave out --all, or PROTOCOL")
    own = None if every else protocol_here()
    if own is not None:
        return _verify_own(context, own, as_json)
    _require_sense(context)
    return _verify_all(context, as_json)


def _verify_all(context: click.Context, as_json: bool) -> int:
    from carnet_check.report.closing import rerun_command

    command = rerun_command(context)
    given = [word for word in shlex.split(command)[2:] if word != "--all"]
    values: list[Mapping[str, Any]] = context.meta.setdefault(COLLECTED, [])
    codes: dict[str, ExitCode] = {}
    for id in registered_ids():
        if codes:
            (log if as_json else say)("")
        with context.command.make_context(context.info_name, [id, *given], parent=context.parent) as each:
            codes[id] = ExitCode(context.command.invoke(each))
    if as_json:
        show_json(_together(values, command))
    else:
        _say_together(codes, command)
    return deciding(codes.values())


def _verify_own(context: click.Context, file: str, as_json: bool) -> int:
    """Verify the protocol of this folder with the options that were given, and say that no other one is."""
    from carnet_check.report.closing import rerun_command
    from carnet_command.text import wrapped

    announce = log if as_json else say
    for line in wrapped("protocol", f"{file} of this folder; `carnet verify --all` verifies every registered one"):
        announce(line)
    given = shlex.split(rerun_command(context))[2:]
    with context.command.make_context(context.info_name, [file, *given], parent=context.parent) as own:
        return int(context.command.invoke(own))


def registered_ids() -> list[str]:
    """Return the ids of all registered protocols."""
    from carnet_check.loading.families import known_protocols

    return list(known_protocols())


def _say_together(codes: Mapping[str, ExitCode], command: str) -> None:
    from carnet_check.report.closing import rerun
    from carnet_command.text import wrapped

    came = (
        f"{id} {'as expected' if code is ExitCode.EXPECTED else f'(exit code {code})'}" for id, code in codes.items()
    )
    for line in ("", *wrapped("protocols", " · ".join(came)), rerun(command)):
        say(line)


def _require_sense(context: click.Context) -> None:
    for parameter in context.command.params:
        if (
            parameter.name in (*ABOUT_ONE, *PLACES)
            and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        ):
            raise click.UsageError(f"{max(parameter.opts, key=len)} is about one protocol: say which")


def _together(values: Sequence[Mapping[str, Any]], command: str) -> dict[str, Any]:
    """Return one object with the rows of all, and what else was said of each."""
    verdicts: Counter[str] = Counter()
    for value in values:
        verdicts.update(value["summary"]["by_verdict"])
    return {
        "results": [row for value in values for row in value["results"]],
        "summary": {
            "as_expected": all(value["summary"]["as_expected"] for value in values),
            "by_verdict": dict(verdicts),
            "declared": [claim for value in values for claim in value["summary"]["declared"]],
        },
        "protocols": [{name: each for name, each in value.items() if name != "results"} for value in values],
        "run": {
            "verdicts": dict(verdicts),
            "versions": {name: version for value in values for name, version in value["run"]["versions"].items()},
            "seconds": round(sum(value["run"]["seconds"] for value in values), 3),
            "rerun": command,
        },
    }
