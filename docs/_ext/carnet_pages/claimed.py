"""One page for each protocol: what is claimed, against whom, whether it holds, and what has to be believed.

It is made from the specification and from a recorded run, as the first page of the report is, and everything that it
names stands there in words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from carnet_check.report import claimed as shared
from carnet_check.report.claimed import NOT_CLAIMED
from carnet_spec.language import Family

from .markdown import Lines, code, label, page, prose, table
from .verdicts import freshness

Row = Mapping[str, Any]
PAGE = "claimed.md"  #: Below the folder of a protocol.


def claimed(family: Family, run: Mapping[str, Any] | None) -> str:
    """Return the page; ``run`` is what ``carnet verify`` found, as it is recorded, if it is."""
    rows = [row for row in (run or {}).get("results", ()) if row["protocol"] == family.id]
    words = shared.words_of(family, family.with_layers(family.main))
    return page(
        f"({label(family.id, 'claimed')})=",
        f"# What is claimed of {prose(family.title.partition(':')[0])}, and what holds",
        _counts(family, run, rows),
        ["## Claims", ""],
        [shared.legend(rows), ""],
        _claims(family, words, rows),
        _section(
            "Against whom",
            ["threat model", "who may do what"],
            ([prose(id), prose(title)] for id, title in shared.threats_of(words).items()),
        ),
        _section(
            "What eventually happens",
            ["in the end", "verdict"],
            ([prose(sentence), prose(verdict)] for sentence, verdict in shared.liveness_verdicts(words, rows)),
        ),
        _section(
            "Lemma claims, which are not about steps",
            ["claim", "what each engine found"],
            (
                [prose(sentence), "<br>".join(map(prose, said))]
                for sentence, said in shared.lemma_claim_verdicts(words, rows)
            ),
        ),
        _violated(family, words, rows),
        _section(
            "What has to be believed",
            ["assumption", "in words", "used by"],
            (
                [prose(f"{each.id} {each.short}").strip(), prose(each.sentence), prose(each.used_by)]
                for each in shared.assumptions_of(words, rows)
            ),
        ),
        ["## What is simulated", "", prose(shared.simulation_sentence(words)), ""],
        table(
            ["service", "what is publicly known of it"],
            ([prose(each["title"]), prose(each["available"])] for each in words["services"]),
        ),
    )


def _section(heading: str, head: Sequence[str], rows: Any) -> Lines:
    """Yield a heading and a table, or nothing where the table has no rows."""
    lines = list(table(head, rows))
    if lines:
        yield from (f"## {heading}", "", *lines)


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


def _claims(family: Family, words: Row, rows: Sequence[Row]) -> Lines:
    for each in shared.claim_tables(words, rows):
        for design in each.designs if len(family.variants) > 1 else ():
            needs = f", {prose(design['label'])}" if design["label"] else ""
            yield f"* **{prose(design['name'])}**{needs}: {prose(design['title'])}"
        yield ""
        yield from table(["claim", *each.threats], (_claim(family, claim) for claim in each.claims))


def _claim(family: Family, claim: shared.Claimed) -> list[str]:
    details = f"({{ref}}`{claim.name} <{label(family.id, 'claim-page', claim.name)}>`)"
    cells = ("".join(map(_mark, cell)) or NOT_CLAIMED for cell in claim.cells)
    return [f"{prose(claim.sentence)} {details}", *cells]


def _mark(mark: str) -> str:
    return mark.replace("not as expected", "**not as expected**")


def _violated(family: Family, words: Row, rows: Sequence[Row]) -> Lines:
    """Say what is violated in the main designs, and which attacks are known on other ones."""
    found = shared.violated_claims(words, rows)
    if found or family.findings:
        yield from ("## What is violated", "")
    if found:
        yield from ("The run found an attack on each of these.", "")
    yield from table(["claim", "under"], ([prose(claim), prose(", ".join(threats))] for claim, threats in found))
    if family.findings:
        known_attacks = f"{{ref}}`{len(family.findings)} attacks are known <{label(family.id)}>`"
        yield from (f"Of designs that lack something, {known_attacks}.", "")
