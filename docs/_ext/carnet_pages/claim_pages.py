"""A page for each claim: what it says, what was established of it, what the proof rests on, and what makes it fall."""

from collections.abc import Mapping, Sequence
from typing import Any

from carnet_spec.language import Claim, Family

from .markdown import Lines, code, formula, label, page, prose, table
from .verdicts import freshness

Row = Mapping[str, Any]
FOLDER = "claims"  #: Below the folder of a protocol.


def claims_of(family: Family) -> dict[str, Claim]:
    """Return the claims of the main variants and their layers by name, as the first that makes one says it."""
    found: dict[str, Claim] = {}
    for name in family.with_layers(family.main):
        found = {claim.name: claim for claim in family.draft_of(name).whole().claims} | found
    return found


def claim_pages(family: Family, run: Mapping[str, Any] | None, attacks: Sequence[Row]) -> dict[str, str]:
    """Return the page of each claim by its path below the specification's folder.

    Args:
        family: the protocol.
        run: what ``carnet verify`` found, as it is recorded; without one, nothing was established.
        attacks: what became of designs without a defence, and of findings, as it is recorded.
    """
    mine = [attack for attack in attacks if attack["protocol"] == family.id and attack["verdict"] == "VIOLATED"]
    return {
        f"{family.id}/{FOLDER}/{name}.md": _page(family, claim, run, [each for each in mine if each["claim"] == name])
        for name, claim in claims_of(family).items()
    }


def _page(family: Family, claim: Claim, run: Mapping[str, Any] | None, attacks: Sequence[Row]) -> str:
    rows = [row for row in (run or {}).get("results", ()) if _is_about(row, family, claim)]
    return page(
        f"({label(family.id, 'claim-page', claim.name)})=",
        f"# {prose(claim.name)}",
        prose(claim.sentence),
        f"{{ref}}`Among all claims <{label(family.id, 'claim', claim.name)}>`. Source: {prose(claim.source)}.",
        ["## In symbols", ""],
        formula(claim.invariant.formula)
        if claim.invariant is not None
        else ["It is declared, without a formula yet.", ""],
        _established(family, claim, rows, run),
        _rests_on(family, rows),
        _falls(family, attacks),
    )


def _is_about(row: Row, family: Family, claim: Claim) -> bool:
    return (row["protocol"], row["claim"], row.get("kind", "claim")) == (family.id, claim.name, "claim")


def _established(family: Family, claim: Claim, rows: Sequence[Row], run: Mapping[str, Any] | None) -> Lines:
    yield from ("## What was established", "")
    if not rows or run is None:
        yield from ("No run is recorded.", "")
        return
    digests = run["run"]["spec_digests"]
    variants = dict.fromkeys(row["variant"] for row in rows)
    for variant in variants:
        yield from (freshness(digests.get(variant), _digest(family, variant)), "")
    threats = dict.fromkeys(row["threat"] for row in rows)
    yield from table(
        ["design", *map(prose, threats)],
        ([prose(variant), *(_cell(rows, variant, threat) for threat in threats)] for variant in variants),
    )
    main = next(iter(variants))
    yield from ("```sh", f"carnet verify {family.id} --variant {main} --claim {claim.name}", "```", "")


def _digest(family: Family, variant: str) -> str | None:
    return family.digest(variant) if variant in family.variants else None


def _cell(rows: Sequence[Row], variant: str, threat: str) -> str:
    found = [row for row in rows if (row["variant"], row["threat"]) == (variant, threat)]
    words = []
    for row in found:
        bound = "" if row["bound"] is None else f"({row['bound']:,})"
        expected = ", as expected" if row["verdict"] == "VIOLATED" == row["expected"] else ""
        words.append(f"{row['verdict']}{bound}{expected}: {row['engine']}")
    return "<br>".join(words) or "not claimed"


def _rests_on(family: Family, rows: Sequence[Row]) -> Lines:
    proofs = [row for row in rows if row["verdict"] == "PROVED"]
    if not proofs:
        return
    known = {each.id: each.sentence for each in family.protocol().assumptions}
    titles = {each.id: each.title for each in family.protocol().defences}
    yield from ("## What the proofs rest on", "")
    assumed = sorted({id for row in proofs for id in row["assumptions"]}, key=lambda id: (len(id), id))
    yield from table(["assumption", "what is assumed"], ([code(id), prose(known.get(id, ""))] for id in assumed))
    used = sorted({id for row in proofs for id in row.get("defences", ())})
    if used:
        yield from ("These defences are used by some proof that was found; another proof may need fewer:", "")
        yield from table(["defence", "what it does"], ([code(id), prose(titles.get(id, ""))] for id in used))


def _falls(family: Family, attacks: Sequence[Row]) -> Lines:
    yield from ("## What makes it fall", "")
    if not attacks:
        yield from (
            "Among the defences that were taken away one by one, and the findings, no attack breaks it first.",
            "",
        )
        return
    head = ["what was changed", "under", "the attack", "specification"]
    yield from table(head, (_attack(family, each) for each in attacks))


def _attack(family: Family, attack: Row) -> list[str]:
    removed = tuple(attack["removed"])
    changed = f"without {', '.join(map(code, removed))}" if removed else f"variant {code(attack['variant'])}"
    if attack["finding"]:
        changed += f"<br>{{ref}}`the gallery shows it <{label(family.id, attack['finding'], 'gallery')}>`"
    now = family.digest(attack["variant"], removed) if attack["variant"] in family.variants else ""
    fresh = code(attack["digest"][:12]) if now == attack["digest"] else f"**stale**: {code(attack['digest'][:12])}"
    return [changed, prose(attack["threat"]), f"{prose(attack['detail'])}<br>{code(attack['rerun'])}", fresh]
