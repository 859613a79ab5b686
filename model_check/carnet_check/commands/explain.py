"""``carnet explain``: the meaning of an identifier, where it is enforced, and how to check it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from carnet_check.commands.catalogue import attack_command, sizes
from carnet_check.commands.common import json_option, say
from carnet_check.engines.interface import ProvesWeakened
from carnet_check.engines.registry import able
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, known_protocols, load, unknown
from carnet_check.report.closing import rerun_line
from carnet_command.exit_codes import ExitCode
from carnet_command.text import hanging, wrapped
from carnet_spec.language import Action, Claim, Defence, Protocol, Variant
from carnet_spec.language.notation import show_lines
from carnet_spec.language.printing import show_action, show_axiom, show_goal
from carnet_spec.language.requirements import cited

_PLACE = re.compile(r"\{(\w+)\}")
"""Where a sentence about a step has one of its parameters."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One meaning of an identifier."""

    id: str
    kind: str
    protocol: str
    sentence: str
    source: str = ""
    enforced_by: tuple[str, ...] = ()
    check: str = ""
    text: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"enforced_by": list(self.enforced_by)}


@click.command()
@click.argument("id")
@click.option("--protocol", "protocols", multiple=True, metavar="PROTOCOL", help="Look here. [default: all registered]")
@json_option
@click.pass_context
def explain(context: click.Context, id: str, protocols: tuple[str, ...], as_json: bool) -> int:
    """Explain ID: its sentence, its source, where it is enforced, how to check it.

    ID names a claim, defence, variant, profile, threat model, assumption, finding, action, goal, lemma or requirement.
    """
    sources = [load(name) for name in protocols or known_protocols()]
    every = [entry for source in sources for entry in entries(source)]
    found = [entry for entry in every if entry.id == id]
    if not found:
        names = dict.fromkeys(entry.id for entry in every)
        message = unknown("id", id, ", ".join(source.family.id for source in sources), names)
        raise UsageError(message.partition(" (known: ")[0] + "; `carnet list` shows most of them")
    if as_json:
        value = {"id": id, "entries": [entry.as_json() for entry in found]}
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
        return ExitCode.EXPECTED
    for entry in found:
        for line in _lines(entry):
            say(line)
    say(rerun_line(context))
    return ExitCode.EXPECTED


def entries(source: Source) -> Iterator[Entry]:
    """Yield everything in a family that has an identifier."""
    whole = source.layered()
    yield from _designs(source, whole[0])
    yielded: set[tuple[str, str]] = set()
    for entry in (entry for protocol in whole for entry in _statements(source, protocol)):
        if (entry.kind, entry.id) not in yielded:
            yielded.add((entry.kind, entry.id))
            yield entry
    yield from _uncited(source, {id for _, id in yielded})
    variants = [source.protocol(name) for name in source.family.variants]
    seen = set()
    for variant in variants:
        for action in variant.actions:
            if action.name not in seen:
                seen.add(action.name)
                yield _action(source, action)


def _uncited(source: Source, known: set[str]) -> Iterator[Entry]:
    """Yield the normative sentences that nothing in the protocol cites."""
    for requirement in source.family.text.requirements().values():
        if requirement.id not in known:
            yield Entry(requirement.id, "requirement", source.family.id, requirement.sentence, requirement.source)


def _designs(source: Source, protocol: Protocol) -> Iterator[Entry]:
    family = source.family
    for defence in protocol.defences:
        yield _defence(source, protocol, defence)
    for variant in family.variants.values():
        yield _variant(source, variant)
    for profile in family.profiles.values():
        check = f"carnet explore {source.shown} --profile {profile.name}"
        text = sizes(profile) if profile.title else ""
        yield Entry(profile.name, "profile", family.id, profile.title or sizes(profile), check=check, text=text)
    for finding in family.findings:
        text = f"falls: {finding.claim} under {finding.threat}"
        command = attack_command(family, finding, source.shown)
        yield Entry(finding.id, "finding", family.id, finding.title, check=command, text=text)


def _variant(source: Source, variant: Variant) -> Entry:
    lacks = f"without {', '.join(variant.without)}" if variant.without else ""
    text = " · ".join(part for part in (variant.label, lacks) if part)
    verb = "verify" if variant.name in source.family.with_layers(source.family.main) else "attack"
    command = f"carnet {verb} {source.shown} --variant {variant.name}"
    return Entry(variant.name, "variant", source.family.id, variant.title, check=command, text=text)


