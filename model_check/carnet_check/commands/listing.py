"""``carnet list``: the protocols, and the names that each gives to things."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from carnet_check.commands.catalogue import attack_command, describe, sizes
from carnet_check.commands.common import json_option, say
from carnet_check.loading.families import Source, known_protocols, load
from carnet_check.report.closing import rerun_line
from carnet_command.exit_codes import ExitCode
from carnet_command.text import hanging, wrapped


@click.command("list")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@json_option
@click.pass_context
def list_protocols(context: click.Context, protocols: tuple[str, ...], as_json: bool) -> int:
    """List protocols with their claims, threat models, defences, variants, profiles and findings.

    Without PROTOCOL: the registered ones.
    """
    names = protocols or tuple(known_protocols())
    described = [describe(load(name)) for name in names]
    if as_json:
        click.echo(json.dumps({"protocols": described}, ensure_ascii=False, indent=2))
        return ExitCode.EXPECTED
    for name in names:
        for line in _lines(load(name)):
            say(line)
    say(rerun_line(context))
    return ExitCode.EXPECTED


def _lines(source: Source) -> Iterator[str]:
    family = source.family
    protocol = source.protocol()
    yield from wrapped(f"{family.id}  ", family.title, len(family.id) + 2)
    yield ""
    yield "claims"
    for claim in (claim for part in source.layered() for claim in part.claims):
        declared = " (declared, not stated yet)" if claim.declared else ""
        yield from _entry(claim.name, claim.sentence + declared)
    if len(family.variants) > len(family.with_layers(family.main[:1])):
        yield from hanging("  (a variant may make further claims: `carnet explain VARIANT` names them)", 1)
    yield "threat models"
    for threat in protocol.threats:
        yield from _entry(threat.id, threat.title)
    yield "variants (those marked + are what `carnet verify` covers)"
    for variant in family.variants.values():
        mark = "+ " if variant.name in family.with_layers(family.main) else ""
        label = f" ({variant.label})" if variant.label else ""
        yield from _entry(mark + variant.name, variant.title + label)
    yield "defences that can be removed"
    for defence in protocol.defences:
        yield from _entry(defence.id, defence.title)
    yield "profiles"
    for profile in family.profiles.values():
        yield from _entry(profile.name, profile.title or sizes(profile))
    if family.findings:
        yield "findings"
    for finding in family.findings:
        yield from _entry(finding.id, finding.title)
        yield f"      {attack_command(family, finding, source.shown)}"
    yield ""


def _entry(name: str, text: str) -> list[str]:
    indent = 26
    if len(name) + 4 > indent:
        return [f"  {name}", *wrapped("", text, indent)]
    return wrapped(f"  {name}", text, indent)
