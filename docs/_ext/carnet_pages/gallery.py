"""The gallery: each finding's attack in a few lines, and as a diagram to step through."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from carnet_check.attacks.describing import brief, intact_outcome
from carnet_check.attacks.regression import Attack, card
from carnet_check.commands.descriptions import attack_command
from carnet_check.loading.families import load
from carnet_check.report.html import write_gallery
from carnet_check.report.html.views import attack_page
from carnet_check.semantics import Interpreter
from carnet_spec.language import Family

from .markdown import Lines, indexed, label, page, prose
from .traces import Traces

Values = Mapping[str, Any]
FOLDER = "gallery"  #: Where the diagrams of all protocols are, beside the pages.


EXPLAINED = (
    "Each finding as an attack: the shortest that was found in a small instance, in a few lines. Honest steps are "
    "folded. `<<<` marks the decisive step, at which the design with nothing removed parts from the attacked one. The "
    "link below opens the whole attack as a diagram, step by step, with what each step changed and who knows what. "
    "{doc}`/findings` says which design falls, and {doc}`/conformance/replays` tells what each attack did with real "
    "bytes."
)
STALE = "Stale: the specification has changed, and the recorded attack is none any more."


def shown(family: Family, row: Values) -> dict[str, Any] | None:
    """Return a recorded attack as a run folder keeps it, if the interpreter finds that it still is an attack."""
    return _replayed(family.id, json.dumps(row))


@cache
def _replayed(id: str, text: str) -> dict[str, Any] | None:
    """Return what ``shown`` does; the page and the diagrams both show it."""
    source, row = load(id), json.loads(text)
    family = source.family
    (finding,) = (each for each in family.findings if each.id == row["finding"])
    found = _recorded(id).recorded(row)
    if found is None:
        return None
    protocol, _, _, profile, trace = found
    judge = Interpreter(protocol, source.instance(protocol, trace.threat, profile))
    states = judge.replay(trace)
    attack = Attack(
        judge=judge,
        claim=protocol.claim(finding.claim),
        threat=protocol.threat(finding.threat),
        trace=trace,
        states=states,
        profile=profile,
        expected=True,
        rerun=attack_command(family, finding, family.id),
        digest=protocol.digest,
        removed=finding.without,
        finding=finding,
        decisive=intact_outcome(source, protocol, finding.without, finding.claim, judge, trace, states).decisive,
    )
    decides = attack.decisive.remark if attack.decisive else {}
    told = {"brief": brief(judge, states, trace, decides), "replay": f"{attack.rerun} --replay"}
    return {**attack.as_json(), **told, "card": card(attack, family)}


@cache
def _recorded(id: str) -> Traces:
    return Traces(load(id), "attacks")


def findings(family: Family, attacks: Iterable[Values]) -> list[Values]:
    """Return the recorded attacks on a protocol that show its findings."""
    return [each for each in attacks if each["protocol"] == family.id and each["finding"]]


def gallery(families: Sequence[Family], attacks: Sequence[Values]) -> str:
    """Return the page: what falls, the few lines that say why, and where the diagram is."""
    lines = (line for family in families for line in _family(family, findings(family, attacks)))
    return page(
        "# Gallery of attacks",
        EXPLAINED,
        lines,
    )


def _family(family: Family, rows: Sequence[Values]) -> Lines:
    titles = {finding.id: finding.title for finding in family.findings}
    for row in rows:
        title = titles[row["finding"]]
        yield from (
            indexed(row["finding"]),
            f"({label(family.id, row['finding'], 'gallery')})=",
            f"## {prose(title[:1].upper() + title[1:])}",
            "",
        )
        attack = shown(family, row)
        if attack is None:
            yield from (":::{warning}", STALE, ":::", "")
            continue
        yield from (*_card(attack["card"]), "")
        yield from ("```text", *attack["brief"], "", *attack["reason"][:1], "```", "")
        place = f"../../{FOLDER}/{family.id}/{attack_page(attack)}"
        yield from ("```{raw} html", f'<p><a href="{place}">Step through it</a></p>', "```", "")
        yield from ("```sh", attack["replay"], "```", "")


def _card(told: Mapping[str, str]) -> Lines:
    yield f"**The attack:** {prose(told['attack'])}.\\"
    yield f"**On:** {prose(told['design'])}. **Fixed by:** {prose(told['fix'])}."


def write_diagrams(families: Sequence[Family], attacks: Sequence[Values], folder: Path) -> None:
    """Write the diagrams of every protocol that has some."""
    for family in families:
        still = [attack for row in findings(family, attacks) if (attack := shown(family, row)) is not None]
        if still:
            write_gallery(still, family.title, folder / FOLDER / family.id)
