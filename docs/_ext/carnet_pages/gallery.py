"""The gallery: each finding's attack in a few lines, and as a diagram to step through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from carnet_check.attacks.brief import brief
from carnet_check.attacks.hunt import attack_target, hunt
from carnet_check.attacks.record import of_hunt
from carnet_check.commands.catalogue import attack_command
from carnet_check.loading.families import load
from carnet_check.report.html import write_gallery
from carnet_check.report.html.views import attack_page
from carnet_spec.language import Family, Finding

from .markdown import Lines, label, page, prose

Values = Mapping[str, Any]
FOLDER = "gallery"
"""Where the diagrams of all protocols are, beside the pages."""


EXPLAINED = (
    "Each finding as an attack: the shortest in a small instance, in a few lines. Honest steps are folded. `<<<` marks "
    "the decisive step, at which the design with nothing removed parts from the attacked one. The link below opens the "
    "whole attack as a diagram, step by step, with what each step changed and who knows what. {doc}`/findings` says "
    "whose design falls, and {doc}`/conformance/replays` what came of each attack with real bytes."
)
STALE = "Stale: the specification has changed since this attack was recorded."


def record(family: Family) -> list[dict[str, Any]]:
    """Look for the attack of every finding again, and keep all that is shown of it."""
    return [_recorded(family, finding) for finding in family.findings]


def _recorded(family: Family, finding: Finding) -> dict[str, Any]:
    source = load(family.id)
    target = attack_target(
        source, variant=finding.variant, without=finding.without, threat=finding.threat, claim=finding.claim
    )
    found = hunt(target, progress=lambda _: None)
    assert found.trace is not None, f"{finding.id}: {found.detail}"
    command = attack_command(family, finding, family.id)
    decides = found.decisive.remark if found.decisive else {}
    short = brief(target.protocol, found.states, found.trace, decides)
    return {**of_hunt(found, command).as_json(), "brief": short, "replay": f"{command} --replay"}


def gallery(families: Sequence[Family], recorded: Mapping[str, Sequence[Values]]) -> str:
    """Return the page: what falls, the few lines that say why, and where the diagram is."""
    lines = (line for family in families for line in _family(family, recorded.get(family.id, ())))
    return page(
        "# Gallery of attacks",
        EXPLAINED,
        lines,
    )


def _family(family: Family, attacks: Sequence[Values]) -> Lines:
    designs = {finding.id: family.protocol(finding.variant, finding.without).digest for finding in family.findings}
    for attack in attacks:
        finding = attack["finding"]
        fresh = designs.get(finding["id"]) == attack["digest"]
        yield from (
            f"({label(family.id, finding['id'], 'gallery')})=",
            f"## {prose(finding['title'].capitalize())}",
            "",
        )
        if not fresh:
            yield from (
                ":::{warning}",
                "Stale: the specification has changed since this attack was recorded.",
                ":::",
                "",
            )
        yield from (prose(attack["sentence"]), "")
        yield from ("```text", *attack["brief"], "", *attack["reason"][:1], "```", "")
        yield from _diagram(family, attack)
        yield from ("```sh", attack["replay"], "```", "")


def _diagram(family: Family, attack: Values) -> Iterator[str]:
    """Yield a link to what Sphinx knows nothing of."""
    place = f"../../{FOLDER}/{family.id}/{attack_page(attack)}"
    yield from ("```{raw} html", f'<p><a href="{place}">Step through it</a></p>', "```", "")


def write_diagrams(families: Sequence[Family], recorded: Mapping[str, Sequence[Values]], folder: Path) -> None:
    """Write the diagrams of every protocol that has some."""
    for family in families:
        if attacks := recorded.get(family.id):
            write_gallery(attacks, family.title, folder / FOLDER / family.id)
