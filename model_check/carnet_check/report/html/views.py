"""The content of the report's pages, computed from a run: plain values for the templates."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from carnet_check.report import claimed as one_page
from carnet_check.report.run_folder import Run
from carnet_check.verification.outcome import UNREACHED, cti_lines, unproved_invariants
from carnet_check.wording import as_file_name, attack_name, file_name
from carnet_command.text import plural

Values = Mapping[str, Any]

BAR = 160  #: The length of the longest bar of a figure, in pixels.
FIGURES = ("published", "reproduced")
HOLDING = ("PROVED", "EXHAUSTED", "HOLDS-TO", "SAMPLED")
DECIDED = ("PROVED", "EXHAUSTED")  #: The verdicts that a claim is not violated, in general or in an instance.


def attack_page(attack: Values) -> str:
    """Return the name of the page of an attack."""
    return f"attack-{as_file_name(attack['name'])}.html"


def claim_anchor(variant: str, claim: str) -> str:
    """Return the URL fragment of a claim; it is a permanent link."""
    return f"claim-{variant}-{claim}"


def claims_view(run: Run) -> dict[str, Any] | None:
    """Return what is claimed and what holds on one page, in words, or nothing for a run that did not keep the words."""
    words = run.spec.get("claimed")
    if words is None:
        return None
    rows = run.verdicts
    return {
        "legend": one_page.legend(rows),
        "tables": one_page.claim_tables(words, rows),
        "threats": [*one_page.threats_of(words).items()],
        "liveness_verdicts": one_page.liveness_verdicts(words, rows),
        "lemma_claim_verdicts": [
            (claim, "; ".join(said)) for claim, said in one_page.lemma_claim_verdicts(words, rows)
        ],
        "violated": [(claim, ", ".join(threats)) for claim, threats in one_page.violated_claims(words, rows)],
        "assumed": [
            (" ".join(filter(None, (each.id, each.short))), each.sentence, each.used_by)
            for each in one_page.assumptions_of(words, rows)
        ],
        "simulated": one_page.simulation_sentence(words),
        "services": [(each["title"], each["available"]) for each in words["services"]],
    }


# -- the claims of a variant -----------------------------------------------------------------------


def variant(run: Run, declared: Values) -> dict[str, Any]:
    """Return one variant: its matrix, its claims, and the assumptions, defences and lemmas that they use."""
    rows = [row for row in run.verdicts if row["variant"] == declared["name"]]
    claims = [_claim(run, declared, each, rows) for each in declared["claims"]]
    return {
        **declared,
        "matrix": [
            {**claim, "cells": [_cell(claim, threat["id"]) for threat in declared["threats"]]} for claim in claims
        ],
        "claims": claims,
        "others": [row for row in rows if row["kind"] != "claim"],
        "lemmas_used": [
            {**each, "statuses": _statuses(run, declared["name"], each["name"])}
            for each in _used(declared["lemmas"], "name", claims, "lemmas")
        ],
        "defences_used": [{"shuts_out": (), **each} for each in _used(declared["defences"], "id", claims, "defences")],
    }


def _claim(run: Run, variant: Values, claim: Values, rows: Sequence[Values]) -> dict[str, Any]:
    mine = [row for row in rows if row["claim"] == claim["name"] and row["kind"] == "claim"]
    assumed = {each["id"]: each for each in variant["assumptions"]}
    holding = [row for row in mine if row["verdict"] in HOLDING]
    used = [id for id in assumed if any(id in row["assumptions"] for row in holding)]
    proved = [row for row in mine if row["verdict"] == "PROVED"]
    return {
        **claim,
        "anchor": claim_anchor(variant["name"], claim["name"]),
        "judgements": [_judgement(run, variant, claim, each, mine) for each in variant["threats"]],
        "assumptions": [assumed[id] for id in used],
        "established": bool(holding),
        "proved": bool(proved),
        "proof": _proof(mine),
        "lemmas": _in_order(row.get("lemmas", ()) for row in proved),
        "defences": _in_order(row.get("defences", ()) for row in proved),
        "attempt": _attempt(mine),
        "as_expected": all(row["as_expected"] for row in mine),
    }


def _proof(rows: Sequence[Values]) -> str:
    """Return the words for the threat models under which a claim is proved, and for its verdicts under the others."""
    verdicts: dict[str, dict[str, None]] = {}
    for row in rows:
        verdicts.setdefault(row["threat"], {})[row["verdict"]] = None
    proved = [threat for threat, words in verdicts.items() if "PROVED" in words]
    instead = {threat: " and ".join(words) for threat, words in verdicts.items() if threat not in proved}
    told = [f"under {', '.join(proved)}"] if proved else []
    told += [f"none under {threat}, where it is {words}" for threat, words in instead.items()]
    return "; ".join(told) or "none: no engine judged the claim"


def _attempt(rows: Sequence[Values]) -> list[str]:
    """Return the lemmas that engines used in failed attempts to prove a claim; empty if it is proved or refuted."""
    decided = {row["threat"] for row in rows if row["verdict"] in ("PROVED", "VIOLATED")}
    return _in_order(row.get("lemmas", ()) for row in rows if row["threat"] not in decided)


def _judgement(run: Run, variant: Values, claim: Values, threat: Values, rows: Sequence[Values]) -> dict[str, Any]:
    """Return the verdicts of all engines on one claim under one threat model."""
    mine = [row for row in rows if row["threat"] == threat["id"]]
    name = attack_name(variant["name"], threat["id"], claim["name"])
    attack = next((each for each in run.attacks if each["name"] == name), None)
    return {
        "threat": threat,
        "rows": [{**row, "shown": verdict_text(row), "short": short(row), "class": word_class(row)} for row in mine],
        "agreement": _agreement(mine),
        "attack": attack_page(attack) if attack else "",
    }


def _agreement(rows: Sequence[Values]) -> str:
    """Return the words for which engines agree."""
    if not rows:
        return "not claimed"
    holding = [row["engine"] for row in rows if row["verdict"] in HOLDING]
    fallen = [row["engine"] for row in rows if row["verdict"] == "VIOLATED"]
    if fallen:
        return f"refuted by {' and '.join(fallen)}; the interpreter replayed the attack"
    if len(holding) > 1:
        return f"{', '.join(holding[:-1])} and {holding[-1]} agree"
    return f"{holding[0]} alone" if holding else "not established"


def _cell(claim: Values, threat: str) -> Values:
    found: Values = next(each for each in claim["judgements"] if each["threat"]["id"] == threat)
    return found


def verdict_text(row: Values) -> str:
    """Return a verdict with the number that belongs to it."""
    if row["bound"] is None:
        return str(row["verdict"])
    return f"{row['verdict']} ({row['bound']:,})"


def short(row: Values) -> str:
    """Return a verdict for the matrix: with its bound, but without the number of states, which the claim shows."""
    return verdict_text(row) if row["verdict"] == "HOLDS-TO" else str(row["verdict"])


def word_class(row: Values) -> str:
    """Return the CSS class of a verdict's colour; the word itself is always shown, too."""
    if not row["as_expected"]:
        return "wrong"
    return "fallen" if row["verdict"] == "VIOLATED" else "holds"


