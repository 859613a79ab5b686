"""What the proof of each claim was not found without, and what becomes of the claims if an assumption falls."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from carnet_check.engines.induction.solving import Workers
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.loading.families import Source, load
from carnet_spec.language import Family, Protocol

from . import minimal
from .dropped_assumptions import CAPS, falls_without
from .markdown import code, page, prose, table

RECORDS = Path(__file__).parents[3] / "docs" / "results" / "accounts"

Values = Mapping[str, Any]


def record(family: Family) -> dict[str, Any]:
    """Return the account of every claim of the first main variant and the layers over it."""
    source = load(family.id)
    names = family.with_layers(family.main[:1])
    with Workers(2) as workers:
        made = {name: _variant(source, source.protocol(name), workers) for name in names}
    return {"budget": minimal.BUDGET, "states": CAPS.states, "variants": made}


def _variant(source: Source, protocol: Protocol, workers: Workers) -> dict[str, Any]:
    wanted = minimal.claims_of_layers(protocol, source.family.default_threat)
    threats = [threat for threat in protocol.threats if threat.id in wanted]
    found: list[minimal.Minimal] = []
    solver = ""
    for account in minimal.accounts(protocol, threats, workers):
        layer = account.proof.threat.id if account.proof.threat else ""
        found += minimal.minimal_sets(account, wanted.get(layer, ()))
        solver = account.proof.solver
    falls = list(_falls(source, protocol, found))
    return {
        "digest": protocol.digest,
        "solver": solver,
        "claims": [_claim(each) for each in found],
        "falls": falls,
    }


def _claim(found: minimal.Minimal) -> dict[str, Any]:
    return {
        "claim": found.claim,
        "layer": found.layer,
        "assumptions": [each.name for each in found.needed if each.kind == minimal.ASSUMPTION],
        "defences": [each.name for each in found.needed if each.kind == minimal.DEFENCE],
        "unsure": [each.name for each in found.unsure],
        "only": found.only,
    }


def _falls(source: Source, protocol: Protocol, found: Sequence[minimal.Minimal]) -> Iterator[dict[str, Any]]:
    """Yield what becomes of each claim that has no proof without an assumption, attacks first."""
    for assumption in dict.fromkeys(axiom.states for axiom in protocol.axioms):
        element = minimal.Element(minimal.ASSUMPTION, assumption)
        lost = {each.claim: each for each in found if element in each.necessary}
        explorer = able(Explores)
        attacks = {each.claim: each for each in falls_without(explorer, source, protocol, assumption, list(lost))}
        for claim, each in lost.items():
            attack = attacks.get(claim)
            yield {
                "assumption": assumption,
                "claim": claim,
                "unsure": element in each.unsure,
                "attack": attack and {"threat": attack.threat, "changed": attack.changed, "steps": attack.steps},
            }


def recorded(id: str) -> Any:
    """Return the record of a protocol, or nothing."""
    path = RECORDS / f"{id}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


# -- the page ---------------------------------------------------------------------------------------


def accounts_page(families: Sequence[Family], attacks: Sequence[Values] = ()) -> str:
    """Return the page: for each claim what its proof needs, and for each assumption what becomes of the claims.

    ``attacks`` are the recorded hunts, by which it is known that a claim falls without a defence.
    """
    parts: list[str | Iterable[str]] = ["# What each proof needs", _ABOUT, _MINIMAL]
    for family in families:
        kept = recorded(family.id)
        for name, variant in kept["variants"].items() if kept else ():
            known = {(run["claim"], *run["removed"]) for run in attacks if _is_of(run, family, name)}
            now = family.digest(name)
            then = code(variant["digest"][:16])
            fresh = f"Specification {then}" if now == variant["digest"] else f"**Stale**: this was recorded of {then}"
            budget = f"{kept['budget']:,} solver units per obligation, {kept['states']:,} states to an instance"
            again = "`python -m docs._ext.carnet_pages.records make accounts` records it again."
            parts += [f"## {prose(family.title)}: {code(name)}", f"{fresh}; {variant['solver']}; {budget}. {again}"]
            parts += [table(_CLAIMS, [_needs(each, variant, known) for each in variant["claims"]])]
            parts += [_certainty(variant, known)]
            parts += [f"### If an assumption falls: {code(name)}", _FALLS, table(_OUTCOMES, [*_fallen(variant)])]
    return page(*parts)


_ABOUT = (
    "Every verdict lists the assumptions and defences that its proof used. Here is, for each claim, a set from which "
    "it was proved, and from which nothing could be left out: no proof was found without any one element. That there "
    "is none is more, and only what is in bold is known to be needed. Without an assumption its axioms may be false; "
    "without a defence its guards may be passed although they do not hold, and its updates may take place or not. "
    "What an assumption that is built into "
    "every step says beside its axioms is part of every proof, and is not listed. An axiom that names no "
    "assumption is listed by its own name. A defence that only keeps steps out of the design is in no proof: what "
    "follows without it is on the page of attacks."
)
_MINIMAL = (
    "*Minimal* means: the claim was proved again from this set alone, and was not when any one element was left out "
    "as well, with the lemmas of the specification and the budget below. Where there is no *?*, the solver found "
    "a counterexample to induction. A *?* marks an element without which it gave no answer: it counts as needed "
    "and may be redundant. Elements in bold are known to matter, "
    "because an attack on the claim was found without them. *one of several* means that another minimal set may "
    "exist."
)
_FALLS = (
    "*Falls* is established by an attack in an instance of which this assumption is false and all others are "
    "true; the interpreter replayed it. *Proof lost* establishes less: no proof was found without the assumption, "
    "and no attack in the small instances that were searched. A *?* means the same as above."
)
_CLAIMS = ("claim", "under", "assumptions", "defences", "set")
_OUTCOMES = ("assumption", "falls", "proof lost")


def _is_of(run: Values, family: Family, variant: str) -> bool:
    removed = len(run["removed"]) == 1 and run["verdict"] == "VIOLATED"
    return removed and (run["protocol"], run["variant"]) == (family.id, variant)


def _certainty(variant: Values, known: Collection[tuple[str, ...]]) -> str:
    """Say how many elements of all sets are known to be needed, and of how many the solver gave no answer."""
    attacked = _attacked(variant, known)
    pairs = [
        (each["claim"], name, name in each["unsure"])
        for each in variant["claims"]
        for name in (*each["assumptions"], *each["defences"])
    ]
    bold = sum((claim, name) in attacked for claim, name, _ in pairs)
    unsure = sum(unsure and (claim, name) not in attacked for claim, name, unsure in pairs)
    return f"Of {len(pairs):,} elements in these sets an attack shows {bold:,} to be needed; {unsure:,} have a *?*."


def _attacked(variant: Values, known: Collection[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the pairs of a claim and an element without which an attack on it was found."""
    return {(fall["claim"], fall["assumption"]) for fall in variant["falls"] if fall["attack"]} | {*known}


