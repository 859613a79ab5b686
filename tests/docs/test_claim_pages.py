"""Each claim has a page of its own, with every verdict on it, what proofs rest on, and every recorded attack on it."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from docs._ext.carnet_pages.claim_pages import claim_pages, claims_of
from tests.fixtures import toy
from tests.fixtures.travelling import FAMILY

RESULTS = Path(__file__).parents[2] / "docs" / "results"
RUN = json.loads((RESULTS / "gpu-travelling.json").read_text("utf-8"))
ATTACKS = json.loads((RESULTS / "attacks" / "gpu-travelling.json").read_text("utf-8"))
CLAIMS = list(dict.fromkeys(row["claim"] for row in RUN["results"] if row["kind"] == "claim"))


@functools.cache
def _pages() -> dict[str, str]:
    return claim_pages(FAMILY, RUN, ATTACKS)


def of(claim: str) -> str:
    return _pages()[f"gpu-travelling/claims/{claim}.md"]


def test_every_claim_has_a_page() -> None:
    assert sorted(CLAIMS) == sorted(claims_of(FAMILY))
    assert list(_pages()) == [f"gpu-travelling/claims/{claim}.md" for claim in claims_of(FAMILY)]


def test_every_verdict_and_every_recorded_attack_is_on_the_page_of_its_claim() -> None:
    wrong: list[str] = []
    for claim in CLAIMS:
        page, rows = of(claim), [row for row in RUN["results"] if (row["claim"], row["kind"]) == (claim, "claim")]
        told = sum(page.count(f": {engine}") for engine in {row["engine"] for row in rows})
        wrong += [f"{claim}: {told} of {len(rows)} verdicts"] * (told != len(rows) or not rows)
        assumed = {id for row in rows if row["verdict"] == "PROVED" for id in row["assumptions"]}
        wrong += [f"{claim}: {id}" for id in assumed if f"| `{id}` |" not in page]
        broken = [attack["rerun"] for attack in ATTACKS if (attack["claim"], attack["verdict"]) == (claim, "VIOLATED")]
        wrong += [f"{claim}: attacks"] * (page.count("`carnet attack ") != len(broken))
        wrong += [f"{claim}: {command}" for command in broken if f"`{command}`" not in page]
    assert wrong == []


def test_what_is_stale_says_so() -> None:
    (attack, *_) = (each for each in ATTACKS if each["verdict"] == "VIOLATED")
    stale = claim_pages(FAMILY, _about_nothing(RUN), [{**attack, "digest": "0" * 64}])
    text = stale[f"gpu-travelling/claims/{attack['claim']}.md"]
    assert "**stale**" in text
    assert "Stale: the run was about" in text


def _about_nothing(run: Any) -> Any:
    return {**run, "run": {**run["run"], "spec_digests": dict.fromkeys(run["run"]["spec_digests"], "0" * 64)}}


def test_without_a_run_nothing_was_established() -> None:
    text = claim_pages(toy.FAMILY, None, ())["toy/claims/secrecy.md"]
    assert "No run is recorded." in text
    assert "PROVED" not in text
    assert "no attack breaks it first" in text
    assert "It is declared, and not stated yet." in claim_pages(toy.FAMILY, None, ())["toy/claims/punctual.md"]
