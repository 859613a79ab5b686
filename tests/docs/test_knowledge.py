"""Who knows what over time is told from the recorded round: each fact in its step's row and its party's column."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carnet_spec.protocols.gpu_travelling import FAMILY
from docs._ext.carnet_pages import specification
from docs._ext.carnet_pages.knowledge import TEXT, knowledge, rows

DOCS = Path(__file__).parents[2] / "docs"
RUN = json.loads((DOCS / "results" / "rounds" / f"{FAMILY.id}.json").read_text("utf-8"))


def table() -> ElementTree.Element:
    block = "\n".join(knowledge(RUN)).removeprefix("```{raw} html\n").rstrip("`\n")
    return ElementTree.fromstring(block.replace("<br>", "<br/>"))


def cells(row: ElementTree.Element) -> dict[str, str]:
    return {cell.get("data-party", ""): " · ".join(cell.itertext()) for cell in row.iter("td")}


@pytest.mark.mends("N24")
def test_every_party_has_a_column_and_every_step_is_in_a_row() -> None:
    heads = [head.text for head in table().iter("th") if head.get("scope") == "col"]
    assert heads == ["step", "orchestrator", "alice", "adversary", "platform"]
    said = [step for step, _ in rows(RUN)]
    numbers = [int(number) for step in said[1:] for number in re.findall(r"\d+", step.partition(".")[0])]
    assert (numbers[0], numbers[-1]) == (1, max(event["number"] or 0 for event in RUN["events"]))
    assert numbers == sorted(numbers)


@pytest.mark.mends("N24")
def test_whoever_learns_something_is_told_and_nobody_else() -> None:
    told = {row.findtext("th"): cells(row) for row in table().iter("tr") if row.find("td") is not None}
    learned = [event for event in RUN["events"] if event["learned"]]
    assert [event["action"] for event in learned] == ["open_session", "rotate_out", "accept_grant", "rotate_in"]
    for event in learned:
        row = told[f"{event['number']}. {event['sentence']}"]
        assert {party for party, said in row.items() if said != "nothing"} == set(event["learned"])
    assert {said[party] for said in told.values() for party in ("adversary", "platform")} == {"nothing"}


def test_the_holder_is_lent_the_half_that_sends() -> None:
    (lent,) = (event["learned"] for event in RUN["events"] if event["action"] == "accept_grant")
    assert lent == {"alice": ["k1 (knows h2d)"]}


def test_the_table_is_in_the_guide_and_on_the_page_of_diagrams() -> None:
    pages = specification([FAMILY], {}, {FAMILY.id: RUN})
    text = pages[f"{FAMILY.id}/{TEXT}"]
    assert text.strip() in pages[f"{FAMILY.id}/diagrams.md"]
    assert f"{{include}} ../specification/{FAMILY.id}/{TEXT}" in (DOCS / "guide" / f"{FAMILY.id}.md").read_text("utf-8")


def test_a_run_that_says_nothing_of_knowledge_has_no_table() -> None:
    older: dict[str, Any] = {name: value for name, value in RUN.items() if name not in ("knowers", "known")}
    assert list(knowledge(older)) == []
