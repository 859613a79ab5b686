"""The page of mutants: how many were noticed by what, and why the others may survive."""

from __future__ import annotations

from typing import Any

from carnet_check.loading.families import load
from docs._ext.carnet_pages.counted_mutants import mutants, summary

FAMILY = load("gpu-travelling").family


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


def test_another_specification_makes_the_record_stale() -> None:
    variant = {"variant": FAMILY.main[0], "digest": "0" * 64, "fates": {"equivalent": 1}, "refused": 0}
    kept = {"variants": [variant], "pairs": {"judged": 0, "killed": []}, "argued": []}
    assert "Stale: the run was about digest `000000000000`" in mutants([FAMILY], {FAMILY.id: kept})
