"""The page "What is claimed, and what holds" of a protocol, as plain values for the report and the documentation.

The words come from the specification and are kept with a run; the verdicts are those of the run. The documentation and
the report show the same values, each in its own markup.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from carnet_check.results import MARKS, STRENGTH, Verdict
from carnet_spec.language import Family, Protocol
from carnet_spec.language.printing import show_axiom
from carnet_spec.language.requirements import first_clause
from carnet_spec.protocols.registry import OWN

Values = Mapping[str, Any]
NOT_CLAIMED = "–"
#: What the legend says of the mark of a verdict.
MEANINGS: Mapping[Verdict, str] = {
    Verdict.PROVED: "proved for any number of everything",
    Verdict.EXHAUSTED: "holds in every state of the explored instances",
    Verdict.HOLDS_TO: "holds up to a bound on the adversary's moves",
    Verdict.SAMPLED: "not violated in random walks",
    Verdict.VIOLATED: "violated (as expected, unless marked)",
    Verdict.UNKNOWN: "unknown",
    Verdict.VACUOUS: "vacuous",
    Verdict.ERROR: "error",
}
FEW = 4  #: The most claims that are named beside an assumption.


# -- the words, which a run keeps -----------------------------------------------------------------


def words_of(family: Family, variants: Sequence[str]) -> dict[str, Any]:
    """Return the words of the page for some variants of a family, as JSON values; the verdicts are not among them."""
    built = {name: family.protocol(name) for name in variants}
    drafts = [family.draft_of(name).whole() for name in variants]
    bases = [name for name in variants if family.variants[name].over not in variants]
    return {
        "designs": [_design(family, built[name], [*family.with_layers([name])]) for name in bases],
        "claims": _sentences(claim for draft in drafts for claim in draft.claims),
        "liveness": _sentences(live for draft in drafts for live in draft.liveness),
        "lemma_claims": _sentences(claim for draft in drafts for claim in draft.lemma_claims),
        "assumptions": [*_assumptions(family, [*built.values()])],
        "services": [
            {"title": each.title, "available": each.available}
            for each in family.services
            if each.needed_by & {*variants}
        ],
        "findings": len(family.findings),
        "carried_out": family.id in OWN,
    }


def _design(family: Family, protocol: Protocol, layers: list[str]) -> dict[str, Any]:
    variant = family.variants[protocol.variant]
    return {
        "name": variant.name,
        "title": variant.title,
        "label": variant.label,
        "layers": layers,
        "threats": [{"id": threat.id, "title": threat.title} for threat in protocol.threats],
    }


def _sentences(named: Iterator[Any]) -> dict[str, str]:
    """Return sentences by name, as the first that has a name says it."""
    found: dict[str, str] = {}
    for each in named:
        found.setdefault(each.name, each.sentence)
    return found


def _assumptions(family: Family, protocols: Sequence[Protocol]) -> Iterator[dict[str, str]]:
    """Yield what verdicts may rest on: assumptions with their titles, and axioms that cite none."""
    written = family.text.requirements()
    stated = {each.id: each.sentence for protocol in protocols for each in protocol.assumptions}
    for id, sentence in stated.items():
        short = written[id].short if id in written else first_clause(sentence)
        yield {"id": id, "short": short, "sentence": written[id].sentence if id in written else sentence}
    axioms = [axiom for protocol in protocols for axiom in protocol.axioms if not axiom.assumption]
    for name, sentence in {axiom.states: axiom.says or show_axiom(axiom) for axiom in axioms}.items():
        yield {"id": name, "short": "", "sentence": sentence}


# -- the page: the words with the verdicts of a run -----------------------------------------------


class Claimed(NamedTuple):
    """A claim in words, the variant in which it is checked, and under each threat model a mark per verdict."""

    name: str
    variant: str
    sentence: str
    cells: tuple[tuple[str, ...], ...]


class ClaimTable(NamedTuple):
    """The table of the claims of designs that have equal verdicts."""

    designs: list[Values]
    threats: Sequence[str]
    claims: Sequence[Claimed]


class Assumed(NamedTuple):
    """An assumption with its title and sentence, and the words for the verdicts that rest on it."""

    id: str
    short: str
    sentence: str
    used_by: str


def legend(rows: Sequence[Values]) -> str:
    """Return the meaning of the marks that occur in ``rows``."""
    used = {Verdict(row["verdict"]) for row in rows}
    said = [f"{MARKS[verdict]} {meaning}" for verdict, meaning in MEANINGS.items() if verdict in used]
    return " · ".join([*said, f"{NOT_CLAIMED} not claimed"]) + "."


def claim_tables(words: Values, rows: Sequence[Values]) -> list[ClaimTable]:
    """Return a table for each design with its layers; designs with equal verdicts share one."""
    found: dict[object, ClaimTable] = {}
    for design in words["designs"]:
        threats, claims = [threat["id"] for threat in design["threats"]], [*_claims(words, design, rows)]
        verdicts = (*threats, *((claim.name, claim.cells) for claim in claims))
        table = found.setdefault(verdicts, ClaimTable([], threats, claims))
        table.designs.append(design)
    return [*found.values()]


def _claims(words: Values, design: Values, rows: Sequence[Values]) -> Iterator[Claimed]:
    mine = [row for row in rows if row["variant"] in design["layers"] and row.get("kind", "claim") == "claim"]
    names = [name for name in dict.fromkeys(row["claim"] for row in mine) if name in words["claims"]]
    mine.sort(key=lambda row: -STRENGTH.get(row["verdict"], 0))
    for name in names:
        about = [row for row in mine if row["claim"] == name]
        cells = (tuple(_mark(row) for row in about if row["threat"] == each["id"]) for each in design["threats"])
        yield Claimed(name, about[0]["variant"], words["claims"][name], tuple(cells))


def _mark(row: Values) -> str:
    verdict, expected = Verdict(row["verdict"]), Verdict(row["expected"])
    fits = verdict is expected or STRENGTH.get(verdict, 0) >= STRENGTH.get(expected, len(STRENGTH) + 1)
    return MARKS[verdict] if fits else f"{MARKS[verdict]} (not as expected: {verdict})"


def threats_of(words: Values) -> dict[str, str]:
    """Return the threat models of all designs, each with who may do what."""
    return {threat["id"]: threat["title"] for design in words["designs"] for threat in design["threats"]}


def liveness_verdicts(words: Values, rows: Sequence[Values]) -> list[tuple[str, str]]:
    """Return each liveness property as a sentence, with its verdict."""
    lively = [row for row in rows if row.get("kind") == "liveness"]
    found = dict.fromkeys((row["claim"], str(row["verdict"])) for row in lively)
    return [(words["liveness"].get(claim, claim), verdict) for claim, verdict in found]


def lemma_claim_verdicts(words: Values, rows: Sequence[Values]) -> list[tuple[str, list[str]]]:
    """Return each lemma claim as a sentence, with the verdict and detail of each engine."""
    found: dict[str, dict[str, None]] = {}
    for row in (row for row in rows if row.get("kind") == "lemma-claim"):
        found.setdefault(row["claim"], {})[f"{row['verdict']} by {row['engine']}: {row['detail']}"] = None
    return [(words["lemma_claims"].get(claim, claim), [*said]) for claim, said in found.items()]


def violated_claims(words: Values, rows: Sequence[Values]) -> list[tuple[str, list[str]]]:
    """Return each violated claim as a sentence, with the threat models under which it is violated."""
    found: dict[str, dict[str, None]] = {}
    for row in (row for row in rows if row["verdict"] == "VIOLATED"):
        found.setdefault(row["claim"], {})[row["threat"]] = None
    sentences = {**words["lemma_claims"], **words["liveness"], **words["claims"]}
    return [(sentences.get(claim, claim), [*threats]) for claim, threats in found.items()]


def assumptions_of(words: Values, rows: Sequence[Values]) -> list[Assumed]:
    """Return the assumptions that the verdicts rest on, numbered ones first."""
    proofs: dict[str, set[str]] = {}
    for row in (row for row in rows if row["verdict"] == "PROVED"):
        proofs.setdefault(row["claim"], set()).update(row["assumptions"])
    used = {id for row in rows if row["verdict"] in STRENGTH for id in row.get("assumptions", ())}
    known = {each["id"]: each for each in words["assumptions"]}
    unknown = ({"id": id, "short": "", "sentence": ""} for id in used - known.keys())
    every = sorted((*(known[id] for id in used & known.keys()), *unknown), key=_assumption_order)
    return [Assumed(each["id"], each["short"], each["sentence"], _used_by(each["id"], proofs)) for each in every]


def _assumption_order(assumption: Values) -> tuple[bool, int, str]:
    """Put numbered assumptions first, in the order of their numbers."""
    return not assumption["short"], len(assumption["id"]), assumption["id"]


def _used_by(id: str, proofs: Mapping[str, set[str]]) -> str:
    having = [claim for claim, used in proofs.items() if id in used]
    lacking = [claim for claim in proofs if claim not in having]
    if not having:
        return "exploration alone"
    if not lacking:
        return "every proof"
    if len(having) <= FEW:
        return f"the proof of {', '.join(having)}"
    return (
        f"every proof but that of {', '.join(lacking)}"
        if len(lacking) <= FEW
        else f"{len(having)} of {len(proofs)} proofs"
    )


def simulation_sentence(words: Values) -> str:
    """Return the sentence about what runs of the reference implementation simulate."""
    if not words["carried_out"]:
        return "Verdicts rest on the text of the specification alone: nothing was carried out."
    services = " with these services" if words["services"] else ""
    return (
        "Verdicts rest on the text of the specification alone. Runs of the reference implementation have real "
        f"cryptography, and simulated hardware{services}."
    )
