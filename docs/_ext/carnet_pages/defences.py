"""The page of defences by threat models: how many claims fall if one defence is taken away, and which."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from carnet_check.report.html import as_html
from carnet_check.report.html.views import cell, heat_map, row
from carnet_command.text import join_words, plural
from carnet_spec.language import Defence, Family, Finding

from .claim_pages import claims_of
from .falls import is_current
from .markdown import Lines, code, label, page, prose, table

Values = Mapping[str, Any]


def map_label(family: Family) -> str:
    """Return the name by which references find the map of a protocol."""
    return label(family.id, "defences-by-threat-models")


def defences(family: Family, rows: Sequence[Values]) -> str:
    """Return the page of a protocol: a map of what was recorded, and below it which claims each number counts."""
    head = f"({map_label(family)})=", f"# Defences of {prose(family.title.partition(':')[0])} by threat models"
    if not rows:
        return page(*head, _ABOUT, "No run is recorded.")
    return page(*head, _ABOUT, _NUMBERS, _map_and_parts(family, rows))


_ABOUT = (
    "What is each defence for, and against whom? Each row is a whole design from which one defence is taken away. Each "
    "cell says how many of the claims that the whole design makes under a threat model fall without the defence. That "
    "none falls with every defence in place is on {doc}`the page of verdicts <../verdicts>`, for the main designs."
)
_NUMBERS = (
    "A number counts attacks on different claims. Each was found by a search of small instances, and the interpreter "
    "replayed it; more claims may fall. A **0** is proved, for any number of everything. A **?** says less: no attack "
    "was found, and not every claim is proved without the defence. A **–** says that the whole design claims nothing "
    "there. An attack under a threat model counts under each that assumes no more."
)
_STEPS = (
    "The numbers are the steps of the attacks that were found, deductions not counted. A shorter attack may exist. A "
    "dot says that none was found, a dash that the whole design does not claim it there. With `--threat` and `--claim` "
    "the command below a table finds one of them again, unless it needs a second honest party: `carnet attack` has one."
)


def _map_and_parts(family: Family, rows: Sequence[Values]) -> Lines:
    yield from ("```{raw} html", as_html(_map(family, rows)).rstrip(), "```", "")
    stale = [row["defence"] for row in rows if not is_current(family, row)]
    if stale:
        again = "`python -m docs._ext.carnet_pages.records make falls` records them again."
        yield from (":::{warning}", f"Stale, the specification has changed: {join_words(stale)}. {again}", ":::", "")
    yield from ("## Defence by defence", "", _STEPS, "")
    titles = {each.id: each for each in family.protocol().defences}
    known = set(claims_of(family))
    for each in rows:
        if each["defence"] in titles:
            yield from _defence(family, titles[each["defence"]], each, known)


# -- the map ----------------------------------------------------------------------------------------------------------


def _map(family: Family, rows: Iterable[Values]) -> Values:
    rows = list(rows)
    # The threat models of all rows, in the protocol's order
    found = dict.fromkeys(cell["threat"] for each in rows for cell in each["threats"])
    order = [threat.id for threat in family.protocol().threats]
    threats = sorted(found, key=lambda id: order.index(id) if id in order else len(order))
    main = family.main[0]
    listed_rows = (
        row(
            each["defence"],
            f"#{_anchor(family, each['defence'])}",
            (_cell(each, threat) for threat in threats),
            note="" if each["variant"] == main else f"in {each['variant']}",
        )
        for each in rows
    )
    caption = f"How many claims fall without a defence, by threat model. Where a row says nothing else, in {main}."
    return heat_map(caption, "without", threats, listed_rows)


def _cell(row: Values, threat: str) -> dict[str, str]:
    found = next((each for each in row["threats"] if each["threat"] == threat), None)
    if found is None:
        return cell(0, 0)
    return cell(len(found["falls"]), len(found["made"]), decided=not found["falls"] and not found["open"])


def _anchor(family: Family, defence: str) -> str:
    return label(family.id, "without", defence)


# -- defence by defence -----------------------------------------------------------------------------------------------


def _defence(family: Family, defence: Defence, row: Values, known: Iterable[str]) -> Lines:
    yield from (f"({_anchor(family, defence.id)})=", f"### {prose(defence.id)}", "")
    yield from (f"{prose(defence.title)}.", "")
    fallen = list(dict.fromkeys(name for each in row["threats"] for name in each["falls"]))
    threats = [each["threat"] for each in row["threats"]]
    yield from table(
        ["claim that falls", *map(prose, threats)],
        ([_claim(family, name, known), *(_steps(each, name) for each in row["threats"])] for name in fallen),
    )
    # Where no claim falls
    whole = [each for each in row["threats"] if not each["falls"]]
    proved = [each["threat"] for each in whole if not each["open"]]
    if proved:
        yield from (f"Under {join_words(map(prose, proved))} every claim is proved without it.", "")
    for each in whole:
        if each["open"]:
            said = f"{len(each['open'])} of {plural(len(each['made']), 'claim')}"
            yield from (f"Under {prose(each['threat'])} no attack was found; not proved without it: {said}.", "")
    yield from _beside(family, defence)
    yield from ("```sh", f"carnet attack {family.id} --without {defence.id}", "```", "")


def _claim(family: Family, name: str, known: Iterable[str]) -> str:
    """Name a claim, and lead to its page if it has one."""
    return f"{{ref}}`{name} <{label(family.id, 'claim-page', name)}>`" if name in known else code(name)


def _steps(cell: Values, claim: str) -> str:
    if claim not in cell["made"]:
        return "–"
    return str(cell["falls"].get(claim, "·"))


def _beside(family: Family, defence: Defence) -> Lines:
    """Say which variants lack this defence alone, and which findings show what follows."""
    lacking = [each.name for each in family.variants.values() if each.without == (defence.id,) and not each.over]
    if lacking:
        yield from (f"It is the one defence that {join_words(map(code, lacking))} {_lacks(lacking)}.", "")
    found = [each for each in family.findings if _shows(each, family, defence, lacking)]
    for each in found:
        link = label(family.id, each.id, "gallery")
        yield from (f"{{ref}}`The gallery shows it step by step: {prose(each.title)} <{link}>`.", "")


def _lacks(names: Sequence[str]) -> str:
    return "lacks" if len(names) == 1 else "lack"


def _shows(finding: Finding, family: Family, defence: Defence, lacking: Sequence[str]) -> bool:
    variant = finding.variant or family.main[0]
    alone = finding.without == (defence.id,) and variant == (defence.base or family.main[0])
    return alone or (not finding.without and variant in lacking)


def map_link(family: Family) -> Lines:
    """Yield a sentence that leads to the map, for pages that list the defences."""
    if family.protocol().defences:
        yield f"{{ref}}`How many claims fall without each, under which threat model <{map_label(family)}>`."
        yield ""
