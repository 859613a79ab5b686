"""What is recorded of attacks that were carried out is about the specification as it is, and the page shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carnet_check.loading.families import load
from docs._ext.carnet_pages import carried_out

RECORDS = Path(__file__).parents[2] / "docs" / "results" / "replays"
SYSTEMS = ("fastrack", "pipellm", "ring-all-reduce")


def kept(system: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RECORDS / f"{system}.json").read_text("utf-8"))
    return rows


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_finding_and_every_defence_that_is_not_redundant_is_recorded(system: str) -> None:
    family, rows = load(system).family, kept(system)
    attacks = json.loads((RECORDS.parent / "attacks" / f"{system}.json").read_text("utf-8"))
    redundant = {row["removed"][0] for row in attacks if row["verdict"] != "VIOLATED"}
    removed = [f"without {each.id}" for each in family.protocol().defences if each.id not in redundant]
    assert [row["id"] for row in rows] == [*(finding.id for finding in family.findings), *removed]
    assert not carried_out.is_stale(family, rows)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_attack_is_reproduced_and_none_with_every_defence(system: str) -> None:
    outcomes = [row["replay"] for row in kept(system)]
    assert all(outcome["reproduced"] and not outcome["defended"]["reproduced"] for outcome in outcomes)
    shown = "\n".join(carried_out.shown(load(system).family, kept(system)))
    assert f"Of {len(outcomes)} attacks, {len(outcomes)} are reproduced." in shown
    assert shown.count("| yes | ") == len(outcomes)
    assert carried_out.STALE not in shown


def test_an_attack_on_another_design_is_stale() -> None:
    family, (row, *_) = load("pipellm").family, kept("pipellm")
    assert carried_out.STALE in "\n".join(carried_out.shown(family, [{**row, "digest": "0"}]))


def test_an_attack_that_is_not_reproduced_says_where_it_stops() -> None:
    family, (row, *_) = load("pipellm").family, kept("pipellm")
    stopped = {"reproduced": False, "stopped": {"index": 1, "action": "speculate"}}
    shown = "\n".join(carried_out.shown(family, [{**row, "replay": {**row["replay"], **stopped}}]))
    assert "| no: stops at step 2, `speculate` | stops after step 4, `read_two` |" in shown


def test_a_system_with_a_record_of_its_own_is_left_out() -> None:
    assert carried_out.record(load("gpu-travelling").family) == []