def _defence(source: Source, protocol: Protocol, defence: Defence) -> Entry:
    base = protocol if defence.base in ("", protocol.variant) else source.protocol(defence.base)
    parts = [
        *(f"{a.name}: guard '{part.name}'" for a in base.actions for part in a.guards if part.defence == defence.id),
        *(f"{a.name}: update '{part.name}'" for a in base.actions for part in a.updates if part.defence == defence.id),
    ]
    command = f"carnet attack {source.shown} --without {defence.id}"
    return Entry(defence.id, "defence", protocol.id, defence.title, enforced_by=tuple(parts), check=command)


def _statements(source: Source, protocol: Protocol) -> Iterator[Entry]:
    name, reference = protocol.id, source.shown
    for claim in protocol.claims:
        yield _claim(source, claim)
    for lemma in protocol.lemmas:
        check = f"carnet verify {reference} --engine {able(ProvesWeakened).name}"
        yield Entry(lemma.name, "lemma", name, lemma.says, check=check, text="\n".join(show_lines(lemma.formula)))
    for goal in protocol.goals:
        yield Entry(goal.name, "goal", name, goal.sentence, check=f"carnet verify {reference}", text=show_goal(goal))
    for threat in protocol.threats:
        text = "\n".join(show_axiom(axiom) for axiom in threat.axioms) or "no axiom"
        check = f"carnet verify {reference} --threat {threat.id}"
        yield Entry(threat.id, "threat model", name, threat.title, check=check, text=text)
    yield from _requirements(source, protocol)


def _claim(source: Source, claim: Claim) -> Entry:
    where = f"claimed under {', '.join(claim.under) or 'any'}"
    falls = f"; expected to fall under {', '.join(claim.fails_under)}" if claim.fails_under else ""
    check = "" if claim.declared else f"carnet verify {source.shown} --claim {claim.name}"
    return Entry(
        claim.name,
        "claim",
        source.family.id,
        claim.sentence,
        f"{claim.source} ({claim.requirement})" if claim.requirement else claim.source,
        check=check,
        text="\n".join([where + falls, *(show_lines(claim.checked.formula) if claim.invariant else [])]),
    )


def _requirements(source: Source, protocol: Protocol) -> Iterator[Entry]:
    """Yield the normative sentences that the protocol cites, and its assumptions."""
    citing = cited(protocol)
    known = source.family.text.requirements()
    check = f"carnet verify {source.shown}"
    assumed = {assumption.id: assumption.sentence for assumption in protocol.assumptions}
    for id, names in citing.items():
        written = known.get(id)
        axioms = tuple(f"axiom {axiom.name}" for axiom in protocol.axioms if axiom.assumption == id)
        yield Entry(
            id,
            "assumption" if id in assumed else "requirement",
            protocol.id,
            assumed.get(id) or (written.sentence if written else "its sentence is not written yet"),
            written.source if written else "",
            (*(name for name in names if name != id), *axioms),
            check,
        )


def _action(source: Source, action: Action) -> Entry:
    kind = "rule" if action.deduction else "action"
    says = _PLACE.sub(r"\1", action.says)
    sentence = f"{says.rstrip('.')}. {action.why}" if action.why else says
    return Entry(
        action.name,
        kind,
        source.family.id,
        sentence,
        action.source,
        action.enforces,
        f"carnet explore {source.shown}",
        show_action(action),
    )


def _lines(entry: Entry) -> Iterator[str]:
    yield f"{entry.id}  ({entry.kind} of {entry.protocol})"
    yield from wrapped("", entry.sentence, 2)
    if entry.source:
        yield from wrapped("  source", entry.source, 16)
    if entry.enforced_by:
        label = "  enforces" if entry.kind in ("action", "rule") else "  enforced by"
        yield from wrapped(label, "; ".join(entry.enforced_by), 16)
    if entry.check:
        yield f"  check it      {entry.check}"
    if entry.text:
        yield ""
        yield from (part for line in entry.text.splitlines() for part in hanging(f"    {line}"))
    yield ""
