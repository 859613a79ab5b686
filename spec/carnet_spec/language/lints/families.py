"""Lints about a family: every name that it uses of its variants and its normative text exists."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from carnet_spec.language.family import Family, Finding, PartyView, Profile
from carnet_spec.language.lints.common import Findings, duplicates, one_of
from carnet_spec.language.naming import did_you_mean
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.requirements import NormativeText, references_of

_Known = Callable[[Protocol], Iterable[str]]  #: The names of one kind that a protocol declares.


def parts(family: Family) -> Findings:
    """Every variant, size and finding that a family names exists; no design is built for this check."""
    for name in family.main:
        if name not in family.variants:
            yield f"family {family.id}", f"main variant '{name}' is not declared: {one_of(family.variants, name)}"
    for name, variant in family.variants.items():
        yield from _name_mismatch(f"variant {name}", name, variant.name)
        yield from _base_mistakes(family, name, variant.over)
    for name, profile in family.profiles.items():
        yield from _name_mismatch(f"profile {name}", name, profile.name)
    for finding in family.findings:
        if finding.variant and finding.variant not in family.variants:
            yield f"finding {finding.id}", f"no variant '{finding.variant}': {one_of(family.variants, finding.variant)}"
    for id in duplicates([finding.id for finding in family.findings]):
        yield f"family {family.id}", f"two findings '{id}': give each an id of its own"
    for service in family.services:
        for name in sorted(service.needed_by - set(family.variants)):
            yield f"service {service.id}", f"no variant '{name}': {one_of(family.variants, name)}"
    for kind in duplicates([view.kind.value for view in family.views]):
        yield f"family {family.id}", f"two views of '{kind}': say in one of them how it differs"
    sizes = _sizes(family)
    if family.rounds and family.rounds not in sizes:
        yield f"family {family.id}", f"no size '{family.rounds}' for its rounds: {one_of(sizes, family.rounds)}"


def _name_mismatch(where: str, name: str, own: str) -> Findings:
    if own != name:
        yield where, f"calls itself '{own}': use one name. {did_you_mean(own, [name])}".rstrip(" .")


def _base_mistakes(family: Family, name: str, base: str) -> Findings:
    if base and base not in family.variants:
        yield f"variant {name}", f"no variant '{base}' to be over: {one_of(family.variants, base)}"
    elif base and family.variants[base].over:
        yield f"variant {name}", f"is over '{base}', which is a layer itself: name the design beneath both"


def _sizes(family: Family) -> set[str]:
    """Return the sizes that profiles, hunts and options name."""
    hunted: tuple[Profile, ...] = tuple(hunt for variant in family.variants.values() for hunt in variant.hunts)
    profiles = (*family.profiles.values(), *family.hunts, *hunted)
    return {name for profile in profiles for name in profile.scale} | set(family.options)


def designs(family: Family, wholes: Mapping[str, Protocol]) -> Findings:
    """Every name that a finding uses exists in the finding's own variant."""
    for finding in family.findings:
        protocol = wholes.get(finding.variant or family.main[0])
        for what, name, known in _named_by(finding):
            if protocol is not None and name not in known(protocol):
                yield f"finding {finding.id}", f"no {what} '{name}': {one_of(known(protocol), name)}"
    for view, what, name, known in _of_views(family):
        protocol = wholes.get(family.main[0])
        if protocol is not None and name not in known(protocol):
            yield f"view of {view.party}", f"no {what} '{name}': {one_of(known(protocol), name)}"
    for name, variant in family.variants.items():
        for id in variant.without:
            if id not in _defences(wholes[name]):
                yield f"variant {name}", f"no removable defence '{id}': {one_of(_defences(wholes[name]), id)}"
        yield from bases(family, wholes[name])