def _in_order(lists: Iterable[Iterable[str]]) -> list[str]:
    return sorted({name for names in lists for name in names})


def _used(declared: Sequence[Values], key: str, claims: Sequence[Values], field: str) -> list[dict[str, Any]]:
    """Return the declared items, each with the claims whose proofs used it."""
    return [{**each, "used_by": [claim for claim in claims if each[key] in claim[field]]} for each in declared]


# -- designs by threat models ----------------------------------------------------------------------


def overview(run: Run) -> dict[str, Any] | None:
    """Return how many claims are violated in each design under each threat model; None if there is only one design.

    The run has verdicts on its variants. Of other attacked designs, with defences removed, only violations are known.
    """
    variants = run.spec["variants"]
    threats = list(dict.fromkeys(threat["id"] for variant in variants for threat in variant["threats"]))
    rows = [
        row(each["name"], f"#matrix-{each['name']}", [_judged(run, each["name"], id) for id in threats])
        for each in variants
    ]
    weakened = dict.fromkeys((each["trace"]["variant"], tuple(each["removed"])) for each in run.attacks)
    rows += [
        row(f"{name} without {', '.join(removed)}", "#attacks", [_attacked(run, name, removed, id) for id in threats])
        for name, removed in weakened
        if removed
    ]
    if len(rows) < 2 or not threats:
        return None
    return heat_map("Violated claims, by design and threat model", "design", threats, rows)


