"""One page for each protocol: what is claimed, against whom, whether it holds, and what has to be believed.

It is made from the specification and from a recorded run, and everything that it names stands there in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from carnet_check.commands.screen import MARKS
from carnet_check.results import STRENGTH, Verdict
from carnet_spec.language import Family

from .claim_pages import claims_of
from .markdown import Lines, code, label, page, prose, table
from .verdicts import freshness

Row = Mapping[str, Any]
PAGE = "claimed.md"
"""Below the folder of a protocol."""
NOT_CLAIMED = "–"
SIMULATED = "Verdicts rest on the text alone. Runs of the reference implementation have real cryptography"
FEW = 4
"""The most claims that are named beside an assumption."""


def claimed(family: Family, run: Mapping[str, Any] | None) -> str:
    """Return the page; ``run`` is what ``carnet verify`` found, as it is recorded, if it is."""
    rows = [row for row in (run or {}).get("results", ()) if row["protocol"] == family.id]
    designs = family.with_layers(family.main)
    return page(
        f"({label(family.id, 'claimed')})=",
        f"# What is claimed of {prose(family.title.partition(':')[0])}, and what holds",
        _counts(family, run, rows),
        ["## Claims", ""],
        _legend(rows),
        _claims(family, rows),
        _threats(family),
        _ends(family, rows),
        _lemma_claims(family, rows),
        _falls(family, rows),
        _assumed(family, rows),
        _simulated(family, designs),
    )


def _counts(family: Family, run: Mapping[str, Any] | None, rows: Sequence[Row]) -> Lines:
    if run is None or not rows:
        yield from (
            "No run is recorded, so nothing is said to hold.",
            "",
            "```sh",
            f"carnet verify {family.id}",
            "```",
            "",
        )
        return
    counts = ", ".join(f"{count} {code(word)}" for word, count in run["summary"]["by_verdict"].items())
    whether = (
        "Every verdict is as expected" if run["summary"]["as_expected"] else "**Not every verdict is as expected**"
    )
    yield from (f"{whether}: {counts}. The command that found them:", "", "```sh", run["run"]["rerun"], "```", "")
    then = run["run"]["spec_digests"]
    now = {name: family.digest(name) for name in family.with_layers(family.main)}
    stale = [name for name in now if then.get(name) != now[name]]
    for name in stale:
        yield from (freshness(then.get(name), now[name]), "")
    if not stale:
        yield from ("The run is about the current specification.", "")


def _legend(rows: Sequence[Row]) -> Lines:
    used = {Verdict(row["verdict"]) for row in rows}
    words = {
        Verdict.PROVED: "proved for any number of everything",
        Verdict.EXHAUSTED: "holds in every state of the explored instances",
        Verdict.VIOLATED: "falls; as expected, unless it says otherwise",
    }
    said = [f"{mark} {words.get(verdict, meaning)}" for verdict, (mark, meaning) in MARKS.items() if verdict in used]
    yield from (" · ".join([*said, f"{NOT_CLAIMED} not claimed"]) + ".", "")


def _claims(family: Family, rows: Sequence[Row]) -> Lines:
    """Yield a table for each main design with its layers; designs with equal verdicts share one."""
    shared: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for base in family.main:
        shared.setdefault(tuple(_cells(family, base, rows)), []).append(base)
    for cells, bases in shared.items():
        for base in bases if len(family.variants) > 1 else ():
            variant = family.variants[base]
            needs = f", {prose(variant.label)}" if variant.label else ""
            yield from (f"* **{prose(base)}**{needs}: {prose(variant.title)}",)
        yield ""
        yield from table(["claim", *(threat.id for threat in family.protocol(bases[0]).threats)], cells)


def _cells(family: Family, base: str, rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    designs, known = set(family.with_layers((base,))), claims_of(family)
    mine = [row for row in rows if row["variant"] in designs and row.get("kind", "claim") == "claim"]
    names = [name for name in dict.fromkeys(row["claim"] for row in mine) if name in known]
    mine.sort(key=lambda row: -STRENGTH.get(row["verdict"], 0))
    for name in names:
        at = (
            [row for row in mine if (row["claim"], row["threat"]) == (name, threat.id)]
            for threat in family.protocol(base).threats
        )
        told = f"{prose(known[name].sentence)} ({{ref}}`{name} <{label(family.id, 'claim-page', name)}>`)"
        yield (told, *("".join(map(_mark, found)) or NOT_CLAIMED for found in at))


def _mark(row: Row) -> str:
    verdict, expected = Verdict(row["verdict"]), Verdict(row["expected"])
    fits = verdict is expected or STRENGTH.get(verdict, 0) >= STRENGTH.get(expected, len(STRENGTH) + 1)
    return MARKS[verdict][0] + ("" if fits else f" (**not as expected**: {verdict})")


def _ends(family: Family, rows: Sequence[Row]) -> Lines:
    """Say what happens in the end, and by whose fairness."""
    lively = [row for row in rows if row.get("kind") == "liveness"]
    if lively:
        yield from ("## What happens in the end", "")
    said = {(row["claim"], row["verdict"], row["detail"]): None for row in lively}
    sentences = {live.name: live.sentence for name in family.main for live in family.drafted(name).whole().liveness}
    distinct = {claim: verdict for claim, verdict, _ in said}
    yield from table(
        ["in the end", "verdict"],
        ([prose(sentences.get(claim, claim)), prose(verdict)] for claim, verdict in distinct.items()),
    )


def _lemma_claims(family: Family, rows: Sequence[Row]) -> Lines:
    found = [row for row in rows if row.get("kind") == "lemma-claim"]
    known = {claim.name: claim for name in family.main for claim in family.protocol(name).lemma_claims}
    if found:
        yield from ("## Claims that speak of no step", "")
    said: dict[str, list[str]] = {}
    for row in found:
        said.setdefault(row["claim"], []).append(f"{row['verdict']} by {row['engine']}: {row['detail']}")
    yield from table(
        ["claim", "what each means found"],
        ([prose(known[name].sentence), "<br>".join(map(prose, dict.fromkeys(each)))] for name, each in said.items()),
    )


def _falls(family: Family, rows: Sequence[Row]) -> Lines:
    """Say what falls in the main designs, and which attacks are known on other ones."""
    fallen = [row for row in rows if row["verdict"] == "VIOLATED"]
    known = claims_of(family)
    if fallen:
        yield from ("## What falls", "", "Nobody claims this; the run shows the attack.", "")
    found: dict[str, list[str]] = {}
    for row in fallen:
        threats = found.setdefault(row["claim"], [])
        threats += [row["threat"]] if row["threat"] not in threats else []
    yield from table(
        ["what is not kept", "under"],
        (
            [prose(known[claim].sentence) if claim in known else prose(claim), ", ".join(map(prose, threats))]
            for claim, threats in found.items()
        ),
    )
    if family.findings:
        known_attacks = f"{{ref}}`{len(family.findings)} attacks are known <{label(family.id)}>`"
        yield from (f"Of designs that lack something, {known_attacks}.", "")


def _threats(family: Family) -> Lines:
    threats = family.protocol().threats
    if threats:
        yield from ("## Against whom", "")
    yield from table(["threat model", "who may do what"], ([prose(each.id), prose(each.title)] for each in threats))


def _assumed(family: Family, rows: Sequence[Row]) -> Lines:
    proofs: dict[str, set[str]] = {}
    for row in (row for row in rows if row["verdict"] == "PROVED"):
        proofs.setdefault(row["claim"], set()).update(row["assumptions"])
    ids = {id for row in rows if row["verdict"] in STRENGTH for id in row.get("assumptions", ())}
    written = family.text.requirements()
    used = sorted((id for id in ids if id in written), key=lambda id: (len(id), id))
    if used:
        yield from ("## What has to be believed", "")

    def by(id: str) -> str:
        having = [claim for claim, assumed in proofs.items() if id in assumed]
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

    yield from table(
        ["assumption", "in words", "used by"],
        ([f"{prose(id)} {prose(written[id].short)}", prose(written[id].sentence), by(id)] for id in used),
    )


def _simulated(family: Family, designs: Iterable[str]) -> Lines:
    """Say what the designs ask of parts that nobody here makes: runs of the reference simulate those."""
    needed = [each for each in family.services if each.needed_by & set(designs)]
    yield from (
        "## What is simulated",
        "",
        f"{SIMULATED}, and simulated hardware{' with these services' if needed else ''}.",
        "",
    )
    yield from table(
        ["service", "what is publicly known of it"], ([prose(s.title), prose(s.available)] for s in needed)
    )
