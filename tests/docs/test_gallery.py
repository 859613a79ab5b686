"""The gallery shows every finding: briefly, as a diagram to step through, and with its replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from carnet_check.attacks.decisive import decisive_step
from carnet_check.semantics import Interpreter
from carnet_spec.trace import Trace
from docs._ext.carnet_pages import gallery
from tests.fixtures import toy
from tests.fixtures.travelling import FAMILY, SOURCE

ROOT = Path(__file__).parents[2]
KEPT = json.loads((ROOT / "docs/results/gallery/gpu-travelling.json").read_text("utf-8"))
BY_ID = {attack["finding"]["id"]: attack for attack in KEPT}


def test_every_finding_is_kept_as_the_specification_is_now() -> None:
    assert list(BY_ID) == [finding.id for finding in FAMILY.findings]
    text = gallery.gallery([FAMILY], {FAMILY.id: KEPT})
    assert "Stale" not in text
    assert text.count("Step through it") == text.count("--replay") == len(KEPT)


def test_an_attack_on_another_design_is_stale() -> None:
    (attack, *_) = KEPT
    text = gallery.gallery([FAMILY], {FAMILY.id: [{**attack, "digest": "0"}]})
    assert text.count(gallery.STALE) == 1


@pytest.mark.parametrize("id", BY_ID)
def test_a_kept_attack_replays_and_its_decisive_step_decides(id: str) -> None:
    """Nothing but the trace is believed: the interpreter takes it, the claim falls, and both designs part there."""
    attack = BY_ID[id]
    trace = Trace.from_json(attack["trace"])
    protocol = SOURCE.protocol(trace.variant, trace.without)
    profile = next(each for each in FAMILY.sizes_to_hunt(trace.variant) if each.name == attack["profile"]["name"])
    judge = Interpreter(protocol, SOURCE.instance(protocol, trace.threat, profile))
    states = judge.replay(trace)
    assert not judge.holds(protocol.claim(attack["claim"]).checked.formula, states[-1])
    decisive = decisive_step(SOURCE, protocol, tuple(attack["removed"]), judge, trace, states)
    assert decisive is not None
    marked = {place: event["decisive"] for place, event in enumerate(attack["events"]) if event["decisive"]}
    assert marked == decisive.remark
    assert sum("<<< decisive" in line for line in attack["brief"]) == 1


def test_diagrams_are_written_for_what_is_recorded(tmp_path: Path) -> None:
    gallery.write_diagrams([FAMILY, toy.FAMILY], {FAMILY.id: KEPT}, tmp_path)
    assert [folder.name for folder in (tmp_path / "gallery").iterdir()] == [FAMILY.id]
    pages = sorted((tmp_path / "gallery" / FAMILY.id).glob("*.html"))
    assert len(pages) == len(KEPT) + 1
    index = (tmp_path / "gallery" / FAMILY.id / "index.html").read_text("utf-8")
    assert all(page.name in index for page in pages if page.name != "index.html")


def test_a_protocol_without_findings_has_no_gallery() -> None:
    assert "##" not in gallery.gallery([toy.FAMILY], {})