def _judged(run: Run, variant: str, threat: str) -> dict[str, str]:
    """Return the cell for all claims of a variant under a threat model."""
    rows = [row for row in run.verdicts if (row["variant"], row["threat"], row["kind"]) == (variant, threat, "claim")]
    claims = {row["claim"] for row in rows}
    fallen = {row["claim"] for row in rows if row["verdict"] == "VIOLATED"}
    standing = {row["claim"] for row in rows if row["verdict"] in DECIDED}
    wrong = any(row["verdict"] == "VIOLATED" and not row["as_expected"] for row in rows)
    return cell(len(fallen), len(claims), decided=claims == fallen | standing, expected=not wrong)


def _attacked(run: Run, variant: str, removed: Sequence[str], threat: str) -> dict[str, str]:
    """Return the cell with the number of attacks on a design with defences removed."""
    design = (variant, tuple(removed), threat)
    found = [
        each
        for each in run.attacks
        if (each["trace"]["variant"], tuple(each["removed"]), each["threat"]["id"]) == design
    ]
    return attack_cell(len(found))


# -- attacks --------------------------------------------------------------------------------------


def attack_summary(attack: Values) -> dict[str, Any]:
    """Return an attack for the list of attacks."""
    return {**attack, "page": attack_page(attack), "happenings": sum(e["number"] is not None for e in attack["events"])}


def attack(attack: Values) -> dict[str, Any]:
    """Return an attack with its events laid out over one column per party."""
    events = sequence(attack["parties"], attack["events"])
    return {
        **attack_summary(attack),
        "events": [{**event, "href": f"#step-{event['position']}"} for event in events],
        "anchor": claim_anchor(attack["trace"]["variant"], attack["claim"]),
    }


def sequence(parties: Sequence[str], events: Sequence[Values]) -> list[dict[str, Any]]:
    """Return the events of a sequence chart with their positions, laid out over one column per party."""
    return [
        {**event, "position": position, "cells": list(_cells(parties, event))}
        for position, event in enumerate(events, 1)
    ]


def _cells(parties: Sequence[str], event: Values) -> Iterator[dict[str, Any]]:
    """Yield the cells of an event's row from left to right: an empty lane, a party's note, or an arrow over several."""
    arrow = event["arrow"]
    if event["number"] is None:
        yield {"kind": "thought", "span": len(parties)}
        return
    if arrow is None or arrow["from"] == arrow["to"]:
        place = parties.index(arrow["from"] if arrow else event["actor"])
        yield from _lanes(place)
        yield {"kind": "note", "span": 1, "text": arrow["text"] if arrow else event["action"].replace("_", " ")}
        yield from _lanes(len(parties) - place - 1)
        return
    first, last = sorted((parties.index(arrow["from"]), parties.index(arrow["to"])))
    yield from _lanes(first)
    direction = "right" if parties.index(arrow["from"]) == first else "left"
    yield {"kind": "arrow", "span": last - first + 1, "direction": direction, "text": arrow["text"]}
    yield from _lanes(len(parties) - last - 1)


def _lanes(count: int) -> Iterator[dict[str, Any]]:
    return ({"kind": "lane", "span": 1} for _ in range(count))


def without_graph(run: Run) -> list[str]:
    """Return the variants that were explored exhaustively but have too many states for a drawing."""
    drawn = {graph["variant"] for graph in run.graphs}
    visited = dict.fromkeys(row["variant"] for row in run.verdicts if row["verdict"] == "EXHAUSTED")
    return [variant for variant in visited if variant not in drawn]


# -- claims and lemmas without a proof --------------------------------------------------------------


def _statuses(run: Run, variant: str, lemma: str) -> list[str]:
    """Return the status of a lemma for each threat model, without repetition."""
    found = [each for each in run.run.get("lemmas", ()) if (each["variant"], each["name"]) == (variant, lemma)]
    return [each["status"] + (f" under {each['threat']}" if each["threat"] else "") for each in found]


