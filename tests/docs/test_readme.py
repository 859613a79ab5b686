"""The README's first screen says what was established, and its picture shows the recorded round in its order."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carnet_spec.protocols.gpu_travelling import FAMILY
from docs._ext.carnet_pages.records import recorders
from docs._ext.carnet_pages.round_picture import draw, picture, short
from docs._ext.carnet_pages.shown import ROOT

RESULTS = ROOT / "docs" / "results"
README = (ROOT / "README.md").read_text("utf-8")
FIRST = " ".join(README.partition("## Try it")[0].split())
WORDS = {1: "one", 2: "two", 3: "three"}
SVG = "{http://www.w3.org/2000/svg}"


def recorded(path: str) -> Any:
    return json.loads((RESULTS / path).read_text("utf-8"))


ROUND = recorded(f"rounds/{FAMILY.id}.json")
FOUND = {run["finding"]: run for run in recorded(f"attacks/{FAMILY.id}.json") if run["finding"]}
CARRIED_OUT = [attack for attack in recorded(f"replays/{FAMILY.id}.json") if attack["id"] in FOUND]


@pytest.mark.mends("N8")
def test_it_is_short_and_begins_with_what_and_why() -> None:
    assert len(README.splitlines()) <= 120
    assert len(README.partition("## Try it")[0].splitlines()) <= 25


# -- the headline ---------------------------------------------------------------------------------


@pytest.mark.mends("N8")
def test_every_finding_is_an_attack_that_was_found() -> None:
    assert set(FOUND) == {finding.id for finding in FAMILY.findings}
    assert {run["verdict"] for run in FOUND.values()} == {"VIOLATED"}
    assert f"one of {len(FOUND)} attacks" in FIRST


def test_every_finding_was_carried_out_and_most_recover_data_as_it_says() -> None:
    assert {attack["id"] for attack in CARRIED_OUT} == set(FOUND)
    assert all(attack["replay"]["reproduced"] for attack in CARRIED_OUT)
    data = [attack for attack in CARRIED_OUT if attack["claim"] == "confidentiality"]
    assert all("of alice's chunk" in attack["replay"]["recovered"] for attack in data)
    assert "most of them recover an honest holder's data" in FIRST
    assert 2 * len(data) > len(FOUND)


@pytest.mark.mends("N8")
def test_the_last_holder_reads_the_next_ones_data_with_the_platforms_help() -> None:
    ratchet = FOUND["finding-1"]
    assert (ratchet["variant"], ratchet["claim"], ratchet["threat"]) == ("ratchet", "confidentiality", "collusion")
    assert "together with the platform, read the next holder's data" in FIRST


@pytest.mark.mends("N8")
def test_the_two_designs_are_proved_where_a_claim_is_made() -> None:
    proved = [row for row in recorded(f"{FAMILY.id}.json")["results"] if row["engine"] == "induction"]
    designs = {row["variant"] for row in proved if not row["variant"].endswith("-timed")}
    assert f"For {WORDS[len(designs)]} designs every claim that is made is `PROVED`" in FIRST
    assert {row["verdict"] for row in proved} == {"PROVED"}
    assert {FAMILY.variants[name].label for name in designs} == {"needs firmware"}
    assert "both ask the GPU's firmware for services that the public driver hides or lacks" in FIRST


# -- the picture ----------------------------------------------------------------------------------

DRAWN = ElementTree.parse(RESULTS / "rounds" / f"{FAMILY.id}.svg").getroot()


def messages() -> list[tuple[str, str, str]]:
    """Return sender, receiver and text of every arrow of the picture, from top to bottom."""
    names = {text.get("x"): text.text for text in DRAWN.iter(f"{SVG}text") if text.get("font-weight")}
    arrows = [line for line in DRAWN.iter(f"{SVG}line") if line.get("marker-end")]
    texts = [text.text or "" for text in DRAWN.iter(f"{SVG}text") if text.get("text-anchor") and text.get("y") != "18"]
    ends = [(names[arrow.get("x1")] or "", names[arrow.get("x2")] or "") for arrow in arrows]
    return [(*pair, text) for pair, text in zip(ends, texts, strict=True)]


@pytest.mark.mends("N2")
def test_the_picture_is_in_the_readme_and_in_the_guide() -> None:
    assert f"(docs/results/rounds/{FAMILY.id}.svg)" in README.partition("## Try it")[0]
    guide = (ROOT / "docs" / "guide" / "gpu-travelling.md").read_text("utf-8")
    assert f"(../results/rounds/{FAMILY.id}.svg)" in guide


def test_the_lanes_are_the_parties_that_the_story_is_about() -> None:
    heads = [text.text for text in DRAWN.iter(f"{SVG}text") if text.get("font-weight")]
    told = {party for sender, receiver, _ in messages() for party in (sender, receiver)}
    assert heads == [party for party in ROUND["parties"] if party in told]
    assert {"orchestrator", "alice", "gpu1", "platform"} == told


def test_the_arrows_are_messages_of_the_recorded_round_in_its_order() -> None:
    sent = [event["arrow"] for event in ROUND["events"] if event["arrow"]]
    left = iter([(arrow["from"], arrow["to"], short(arrow["text"])) for arrow in sent])
    assert [message for message in messages() if message not in left] == []  # `in` takes from the iterator


@pytest.mark.mends("N2")
def test_a_round_is_told_in_the_order_that_security_rests_on() -> None:
    """The GPU is routed before data arrives, given back before it is rotated, and fenced and read back after that."""
    order = [re.sub(r"\b[kbhs]\d\b", "KEY", text) for _, _, text in messages()]
    story = (
        "route to alice",
        "return of KEY, count 1",
        "route back",
        "FENCE, number 1, in the session",
        "fenced, number 1, in the session",
        "READ BACK",
        "digests",
        "TRAIN, number 3, in the session",
    )
    assert [text for text in order if text in story] == list(story)
    data = [number for number, text in enumerate(order) if "sealed under" in text]
    assert order.index("route to alice") < min(data) <= max(data) < order.index("return of KEY, count 1")
    rotated = order.index("rotated to KEY, in the session", max(data))
    assert order.index("route back") < rotated < order.index("FENCE, number 1, in the session")


def test_the_report_before_training_says_whether_a_context_is_left() -> None:
    """The picture has room for its first word alone."""
    sent = [event["arrow"]["text"] for event in ROUND["events"] if event["arrow"]]
    report, train = "digests, contexts left and counter 1, number 2, in the session", "TRAIN, number 3, in the session"
    assert [text for text in sent if text in (report, train)] == [report, train]
    assert short(report) == "digests"


def test_the_recorded_round_is_found_and_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message is received as soon as it can be: the search alone routes the GPU after it was given back."""
    monkeypatch.setattr(recorders, "RESULTS", tmp_path)
    (tmp_path / "rounds").mkdir()
    shutil.copy(RESULTS / "rounds" / f"{FAMILY.id}.toml", tmp_path / "rounds")
    recorders.rounds(FAMILY)
    for kind in ("json", "svg"):
        kept, found = ((folder / "rounds" / f"{FAMILY.id}.{kind}").read_text("utf-8") for folder in (RESULTS, tmp_path))
        assert found.replace(FAMILY.digest(), ROUND["digest"]) == kept


def test_a_protocol_without_chapters_has_no_picture(tmp_path: Path) -> None:
    draw(tmp_path, "toy")
    assert list(tmp_path.iterdir()) == []


def test_a_step_out_of_order_is_not_drawn() -> None:
    turned = {**ROUND, "events": ROUND["events"][::-1]}
    with pytest.raises(LookupError, match="has no open_session in chapter 'once'"):
        picture(FAMILY.id, turned, [{"title": "once", "steps": ["attest_orchestrator", "open_session"]}])