def _needs(each: Values, variant: Values, known: Collection[tuple[str, ...]]) -> list[str]:
    """Return a row: the claim, where it is made, and its set."""
    claim = each["claim"]
    attacked = _attacked(variant, known)

    def named(name: str) -> str:
        if (claim, name) in attacked:
            return f"**{prose(name)}**"
        return prose(name) + ("?" if name in each["unsure"] else "")

    lists = (", ".join(map(named, each[kind])) or "none" for kind in ("assumptions", "defences"))
    under = prose(each["layer"]) if each["layer"] else "every threat model"
    only = "the only one found" if each["unsure"] else "the only one"
    return [code(claim), under, *lists, only if each["only"] else "one of several"]


def _fallen(variant: Values) -> Iterator[list[str]]:
    """Yield a row for each assumption that some claim needs."""
    for assumption in dict.fromkeys(fall["assumption"] for fall in variant["falls"]):
        mine = [fall for fall in variant["falls"] if fall["assumption"] == assumption]
        attacked = (f"{code(fall['claim'])} ({_attack(fall['attack'])})" for fall in mine if fall["attack"])
        lost = (code(fall["claim"]) + ("?" if fall["unsure"] else "") for fall in mine if not fall["attack"])
        yield [prose(assumption), "<br>".join(attacked), ", ".join(lost)]


def _attack(attack: Values) -> str:
    return f"{attack['steps']} steps under {prose(attack['threat'])}: {prose(attack['changed'])}"
