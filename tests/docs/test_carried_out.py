"""What is recorded of attacks that were carried out is about the specification as it is, and the page shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carnet_check.attacks.hunt import attack_target
from carnet_check.loading.families import load
from carnet_spec.language import Finding
from docs._ext.carnet_pages import carried_out
from docs._ext.carnet_pages.traces import Traces

RECORDS = Path(__file__).parents[2] / "docs" / "results" / "replays"
SYSTEMS = ("fastrack", "pipellm", "ring-all-reduce", "tensortee", "teechain", "sgx-lkl")
STOPPED = {"teechain": {"without votes-for-members", "without from-the-chain"}}
"""Attacks that stop for want of a key that the adversary does not have."""


def kept(system: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RECORDS / f"{system}.json").read_text("utf-8"))
    return rows


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_finding_and_every_defence_that_is_not_redundant_is_recorded(system: str) -> None:
    family, rows = load(system).family, kept(system)
    attacks = json.loads((RECORDS.parent / "attacks" / f"{system}.json").read_text("utf-8"))
    redundant = {row["removed"][0] for row in attacks if row["verdict"] != "VIOLATED"}
    default = attack_target(load(system)).threat.id
    found = [row["id"] for row in rows if row["id"].startswith("finding") or row["threat"] == default]
    removed = [f"without {each.id}" for each in family.protocol().defences if each.id not in redundant]
    assert found == [*(finding.id for finding in family.findings), *removed]


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_attack_is_reproduced_and_none_with_every_defence(system: str) -> None:
    rows, stopped = kept(system), STOPPED.get(system, set())
    assert {row["id"] for row in rows if not row["replay"]["reproduced"]} == stopped
    assert not any(row["replay"]["defended"]["reproduced"] for row in rows)
    shown = "\n".join(carried_out.shown(load(system).family, rows))
    assert f"Of {len(rows)} attacks, {len(rows) - len(stopped)} are reproduced." in shown
    assert shown.count("| yes | ") == len(rows) - len(stopped)


def test_an_attack_on_another_design_is_stale() -> None:
    family, (row, *_) = load("pipellm").family, kept("pipellm")
    assert carried_out.STALE in "\n".join(carried_out.shown(family, [{**row, "digest": "0"}]))
    now = family.digest(row["variant"], tuple(row["removed"]))
    assert carried_out.STALE not in "\n".join(carried_out.shown(family, [{**row, "digest": now}]))


def test_an_attack_that_is_not_reproduced_says_where_it_stops() -> None:
    family, (row, *_) = load("pipellm").family, kept("pipellm")
    stopped = {"reproduced": False, "stopped": {"index": 1, "action": "speculate"}}
    shown = "\n".join(carried_out.shown(family, [{**row, "replay": {**row["replay"], **stopped}}]))
    assert "| no: stops at step 2, `speculate` | stops after step 4, `read_two` |" in shown


def test_without_a_word_on_threats_each_is_tried_in_turn() -> None:
    """Only a broken backup can do something where the word of every member is not asked for."""
    traces = Traces(load("teechain"), "attacks")
    found = carried_out.attack(traces, Finding("", "", "", "", without=("every-member",)))
    assert found is not None
    assert found.trace.threat == "broken"
