"""What a run was about, as plain JSON values: everything that the report says of a specification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from carnet_check.engines.interface import Plan
from carnet_check.loading.families import Source, parts_of
from carnet_check.verification.planning import Campaign
from carnet_spec.language import Claim, Defence, Invariant, Protocol
from carnet_spec.language.notation import show_lines
from carnet_spec.language.printing import show_axiom
from carnet_spec.language.tracing import Place


def outline(campaign: Campaign) -> dict[str, Any]:
    """Return what was claimed, of whom, under which assumptions; equal specifications give equal values."""
    source = campaign.request.source
    return {
        "protocol": source.family.id,
        "title": source.family.title,
        "reference": source.shown,
        "file": _file(source),
        "places": _places(source, [plan.protocol.variant for plan in campaign.plans]),
        "variants": [_variant(source, plan) for plan in campaign.plans],
    }


def _file(source: Source) -> str:
    """Return where the protocol is written: the file that was asked for, or else that of the module it is in."""
    path = parts_of(source.shown)[0]
    return path if path.endswith(".py") else source.family.draft.__module__.replace(".", "/") + ".py"


def _places(source: Source, variants: Sequence[str]) -> list[dict[str, Any]]:
    """Return where the actions and claims of some variants are written; those of the first are told first."""
    found: dict[tuple[str, str], Place] = {}
    for variant in variants:
        stated = source.family.drafted(variant).stated_at
        found = {key: place for key, place in stated.items() if place is not None} | found
    return [
        {"kind": kind, "name": name, "file": _shown_file(source, place.file), "line": place.line}
        for (kind, name), place in sorted(found.items())
    ]


def _shown_file(source: Source, file: str) -> str:
    """Return a path as the user wrote it; of a file in a package, from the outermost folder of the package on."""
    asked, path = Path(parts_of(source.shown)[0]), Path(file)
    if asked.suffix == ".py" and path.is_relative_to(asked.absolute().parent):
        return str(asked.parent / path.relative_to(asked.absolute().parent))
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    return path.relative_to(root).as_posix()


def _variant(source: Source, plan: Plan) -> dict[str, Any]:
    protocol = plan.protocol
    variant = source.family.variants[protocol.variant]
    return {
        "name": protocol.variant,
        "title": variant.title,
        "label": plan.label,
        "digest": protocol.digest,
        "threats": [
            {"id": threat.id, "title": threat.title, "axioms": [show_axiom(axiom) for axiom in threat.axioms]}
            for threat in plan.threats
        ],
        "claims": [
            _claim(source, protocol, claim) for claim in {claim.name: claim for claim, _ in plan.pairs}.values()
        ],
        "assumptions": [
            *({"id": a.id, "sentence": a.sentence, "built_in": a.built_in} for a in protocol.assumptions),
            *(
                {"id": axiom.states, "sentence": axiom.says or show_axiom(axiom), "built_in": False}
                for axiom in protocol.axioms
                if not axiom.assumption
            ),
        ],
        "defences": [_defence(source, protocol, defence) for defence in protocol.defences],
        "lemmas": [_lemma(lemma) for lemma in protocol.lemmas],
        "goals": [{"name": goal.name, "sentence": goal.sentence} for goal in protocol.goals],
    }


def _claim(source: Source, protocol: Protocol, claim: Claim) -> dict[str, Any]:
    required = source.family.text.requirements().get(claim.requirement)
    return {
        "name": claim.name,
        "sentence": claim.sentence,
        "requirement": claim.requirement,
        "requirement_sentence": required.sentence if required else "",
        "source": claim.source,
        "under": list(claim.under),
        "fails_under": list(claim.fails_under),
        "formula": show_lines(claim.checked.formula),
        "rerun": f"carnet verify {source.shown} --variant {protocol.variant} --claim {claim.name}",
    }


def _defence(source: Source, protocol: Protocol, defence: Defence) -> dict[str, Any]:
    removable = defence.id not in protocol.without
    return {
        "id": defence.id,
        "title": defence.title,
        "enforced_by": list(_enforced_by(protocol, defence)),
        "shuts_out": list(_shut_out(source, protocol, defence)),
        "removed": f"carnet attack {source.shown} --without {defence.id}" if removable else "",
    }


def _enforced_by(protocol: Protocol, defence: Defence) -> Iterator[str]:
    for action in protocol.actions:
        yield from (f"{action.name}: {guard.name}" for guard in action.guards if guard.defence == defence.id)
        yield from (f"{action.name}: {update.name}" for update in action.updates if update.defence == defence.id)


def _shut_out(source: Source, protocol: Protocol, defence: Defence) -> Iterator[str]:
    """Yield the steps that this defence keeps out of the design: no proof uses it by name, for lack of a guard."""
    if defence.id not in protocol.without:
        actions = source.family.drafted(protocol.variant).actions
        yield from (action.name for action in actions if action.shortcut_of == defence.id)


def _lemma(lemma: Invariant) -> dict[str, Any]:
    return {"name": lemma.name, "says": lemma.says, "formula": show_lines(lemma.formula)}