def bases(family: Family, protocol: Protocol) -> Findings:
    """The base variant of every removable defence is a variant of the family."""
    for defence in protocol.defences:
        if defence.base and defence.base not in family.variants:
            why = f"no base variant '{defence.base}': {one_of(family.variants, defence.base)}"
            yield f"defence {defence.id}", why


def undeclared(family: Family, judged: Protocol) -> Findings:
    """Every name that a family uses is declared in some variant.

    Names that the judged variant lacks are looked up in the first main variant, and then in the variant that the text
    refers to; no other variant is built. If no threat model is declared, "any" stands for all.
    """
    yield from parts(family)
    yield from bases(family, judged)
    wholes: dict[str, Protocol] = {}
    for where, variant, what, name, known in _named(family):
        names = dict.fromkeys(known(judged))
        for other in (family.main[0], variant):
            if name not in names and other in family.variants:
                if other not in wholes:
                    wholes[other] = family.draft_of(other).whole()
                names |= dict.fromkeys(known(wholes[other]))
        if name not in names and (names or known is not _threats):
            yield where, f"no {what} '{name}': {one_of(names, name)}"


def _named(family: Family) -> Iterator[tuple[str, str, str, str, _Known]]:
    """Yield each name that a family uses of a design: where, of which variant, of what kind, and who declares some."""
    first = family.main[0]
    for finding in family.findings:
        for what, name, known in _named_by(finding):
            yield f"finding {finding.id}", finding.variant or first, what, name, known
    for view, what, name, known in _of_views(family):
        yield f"view of {view.party}", first, what, name, known
    for variant, design in family.variants.items():
        for name in design.without:
            yield f"variant {variant}", variant, "removable defence", name, _defences
    if family.default_threat:
        yield f"family {family.id}", first, "threat model", family.default_threat, _threats
    if family.round_goal:
        yield f"family {family.id}", first, "goal", family.round_goal, _goals


def _named_by(finding: Finding) -> Iterator[tuple[str, str, _Known]]:
    yield "threat model", finding.threat, _threats
    yield "claim", finding.claim, _claims
    for name in finding.without:
        yield "removable defence", name, _defences


def _of_views(family: Family) -> Iterator[tuple[PartyView, str, str, _Known]]:
    for view in family.views:
        for name in view.limited_by:
            yield view, "claim", name, _all_claims
        for id in view.assumed_in:
            yield view, "assumption or hypothesis", id, _taken_for_granted


def _threats(protocol: Protocol) -> list[str]:
    return [threat.id for threat in protocol.threats]


def _claims(protocol: Protocol) -> list[str]:
    return [claim.name for claim in protocol.claims]


def _all_claims(protocol: Protocol) -> list[str]:
    """Return the names of claims, lemma claims among them."""
    return [*_claims(protocol), *(claim.name for claim in protocol.lemma_claims)]


def _taken_for_granted(protocol: Protocol) -> list[str]:
    """Return the ids of assumptions, and the names of hypotheses of lemma claims."""
    hypotheses = (each.name for claim in protocol.lemma_claims for each in claim.hypotheses)
    return [*(assumption.id for assumption in protocol.assumptions), *dict.fromkeys(hypotheses)]


def _defences(protocol: Protocol) -> list[str]:
    return [defence.id for defence in protocol.defences]


def _goals(protocol: Protocol) -> list[str]:
    return [goal.name for goal in protocol.goals]


def unwritten(protocol: Protocol, text: NormativeText) -> Findings:
    """Every requirement that is enforced or claimed is in the normative text, if there is one."""
    written: Collection[str] = text.requirements()
    assumed = {assumption.id for assumption in protocol.assumptions}
    actions = {action.name for action in protocol.actions}
    for id, names in references_of(protocol).items() if written else ():
        for name in names:
            if id not in written and id not in assumed:
                kind = "action" if name in actions else "claim"
                remedy = did_you_mean(id, written) or "write it there, or the id of another sentence"
                yield f"{kind} {name}", f"names '{id}', which {text.place} does not have: {remedy}"
