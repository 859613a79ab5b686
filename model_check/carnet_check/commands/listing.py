"""``carnet list``: the protocols, and the names of their parts."""

from typing import Any

import click

from carnet_check.cache import memoize
from carnet_check.commands.common import json_option, show
from carnet_check.commands.explain import is_carnets_own, known_ids
from carnet_command.exit_codes import ExitCode
from carnet_command.text import report_width


@click.command("list")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@json_option
@click.pass_context
def list_protocols(context: click.Context, protocols: tuple[str, ...], as_json: bool) -> int:
    """List protocols with their claims, threat models, defences, variants, profiles and findings.

    Without PROTOCOL: the registered ones.
    """
    found = [_described(name) for name in protocols or known_ids()]
    value = {"protocols": [each["value"] for each in found]}
    show(context, as_json, value, (line for each in found for line in each["lines"]))
    return ExitCode.EXPECTED


def _described(name: str) -> dict[str, Any]:
    """Return the description of one protocol as a JSON value and as lines; cached for Carnet's own protocols."""

    def make() -> dict[str, Any]:
        from carnet_check.commands.descriptions import describe_family, family_lines
        from carnet_check.loading.families import load

        source = load(name)
        return {"value": describe_family(source), "lines": list(family_lines(source))}

    if not is_carnets_own(name):
        return make()
    return memoize("description", f"{name} {report_width()}", make, dict)
