"""The gallery shows every finding: briefly, as a diagram to step through, and with its replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carnet_check.semantics import Interpreter
from carnet_spec.trace import Trace
from docs._ext.carnet_pages import gallery
from tests.fixtures import toy
from tests.fixtures.travelling import FAMILY, SOURCE

ROOT = Path(__file__).parents[2]
ATTACKS = json.loads((ROOT / "docs/results/attacks/gpu-travelling.json").read_text("utf-8"))
KEPT = gallery.findings(FAMILY, ATTACKS)
BY_ID = {row["finding"]: row for row in KEPT}


def test_every_finding_is_kept_and_still_an_attack() -> None:
    assert list(BY_ID) == [finding.id for finding in FAMILY.findings]
    text = gallery.gallery([FAMILY], ATTACKS)
    assert gallery.STALE not in text
    assert text.count("Step through it") == text.count("--replay") == text.count("<<< decisive: ") == len(KEPT)


@pytest.mark.parametrize("other", [{"claim": "single-custody"}, {"variant": "gone"}], ids=str)
def test_what_is_no_attack_any_more_is_stale(other: dict[str, str]) -> None:
    (row, *_) = KEPT
    text = gallery.gallery([FAMILY], [{**row, **other}])
    assert (text.count(gallery.STALE), text.count("Step through it")) == (1, 0)


@pytest.mark.parametrize("id", BY_ID)
def test_a_kept_attack_breaks_its_claim(id: str) -> None:
    """Nothing but the trace is believed: the interpreter takes every step, and the claim is false at the end."""
    attack = gallery.shown(FAMILY, BY_ID[id])
    assert attack is not None
    finding = next(each for each in FAMILY.findings if each.id == id)
    protocol = FAMILY.protocol(finding.variant, finding.without)
    trace = Trace.from_json(attack["trace"])
    profile = next(each for each in FAMILY.sizes_to_hunt(trace.variant) if each.name == attack["profile"]["name"])
    judge = Interpreter(protocol, SOURCE.instance(protocol, trace.threat, profile))
    assert not judge.holds(protocol.claim(finding.claim).checked.formula, judge.replay(trace)[-1])
    assert sum(bool(event["decisive"]) for event in attack["events"]) == 1
    assert attack["reason"][0].startswith(f"{finding.claim} fails")


@pytest.mark.mends("N18")
def test_diagrams_are_written_for_what_is_recorded(tmp_path: Path) -> None:
    gallery.write_diagrams([FAMILY, toy.FAMILY], ATTACKS, tmp_path)
    assert [folder.name for folder in (tmp_path / "gallery").iterdir()] == [FAMILY.id]
    pages = sorted((tmp_path / "gallery" / FAMILY.id).glob("*.html"))
    assert len(pages) == len(KEPT) + 1
    index = (tmp_path / "gallery" / FAMILY.id / "index.html").read_text("utf-8")
    assert all(page.name in index for page in pages if page.name != "index.html")


def test_a_protocol_without_findings_has_no_gallery() -> None:
    assert "##" not in gallery.gallery([toy.FAMILY], [])


@pytest.mark.mends("N14")
def test_its_search_finds_every_finding_and_what_each_step_enforces(tmp_path: Path) -> None:
    gallery.write_diagrams([FAMILY], ATTACKS, tmp_path)
    text = (tmp_path / "gallery" / FAMILY.id / "search.js").read_text("utf-8")
    entries = json.loads(text[text.index("[") : text.rindex("]") + 1])
    assert {each["name"] for each in entries if each["kind"] == "finding"} == {each.id for each in FAMILY.findings}
    enforced = {
        id for each in entries if each["kind"] == "step" for id in each["text"].split() if id.startswith("REQ-")
    }
    assert {"REQ-SETUP-12", "REQ-KEY-03"} <= enforced
