"""Diagrams show what the specification says: every step that changes a phase, every message, every rule about keys."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carnet_spec.protocols.gpu_travelling import FAMILY
from docs._ext.carnet_pages import specification
from docs._ext.carnet_pages.diagrams import Change, changes, flows, kept
from tests.fixtures import toy

ROUNDS = Path(__file__).parents[2] / "docs" / "results" / "rounds"
SVG = "{http://www.w3.org/2000/svg}"
MAIN = FAMILY.protocol(FAMILY.main[0])


def shown(family: Any, run: dict[str, Any] | None = None) -> str:
    return specification([family], {}, {family.id: run} if run else {})[f"{family.id}/diagrams.md"]


def drawn(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def words(svg: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def test_a_phase_follows_another_by_a_step() -> None:
    protocol = toy.FAMILY.protocol()
    (phase,) = (symbol for symbol in protocol.symbols if symbol.name == "phase")
    assert Change("HOME", "AWAY", "lend") in changes(protocol, phase)


def test_every_step_that_changes_the_phase_is_drawn() -> None:
    (phases, *_) = drawn(shown(FAMILY))
    said = " ".join(words(phases))
    changing = [a for a in MAIN.actions if any(update.symbol.name == "phase" for update in a.updates)]
    assert len(changing) > 15
    assert [action.name for action in changing if action.name not in said] == []


def test_every_message_is_listed_with_who_sends_it() -> None:
    listed = shown(FAMILY)
    sent = [action for action in MAIN.actions if action.message]
    assert [action.name for action in sent if f"| {{ref}}`{action.name} <" not in listed] == []
    assert r"| orchestrator | gpu | KEY\_EXCHANGE (`s`) |" in listed


@pytest.mark.parametrize(
    ("variant", "rules"),
    {
        "sealed-under-master": [],
        "engine-per-holder": ["same_engine_h2d", "same_engine_d2h", "same_engine_forges_h2d", "same_engine_forges_d2h"],
        "ratchet": ["ratchet_h2d", "ratchet_d2h"],
        "wrapped-under-old": ["unwrap"],
    }.items(),
)
def test_a_key_opens_another_where_a_rule_says_so(variant: str, rules: list[str]) -> None:
    found = flows(FAMILY.protocol(variant))
    assert [flow.rule.name for flow in found if flow.source == flow.target == "Key"] == rules
    assert [flow.rule.name for flow in found if flow.source == "Session"] == ["master_opens_keys"]


def test_the_recorded_round_is_drawn_message_by_message() -> None:
    run = json.loads((ROUNDS / f"{FAMILY.id}.json").read_text("utf-8"))
    page = shown(FAMILY, run)
    said = next(words(svg) for svg in drawn(page) if "platform" in words(svg))
    assert set(run["parties"]) <= set(said)
    steps = [event["arrow"]["text"] for event in run["events"] if event["arrow"] and event["number"]]
    assert [text for text in steps if text not in said] == []
    assert ("Stale" in page) == (run["digest"] != FAMILY.protocol(run["variant"]).digest)


@pytest.mark.mends("N24")
def test_rules_that_repeat_are_one_row_and_all_lanes_fit_the_page() -> None:
    run = json.loads((ROUNDS / f"{FAMILY.id}.json").read_text("utf-8"))
    (drawing,) = (svg for svg in drawn(shown(FAMILY, run)) if "platform" in words(svg))
    assert [text for text in words(drawing) if "MEASUREMENTS" in text] == [
        "MEASUREMENTS (nonce s1, CONFIDENTIAL) and 3 more like it",
        "MEASUREMENTS (nonce s1, CONFIDENTIAL)",
    ]
    assert int(drawing.get("width", "")) <= 736, "as wide as the page is in a window of 1200 pixels"
    texts = [text for text in drawing.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    for text in texts:
        half = len("".join(text.itertext())) * 3.5
        assert half - 1 <= float(text.get("x", "")) <= int(drawing.get("width", "")) - half + 1


@pytest.mark.mends("N24")
def test_a_design_that_keeps_its_key_is_not_listed_with_those_that_draw_one() -> None:
    page = shown(FAMILY)
    fresh = page.partition("### sealed-under-master\n")[2].partition("\n### ")[0]
    assert "a fresh key each time" in fresh
    assert "`none`" not in fresh
    assert "`rotate-out-only`" not in fresh
    assert "* `keep_key_out` in place of `rotate_out`: the key stays" in page.partition("### none\n")[2]
    assert kept(FAMILY.protocol("check-before-rotate"), ["Key"]) == [], "it draws one later"


def test_a_round_of_another_specification_is_marked() -> None:
    run = json.loads((ROUNDS / f"{FAMILY.id}.json").read_text("utf-8"))
    assert "Stale: the run was about digest `0000" in shown(FAMILY, run | {"digest": "0" * 64})