def without_proof(run: Run) -> list[dict[str, Any]]:
    """Return the claims and lemmas without a proof, each with the pages of its counterexamples to induction."""
    return [
        {
            **each,
            "pages": [
                {**cti, "page": cti_page(each, cti), "lines": list(cti_lines(cti))} for cti in each["counterexamples"]
            ],
        }
        for each in unproved_invariants(run.run.get("lemmas", ()))
    ]


def cti_page(standing: Values, cti: Values) -> str:
    """Return the name of the page of a counterexample to induction."""
    return f"cti-{file_name(standing['variant'], standing['threat'] or 'any', cti['obligation'])}.html"


def ctis(run: Run) -> dict[str, dict[str, Any]]:
    """Return the content of the page of each confirmed counterexample to induction, by the page's name."""
    return {
        cti_page(each, cti): {**each, **cti, "lead": _lead(cti), "events": list(_moments(cti))}
        for each in unproved_invariants(run.run.get("lemmas", ()))
        for cti in each["counterexamples"]
        if not cti["unconfirmed"]
    }


def _lead(cti: Values) -> str:
    return UNREACHED if cti["action"] else "The interpreter judged this first state: the invariant does not hold there."


def _moments(cti: Values) -> Iterator[dict[str, Any]]:
    """Yield the state before the step, the step, its changes, and the formula that is false afterwards."""
    elements = [f"{sort}: {', '.join(names)}" for sort, names in cti["elements"].items()]
    yield {
        "title": "The state before" if cti["action"] else "The first state",
        "sentence": "All axioms hold" + (", and every claim and lemma below." if cti["holding"] else "."),
        "parts": _lists(
            {
                "Elements": elements,
                "Facts": cti["before"],
                "What never changes": cti["fixed"],
                "Not read by step or invariant": cti["beside"],
                "Claims and lemmas that hold": cti["holding"],
            }
        ),
    }
    if cti["action"]:
        args = [f"{name} = {element}" for name, element in cti["args"].items()]
        parts = _lists({cti["action"]: args or ["no arguments"]})
        yield {"title": "The step", "sentence": cti["sentence"], "parts": parts}
        changes = cti["changes"] or ["nothing"]
        yield {"title": "What it changed", "sentence": "Nothing else changed.", "parts": _lists({"Changes": changes})}
    about = [f"{name} = {element}" for name, element in cti["about"].items()]
    yield {
        "title": "What is false",
        "sentence": "The invariant does not hold any more." if cti["action"] else "The invariant does not hold.",
        "parts": _lists({"For": about, "False": cti["false"] or [cti["formula"]]}),
    }


def _lists(parts: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    return [{"title": title, "items": list(items)} for title, items in parts.items()]


# -- tables and search ----------------------------------------------------------------------------


def table(table: Values) -> dict[str, Any]:
    """Return a table of published figures, each with the reproduced one and a pair of bars."""
    return {
        "title": table.get("title") or table["table"],
        "source": table.get("source", ""),
        "remarks": table.get("remarks", ()),
        "rows": [_figure(row) for row in table["rows"]],
    }


def _figure(row: Values) -> dict[str, Any]:
    unit = "" if row.get("unit", "1") == "1" else row["unit"]
    figures = {part: row[part] for part in FIGURES}
    largest = max((abs(value) for value in figures.values() if value is not None), default=0.0) or 1.0
    error = row["relative_error"]
    return {
        "name": row["name"],
        **{part: "–" if value is None else f"{_digits(value)} {unit}".strip() for part, value in figures.items()},
        "bars": {part: 0.0 if value is None else BAR * abs(value) / largest for part, value in figures.items()},
        "error": "–" if error is None else f"{100 * error:+.1f} %",
        "role": row.get("role", ""),
        "remark": row.get("remark", ""),
    }


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.5g}"


def search_index(run: Run) -> list[dict[str, str]]:
    """Return the entries of the search index: kind, text and link of each."""
    return [*_searchable(run), *search_attacks(run.attacks)]


