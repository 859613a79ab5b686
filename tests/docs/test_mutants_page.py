"""The page of mutants shows what was recorded, of the present specification, with the arguments that lie beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carnet_check.loading.families import load
from carnet_check.mutation.campaign import Request, arguments_of, list_mutants
from docs._ext.carnet_pages.counted_mutants import ROOT, mutants, summary

SOURCE = load("gpu-travelling")
FAMILY = SOURCE.family
RECORD = ROOT / "docs" / "results" / "mutants" / "gpu-travelling.json"
VARIANTS = FAMILY.with_layers(FAMILY.main)


@pytest.fixture
def recorded() -> dict[str, Any]:
    found = json.loads(RECORD.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def test_what_was_recorded_has_every_argument(recorded: dict[str, Any]) -> None:
    assert [each["variant"] for each in recorded["variants"]] == [*VARIANTS]
    arguments = {(each.variant, each.mutant): each.argument for each in arguments_of(SOURCE)}
    assert {(each["variant"], each["mutant"]): each["argument"] for each in recorded["argued"]} == arguments


def test_every_mutant_was_judged(recorded: dict[str, Any]) -> None:
    of = [mutant.variant for mutant in list_mutants(Request(SOURCE, VARIANTS))]
    for each in recorded["variants"]:
        assert "unknown" not in each["fates"]
        if each["digest"] == FAMILY.digest(each["variant"]):
            assert sum(each["fates"].values()) + each["refused"] == of.count(each["variant"])


def test_the_page_shows_what_was_recorded(recorded: dict[str, Any]) -> None:
    text = mutants([FAMILY], {FAMILY.id: recorded})
    for each in recorded["variants"]:
        judged = sum(each["fates"].values())
        assert f"| `{each['variant']}` | `{each['digest'][:12]}` | {judged:,} |" in text
    for each in recorded["argued"]:
        assert f"`{each['variant']}: {each['mutant']}`".replace("|", "\\|") in text


def test_another_specification_makes_the_record_stale(recorded: dict[str, Any]) -> None:
    for each in recorded["variants"]:
        each["digest"] = FAMILY.digest(each["variant"])
    assert "Stale" not in mutants([FAMILY], {FAMILY.id: recorded})
    recorded["variants"][0]["digest"] = "0" * 64
    assert "Stale: the run was about digest `000000000000`" in mutants([FAMILY], {FAMILY.id: recorded})


def test_mutants_are_counted_by_what_noticed_them_and_pairs_apart() -> None:
    main = FAMILY.main[0]

    def judged(name: str, fate: str, by: str | None = None) -> dict[str, Any]:
        return {"mutant": name, "variant": main, "fate": fate, "by": by, "evidence": "", "core": [], "seconds": 1.0}

    pair = {"mutant": "a/guard x and guard y/drop", "variant": main}
    survived = {"mutant": "a/guard z/drop", "variant": main, "argument": "why"}
    judgements = [
        judged("a/guard w/drop", "killed", "failed proof"),
        judged("a/guard x/drop", "equivalent"),
        judged("a/guard z/drop", "survived"),
        judged("a/guard z/negate", "refused"),
        judged(pair["mutant"], "killed", "failed proof"),
    ]
    kept = summary(FAMILY, {"judgements": judgements, "pairs": {"judged": 1, "killed": [pair]}, "survived": [survived]})
    (variant,) = kept["variants"]
    assert (variant["fates"], variant["refused"]) == ({"failed proof": 1, "equivalent": 1, "survived": 1}, 1)
    assert kept["pairs"] == {"judged": 1, "killed": [[main, pair["mutant"]]]}
    page = mutants([FAMILY], {FAMILY.id: kept})
    assert f"| `{main}` | `{variant['digest'][:12]}` | 3 | 1 | 0 | 0 | 0 | 1 | 0 | 1 |" in page
    assert f"| why | `{main}: a/guard z/drop` |" in page
