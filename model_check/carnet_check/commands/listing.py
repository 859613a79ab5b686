"""``carnet list``: the protocols, and the names that each gives to things."""

from __future__ import annotations

from collections.abc import Iterator

import click

from carnet_check.commands.common import describe_family, json_option, show
from carnet_check.loading.families import Source, known_protocols, load
from carnet_command.exit_codes import ExitCode
from carnet_command.text import counted, hanging, wrapped
from carnet_spec.language import Family, Finding, Profile


def sizes(profile: Profile) -> str:
    """Say how large the instances of a profile are, and how active their adversary."""
    scale = ", ".join(f"{name} {size}" for name, size in profile.scale.items())
    budget = profile.budget
    moves = "unbounded adversary" if budget is None else f"at most {counted(budget, 'active adversary move')}"
    return "; ".join(filter(None, (scale, moves)))


def attack_command(family: Family, finding: Finding, reference: str) -> str:
    """Return the command that shows a finding."""
    parts = ["carnet attack", reference]
    if finding.variant:
        parts.append(f"--variant {finding.variant}")
    if finding.without:
        parts.append(f"--without {','.join(finding.without)}")
    if not finding.variant and not finding.without:
        parts.append(f"--variant {family.main[0]}")
    return " ".join([*parts, f"--threat {finding.threat}", f"--claim {finding.claim}"])


@click.command("list")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@json_option
@click.pass_context
def list_protocols(context: click.Context, protocols: tuple[str, ...], as_json: bool) -> int:
    """List protocols with their claims, threat models, defences, variants, profiles and findings.

    Without PROTOCOL: the registered ones.
    """
    names = protocols or tuple(known_protocols())
    value = {"protocols": [describe_family(load(name)) for name in names]}
    show(context, as_json, value, (line for name in names for line in _lines(load(name))))
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