def _searchable(run: Run) -> Iterator[dict[str, str]]:
    for each in run.spec["variants"]:
        name = each["name"]
        for claim in each["claims"]:
            text = " ".join([claim["sentence"], claim["requirement"], claim["source"]])
            yield _entry("claim", claim["name"], name, f"index.html#{claim_anchor(name, claim['name'])}", text)
        for kind, key in (("assumption", "sentence"), ("defence", "title")):
            for thing in each[f"{kind}s"]:
                yield _entry(kind, thing["id"], name, f"index.html#{kind}-{name}-{thing['id']}", thing[key])
        for lemma in each["lemmas"]:
            yield _entry("lemma", lemma["name"], name, f"index.html#lemma-{name}-{lemma['name']}", lemma["says"])
        for threat in each["threats"]:
            yield _entry(
                "threat model", threat["id"], name, f"index.html#threat-{name}-{threat['id']}", threat["title"]
            )


def search_attacks(attacks: Sequence[Values]) -> list[dict[str, str]]:
    """Return the entries of the search index for attacks."""
    return [entry for attack in attacks for entry in _searchable_attack(attack)]


def _searchable_attack(attack: Values) -> Iterator[dict[str, str]]:
    page = attack_page(attack)
    finding, where = attack["finding"], f"{attack['trace']['variant']} under {attack['threat']['id']}"
    told = [attack["sentence"], finding["title"] if finding else "", attack["requirement"]]
    yield _entry("attack", attack["claim"], where, page, " ".join(filter(None, told)))
    if finding:
        yield _entry("finding", finding["id"], where, page, f"{finding['title']}: {attack['claim']} is violated")
    for position, event in enumerate(attack["events"], 1):
        text = " ".join([event["sentence"], *event["enforces"]])
        yield _entry("step", event["action"], where, f"{page}#step-{position}", text)


def _entry(kind: str, name: str, where: str, url: str, text: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "where": where, "url": url, "text": text}


# --------------------------------------------------------------------------------------------------
# Heat maps: how many claims are violated in each design under each threat model, as plain values for one template.
#
# A cell has the number as text; the colour adds no information.

NOT_MADE = "–"
OPEN = "?"
STEPS = (1, 3, 6, 10)  #: The numbers of violated claims at which the colour of a cell changes.


def cell(fallen: int, made: int, *, decided: bool = True, expected: bool = True) -> dict[str, str]:
    """Return one cell.

    Args:
        fallen: how many claims are known to be violated.
        made: how many claims are made there; if there are none, the cell says so.
        decided: whether it is established that no others are violated; otherwise the cell does not show a zero.
        expected: whether the violations were expected.
    """
    if not made:
        return {"text": NOT_MADE, "class": "none", "words": "no claim is made there"}
    if fallen:
        verb = f"{'is' if fallen == 1 else 'are'} {'' if decided else 'known to be '}violated"
        mark, told = ("", "") if expected else ("!", ", not as expected")
        words = f"of {plural(made, 'claim')} {verb}{told}"
        return {"text": f"{fallen}{mark}", "class": _level(fallen), "words": words}
    if not decided:
        words = f"of {plural(made, 'claim')} none is known to be violated, and not all are decided"
        return {"text": OPEN, "class": "open", "words": words}
    return {"text": "0", "class": "stands", "words": f"of {plural(made, 'claim')} are violated"}


def attack_cell(fallen: int) -> dict[str, str]:
    """Return a cell for a design of which only attacks are known; without an attack it is empty."""
    if not fallen:
        return {"text": NOT_MADE, "class": "none", "words": "no attack was looked for, or none was found"}
    return {
        "text": f"{fallen}",
        "class": _level(fallen),
        "words": f"attacked {'claim is' if fallen == 1 else 'claims are'} violated",
    }


def row(name: str, href: str, cells: Iterable[Values], note: str = "") -> dict[str, Any]:
    """Return a row: a design, a link to its details, and its cells from left to right."""
    return {"name": name, "href": href, "note": note, "cells": list(cells)}


def heat_map(caption: str, corner: str, columns: Sequence[str], rows: Iterable[Values]) -> dict[str, Any]:
    """Return a heat map; ``corner`` is the heading of the row names, and each row has one cell for each column."""
    listed = list(rows)
    if strange := [each["name"] for each in listed if len(each["cells"]) != len(columns)]:
        raise ValueError(f"{strange[0]} has another number of cells than there are columns")
    return {"caption": caption, "corner": corner, "columns": list(columns), "rows": listed}


def _level(fallen: int) -> str:
    return f"fallen-{sum(fallen >= least for least in STEPS)}"
