"""The page of recorded verdicts: each ``results/*.json`` is what a ``carnet verify --json`` printed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from carnet_spec.language import Family, SpecificationError

from .markdown import Lines, code, page, prose, table


def verdicts(families: Sequence[Family], results: Mapping[str, Any]) -> str:
    """Return the page of what long runs found, with what is stale marked as such."""
    if not results:
        return page("# Verdicts", "No long run is recorded. `carnet verify` establishes the verdicts.")
    by_id = {family.id: family for family in families}

    def current(protocol: str, variant: str) -> str | None:
        family = by_id.get(protocol)
        return family.digest(variant) if family and variant in family.variants else None

    explained = (
        "What `carnet verify` found of each protocol in a recorded run: the verdict and the engine, for each claim and "
        "each threat model, and the assumptions that the claim rests on. `PROVED` is for any number of everything. "
        "`EXHAUSTED(n)` is for the n reachable states, or cases, of a stated instance. `VIOLATED` is by an attack that "
        "the interpreter replayed. A verdict is stale if the specification has changed since its run."
    )
    runs = (line for name, run in results.items() for line in _run(name, run, current))
    return page("# Verdicts", explained, runs)


def _run(name: str, run: Any, current: Callable[[str, str], str | None]) -> Lines:
    try:
        rows = [row for row in run["results"] if row.get("kind", "claim") in ("claim", "lemma-claim", "liveness")]
        command, digests = run["run"]["rerun"], run["run"]["spec_digests"]
        cases = dict.fromkeys((row["protocol"], row["variant"]) for row in rows)
    except (KeyError, TypeError) as missing:
        raise SpecificationError(f"results/{name}.json is not what `carnet verify --json` prints: {missing}") from None
    yield from (f"## {prose(name)}", "", "```sh", command, "```", "")
    for protocol, variant in cases:
        yield from (
            f"### {protocol}, {variant}",
            "",
            freshness(digests.get(variant), current(protocol, variant)),
            "",
        )
        mine = [row for row in rows if (row["protocol"], row["variant"]) == (protocol, variant)]
        yield from _matrix([row for row in mine if row.get("kind", "claim") == "claim"])
        yield from _one_by_one("lemma claim", [row for row in mine if row.get("kind") == "lemma-claim"])
        yield from _one_by_one("liveness", [row for row in mine if row.get("kind") == "liveness"])
    declared = run.get("summary", {}).get("declared", [])
    if declared:
        yield from (f"Declared, not yet provable: {', '.join(code(claim) for claim in declared)}.", "")


def freshness(then: str | None, now: str | None) -> str:
    """Say whether a run about digest ``then`` is about the specification whose digest is ``now``."""
    if now is None:
        return ":::{warning}\nStale: the specification no longer has this protocol or variant.\n:::"
    if then != now:
        was = f"`{then[:12]}`" if then else "unknown"
        return f":::{{warning}}\nStale: the run was about digest {was}; the specification now has `{now[:12]}`.\n:::"
    return f"About the current specification, digest `{now[:12]}`."


def _matrix(rows: Sequence[Mapping[str, Any]]) -> Lines:
    threats = list(dict.fromkeys(row["threat"] for row in rows))
    claims = list(dict.fromkeys(row["claim"] for row in rows))

    def cell(claim: str, threat: str) -> str:
        found = [row for row in rows if (row["claim"], row["threat"]) == (claim, threat)]
        return "<br>".join(_verdict(row) for row in found)

    def taken_for_granted(claim: str) -> str:
        names = (id for row in rows if row["claim"] == claim for id in row.get("assumptions", ()))
        return ", ".join(sorted(set(names), key=lambda id: (len(id), id)))

    yield from table(
        ["claim", *threats, "assumptions"],
        ([code(claim), *(cell(claim, threat) for threat in threats), taken_for_granted(claim)] for claim in claims),
    )


def _one_by_one(kind: str, rows: Sequence[Mapping[str, Any]]) -> Lines:
    """Yield the verdicts on claims of one kind, and how each was established."""
    yield from table(
        [kind, "threat model", "verdict", "how"],
        ([code(row["claim"]), row["threat"], _verdict(row), prose(row["detail"])] for row in rows),
    )


def _verdict(row: Mapping[str, Any]) -> str:
    bound = f"({row['bound']:,})" if row.get("bound") is not None else ""
    told = f"{row['verdict']}{bound}, {row['engine']}"
    if row["verdict"] == row["expected"]:
        return told + (", as expected" if row["verdict"] == "VIOLATED" else "")
    return f"**{told}, expected {row['expected']}**"
