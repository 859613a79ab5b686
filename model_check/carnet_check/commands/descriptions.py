"""Descriptions of families for commands: a summary, the names for shell completion, and the meaning of each name."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from carnet_check.commands.entry import Entry
from carnet_check.engines.interface import ProvesWeakened
from carnet_check.engines.registry import able
from carnet_check.loading.families import Source
from carnet_command.text import hanging, plural, wrap_text
from carnet_spec.language import (
    Action,
    Claim,
    Defence,
    Eventually,
    Family,
    Finding,
    Goal,
    Invariant,
    Kind,
    LemmaClaim,
    Profile,
    Protocol,
    Symbol,
    Threat,
    Variant,
)
from carnet_spec.language.notation import binders, show_lines
from carnet_spec.language.printing import fair_steps, show_action, show_axiom, show_goal, show_symbol
from carnet_spec.language.requirements import references_of

_PLACE = re.compile(r"\{(\w+)\}")  #: A place for a parameter in the sentence of a step.
#: Who may read a symbol, by its kind; of a state its role may.
_READERS = {
    Kind.PUBLIC: "any party may read it: it is published",
    Kind.MESSAGE: "any party may read it: it is a message or evidence",
    Kind.TRUTH: "no honest party may read it: it is a fact of the world",
    Kind.GHOST: "no party may read it: it is history, for claims and lemmas alone",
    Kind.KNOWLEDGE: "no honest party may read it: it says what an agent knows",
}
_Make = Callable[[], Entry]


def describe_family(source: Source) -> dict[str, Any]:
    """Return the JSON value of ``carnet list --json`` for one protocol."""
    family = source.family
    protocol = source.protocol()
    return {
        "id": family.id,
        "title": family.title,
        "claims": [name for part in source.with_layers() for name in part.claim_names],
        "threats": [threat.id for threat in protocol.threats],
        "defences": [defence.id for defence in protocol.defences],
        "variants": list(family.variants),
        "profiles": list(family.profiles),
        "findings": [_finding(finding) for finding in family.findings],
        "goals": [goal.name for part in source.with_layers() for goal in part.goals],
        "main": list(family.main),
        "labels": {name: variant.label for name, variant in family.variants.items() if variant.label},
    }


def completions(source: Source, of: str) -> list[str]:
    """Return the names for shell completion: those of one kind, as in :func:`describe_family`, or of several.

    ``stated`` means claims and lemmas, ``ids`` all names that ``carnet explain`` knows in the main design and layers.
    """
    if of not in ("stated", "ids"):
        return list(describe_family(source)[of])
    parts = source.with_layers()
    stated = [name for part in parts for name in _names_of(part.claims, part.lemma_claims, part.lemmas)]
    if of == "stated":
        return stated
    for part in parts:
        ids = [*(threat.id for threat in part.threats), *(defence.id for defence in part.defences)]
        stated += [*_names_of(part.goals, part.liveness, part.actions), *ids, *references_of(part)]
    family = source.family
    designs = [*family.variants, *family.profiles]
    more = [*(finding.id for finding in family.findings), *(service.id for service in family.services)]
    return list(dict.fromkeys([*stated, *designs, *more]))


def _names_of(*groups: Sequence[Claim | LemmaClaim | Invariant | Goal | Eventually | Action]) -> list[str]:
    return [each.name for group in groups for each in group]


def _finding(finding: Finding) -> dict[str, Any]:
    found = {"id": finding.id, "title": finding.title, "threat": finding.threat, "claim": finding.claim}
    found |= {"variant": finding.variant} if finding.variant else {}
    return found | ({"without": ",".join(finding.without)} if finding.without else {})


# -- the summary of a protocol --------------------------------------------------------------------


def sizes(profile: Profile) -> str:
    """Return the words for the sizes of a profile's instances, and for the adversary's budget."""
    scale = ", ".join(f"{name} {size}" for name, size in profile.scale.items())
    budget = profile.budget
    moves = "unbounded adversary" if budget is None else f"at most {plural(budget, 'active adversary move')}"
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


def family_lines(source: Source) -> Iterator[str]:
    """Yield the lines of ``carnet list`` for one protocol."""
    family = source.family
    protocol = source.protocol()
    yield from wrap_text(f"{family.id}  ", family.title, len(family.id) + 2)
    yield ""
    yield "claims"
    for claim in (claim for part in source.with_layers() for claim in part.claims):
        declared = " (declared, not stated yet)" if claim.declared else ""
        yield from _named_text(claim.name, claim.sentence + declared)
    for lemma_claim in (claim for part in source.with_layers() for claim in part.lemma_claims):
        yield from _named_text(lemma_claim.name, f"{lemma_claim.sentence} (lemma claim)")
    if len(family.variants) > len(family.with_layers(family.main[:1])):
        yield from hanging("  (a variant may make further claims: `carnet explain VARIANT` names them)", 1)
    yield "threat models"
    for threat in protocol.threats:
        yield from _named_text(threat.id, threat.title)
    yield "variants (those marked + are what `carnet verify` covers)"
    for variant in family.variants.values():
        mark = "+ " if variant.name in family.with_layers(family.main) else ""
        label = f" ({variant.label})" if variant.label else ""
        yield from _named_text(mark + variant.name, variant.title + label)
    yield "defences that can be removed"
    for defence in protocol.defences:
        yield from _named_text(defence.id, defence.title)
    yield "profiles"
    for profile in family.profiles.values():
        yield from _named_text(profile.name, profile.title or sizes(profile))
    if family.findings:
        yield "findings"
    for finding in family.findings:
        yield from _named_text(finding.id, finding.title)
        yield f"      {attack_command(family, finding, source.shown)}"
    yield ""


def _named_text(name: str, text: str) -> list[str]:
    indent = 26
    if len(name) + 4 > indent:
        return [f"  {name}", *wrap_text("", text, indent)]
    return wrap_text(f"  {name}", text, indent)


# -- the meaning of each name ---------------------------------------------------------------------


def entries(source: Source) -> Iterator[Entry]:
    """Yield the entries of all identifiers in a family, in the main design or in any variant."""
    main = source.with_layers()
    layered = {protocol.variant for protocol in main}
    every = [*main, *(source.protocol(name) for name in source.family.variants if name not in layered)]
    found: dict[tuple[str, str], tuple[_Make, list[str]]] = {}
    for protocol in every:
        for kind, id, make in _named(source, protocol):
            found.setdefault((kind, id), (make, []))[1].append(protocol.variant)
    yield from _designs(source, every)
    for make, variants in found.values():
        yield make() if variants[0] in layered else replace(make(), variants=tuple(variants))
    cited_ids = {id for _, id in found}
    for requirement in source.family.text.requirements().values():
        if requirement.id not in cited_ids:
            yield Entry(requirement.id, "requirement", source.family.id, requirement.sentence, requirement.source)


def _named(source: Source, protocol: Protocol) -> Iterator[tuple[str, str, _Make]]:
    """Yield the kind and id of everything that one protocol names, with a function that makes its entry."""
    shown = source.shown
    if protocol.variant not in source.family.with_layers(source.family.main[:1]):
        shown += f" --variant {protocol.variant}"
    for claim in protocol.claims:
        yield "claim", claim.name, partial(_claim, protocol.id, shown, claim)
    for lemma_claim in protocol.lemma_claims:
        yield "lemma claim", lemma_claim.name, partial(_lemma_claim, protocol.id, shown, lemma_claim)
    for lemma in protocol.lemmas:
        yield "lemma", lemma.name, partial(_lemma, protocol.id, shown, lemma)
    for goal in protocol.goals:
        yield "goal", goal.name, partial(_goal, protocol.id, shown, goal)
    for live in protocol.liveness:
        yield "liveness property", live.name, partial(_liveness, protocol.id, shown, live)
    for threat in protocol.threats:
        yield "threat model", threat.id, partial(_threat, protocol.id, shown, threat)
    for id, names in references_of(protocol).items():
        yield "requirement", id, partial(_requirement, source, protocol, shown, id, names)
    for action in protocol.actions:
        yield "rule" if action.deduction else "action", action.name, partial(_action, protocol.id, shown, action)
    for symbol in protocol.symbols:
        yield "symbol", symbol.name, partial(_symbol, protocol.id, symbol)


def _designs(source: Source, protocols: Sequence[Protocol]) -> Iterator[Entry]:
    family = source.family
    for defence in protocols[0].defences:
        yield _defence(source, protocols[0], defence)
    own = _of_their_own(source, protocols)
    for variant in family.variants.values():
        yield _variant(source, variant, own[variant.name])
    for profile in family.profiles.values():
        check = f"carnet explore {source.shown} --profile {profile.name}"
        text = sizes(profile) if profile.title else ""
        yield Entry(profile.name, "profile", family.id, profile.title or sizes(profile), check=check, text=text)
    for finding in family.findings:
        text = f"violated: {finding.claim} under {finding.threat}"
        command = attack_command(family, finding, source.shown)
        yield Entry(finding.id, "finding", family.id, finding.title, check=command, text=text)
    for service in family.services:
        text = f"what is publicly known: {service.available}"
        needing = tuple(name for name in family.variants if name in service.needed_by)
        yield Entry(service.id, "service", family.id, service.title, service.where, text=text, variants=needing)


def _of_their_own(source: Source, protocols: Sequence[Protocol]) -> dict[str, list[str]]:
    """Return for each variant the claims and threat models that the main design lacks."""
    main = [each for each in protocols if each.variant in source.family.with_layers(source.family.main[:1])]
    claims = {claim.name for protocol in main for claim in protocol.claims}
    threats = {threat.id for protocol in main for threat in protocol.threats}
    own: dict[str, list[str]] = {}
    for protocol in protocols:
        further = {
            "claims": [claim.name for claim in protocol.claims if claim.name not in claims],
            "threat models": [threat.id for threat in protocol.threats if threat.id not in threats],
        }
        own[protocol.variant] = [f"further {kind}: {', '.join(names)}" for kind, names in further.items() if names]
    return own


def _variant(source: Source, variant: Variant, own: Sequence[str]) -> Entry:
    lacks = f"without {', '.join(variant.without)}" if variant.without else ""
    text = " · ".join(part for part in (variant.label, lacks) if part)
    verb = "verify" if variant.name in source.family.with_layers(source.family.main) else "attack"
    command = f"carnet {verb} {source.shown} --variant {variant.name}"
    lines = (*filter(None, [text]), *own, *_needed(source.family, variant))
    return Entry(variant.name, "variant", source.family.id, variant.title, check=command, text="\n".join(lines))


def _needed(family: Family, variant: Variant) -> Iterator[str]:
    """Yield the services that a variant needs, grouped by their public availability."""
    needed = [service for service in family.services if variant.name in service.needed_by]
    for kind in dict.fromkeys(service.available for service in needed):
        yield f"needs services that are {kind}: {', '.join(each.id for each in needed if each.available == kind)}"


def _defence(source: Source, protocol: Protocol, defence: Defence) -> Entry:
    base = protocol if defence.base in ("", protocol.variant) else source.protocol(defence.base)
    drafted = source.family.draft_of(base.variant).actions  # also those that exist only without a defence
    parts = [
        *(f"{a.name}: guard '{part.name}'" for a in base.actions for part in a.guards if part.defence == defence.id),
        *(f"{a.name}: update '{part.name}'" for a in base.actions for part in a.updates if part.defence == defence.id),
        *(f"{a.name}: there is no such step" for a in drafted if a.shortcut_of == defence.id),
    ]
    command = f"carnet attack {source.shown} --without {defence.id}"
    return Entry(defence.id, "defence", protocol.id, defence.title, enforced_by=tuple(parts), check=command)


def _lemma(protocol: str, shown: str, lemma: Invariant) -> Entry:
    check = f"carnet verify {shown} --engine {able(ProvesWeakened).name}"
    return Entry(lemma.name, "lemma", protocol, lemma.says, check=check, text="\n".join(show_lines(lemma.formula)))


def _goal(protocol: str, shown: str, goal: Goal) -> Entry:
    return Entry(goal.name, "goal", protocol, goal.sentence, check=f"carnet verify {shown}", text=show_goal(goal))


def _liveness(protocol: str, shown: str, live: Eventually) -> Entry:
    parts = (("whenever", show_lines(live.trigger)), ("later", show_lines(live.response)))
    each = f"for each {binders((var, var.name) for var in live.params)}\n" if live.params else ""
    text = "\n".join(
        f"{label if not at else ' ' * len(label)} {line}" for label, of in parts for at, line in enumerate(of)
    )
    fair = (
        f"if these steps are taken fairly: {', '.join(fair_steps(live))}"
        if live.fair
        else "whether or not any step is taken fairly"
    )
    falls = f"\nexpected to be violated under {', '.join(live.fails_under)}" if live.fails_under else ""
    check, text = f"carnet verify {shown} --claim {shlex.quote(live.name)}", f"{each}{text}\n{fair}{falls}"
    return Entry(live.name, "liveness property", protocol, live.sentence, check=check, text=text)


def _threat(protocol: str, shown: str, threat: Threat) -> Entry:
    text = "\n".join(show_axiom(axiom) for axiom in threat.axioms) or "no axiom"
    check = f"carnet verify {shown} --threat {threat.id}"
    return Entry(threat.id, "threat model", protocol, threat.title, check=check, text=text)


def _claim(protocol: str, shown: str, claim: Claim) -> Entry:
    where = f"claimed under {', '.join(claim.under) or 'any'}"
    falls = f"; expected to be violated under {', '.join(claim.fails_under)}" if claim.fails_under else ""
    check = "" if claim.declared else f"carnet verify {shown} --claim {shlex.quote(claim.name)}"
    return Entry(
        claim.name,
        "claim",
        protocol,
        claim.sentence,
        f"{claim.source} ({claim.requirement})" if claim.requirement else claim.source,
        check=check,
        text="\n".join([where + falls, *(show_lines(claim.checked.formula) if claim.invariant else [])]),
    )


def _lemma_claim(protocol: str, shown: str, claim: LemmaClaim) -> Entry:
    lines = [f"claimed under {', '.join(claim.under) or 'any'}"]
    lines += [f"needs {each.name}: {each.sentence}" for each in claim.hypotheses]
    lines += [f"by {each.means}: {each.over}" for each in claim.examinations]
    lines += [f"first-order, for any size: claim {name}" for name in claim.theorems]
    source, check = f"{claim.source} ({claim.requirement})", f"carnet verify {shown} --claim {shlex.quote(claim.name)}"
    return Entry(claim.name, "lemma claim", protocol, claim.sentence, source, check=check, text="\n".join(lines))


def _requirement(source: Source, protocol: Protocol, shown: str, id: str, names: Sequence[str]) -> Entry:
    """Describe a normative sentence that a protocol cites, or an assumption of it."""
    written = source.family.text.requirements().get(id)
    assumed = {assumption.id: assumption.sentence for assumption in protocol.assumptions}
    axioms = tuple(f"axiom {axiom.name}" for axiom in protocol.axioms if axiom.assumption == id)
    return Entry(
        id,
        "assumption" if id in assumed else "requirement",
        protocol.id,
        assumed.get(id) or (written.sentence if written else "its sentence is not written yet"),
        written.source if written else "",
        (*(name for name in names if name != id), *axioms),
        f"carnet verify {shown}",
    )


def _action(protocol: str, shown: str, action: Action) -> Entry:
    kind = "rule" if action.deduction else "action"
    says = _PLACE.sub(r"\1", action.says)
    sentence = f"{says.rstrip('.')}. {action.why}" if action.why else says
    check = f"carnet explore {shown}"
    return Entry(action.name, kind, protocol, sentence, action.source, action.enforces, check, show_action(action))


def _symbol(protocol: str, symbol: Symbol) -> Entry:
    """Describe a symbol: what it means, its arguments, who may read it, and whether it changes."""
    owner = f"the {symbol.role.name}" if symbol.role else "its owner"
    readers = _READERS.get(symbol.kind) or f"only {owner} may read it: it is {owner}'s own state"
    text = f"{show_symbol(symbol)}\n{readers}\nit {'changes' if symbol.mutable else 'never changes'}"
    return Entry(symbol.name, "symbol", protocol, symbol.says, text=text)
