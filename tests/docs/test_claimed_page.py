"""One page says of each protocol what is claimed, whether it holds and what has to be believed, in words."""

import copy
import json
import re
from functools import cache
from typing import Any

import pytest

from carnet_check.loading.families import known_protocols, load
from carnet_check.report.claimed import NOT_CLAIMED
from carnet_check.results import MARKS, Verdict
from carnet_spec.language import Family
from docs._ext.carnet_pages.claim_pages import claims_of
from docs._ext.carnet_pages.claimed import claimed
from docs._ext.carnet_pages.markdown import prose
from tests.repo.tracked import ROOT

IDS = known_protocols()


def family(id: str) -> Family:
    return load(id).family


@cache
def run(id: str) -> Any:
    return json.loads((ROOT / "docs" / "results" / f"{id}.json").read_text("utf-8"))


@cache
def text(id: str) -> str:
    return claimed(family(id), run(id))


def cells(page: str, sentence: str) -> list[str]:
    """Return what stands behind a sentence in its row."""
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {prose(sentence)} (")]
    return [cell.strip() for cell in row.split(" | ")[1:]]


@pytest.mark.parametrize("id", IDS)
def test_every_claim_stands_there_in_words_with_its_recorded_verdicts(id: str) -> None:
    threats = [threat.id for threat in family(id).protocol().threats]
    claims = claims_of(family(id)).values()
    rows = [row for row in run(id)["results"] if row.get("kind", "claim") == "claim"]
    for claim in (each for each in claims if not each.declared):
        shown = cells(text(id), claim.sentence)
        for threat, cell in zip(threats, shown, strict=True):
            found = {row["verdict"] for row in rows if (row["claim"], row["threat"]) == (claim.name, threat)}
            marks = {MARKS[Verdict(verdict)] for verdict in found} or {NOT_CLAIMED}
            assert set(cell.strip(" |")) == marks, (claim.name, threat)


@pytest.mark.parametrize("id", IDS)
def test_every_id_has_its_words(id: str) -> None:
    written = family(id).text.requirements()
    for assumed in re.findall(r"\b(A\d+)\b(.*)", text(id)):
        assert assumed[1].startswith(f" {prose(written[assumed[0]].short)}"), assumed
    for threat in family(id).protocol().threats:
        assert f"| {prose(threat.id)} | {prose(threat.title)} |" in text(id)


@pytest.mark.parametrize("id", IDS)
def test_every_assumption_of_a_recorded_verdict_is_listed(id: str) -> None:
    used = {name for row in run(id)["results"] for name in row.get("assumptions", ())}
    listed = set(re.findall(r"^\| (A\d+) ", text(id), re.MULTILINE))
    assert {name for name in used if name in family(id).text.requirements()} == listed


def test_what_has_to_be_simulated_is_said() -> None:
    needed = [each for each in family("gpu-travelling").services if "engine-per-holder" in each.needed_by]
    assert len(needed) > 3
    for service in needed:
        assert f"| {prose(service.title)} | {prose(service.available)} |" in text("gpu-travelling")
    assert "with these services" not in text("fastrack")


def test_a_run_about_an_earlier_specification_is_marked() -> None:
    assert "about the current specification" in text("fastrack")
    older = copy.deepcopy(run("fastrack"))
    older["run"]["spec_digests"] = dict.fromkeys(older["run"]["spec_digests"], "0" * 64)
    page = claimed(family("fastrack"), older)
    assert "Stale" in page
    assert "about the current specification" not in page


@pytest.mark.parametrize("verdict", ["UNKNOWN", "VIOLATED", "EXHAUSTED", "ERROR"])
def test_a_verdict_that_is_not_as_expected_stands_out(verdict: str) -> None:
    fallen = copy.deepcopy(run("fastrack"))
    (row, *_) = [each for each in fallen["results"] if each["verdict"] == "PROVED"]
    row["verdict"] = verdict
    fallen["summary"]["as_expected"] = False
    page = claimed(family("fastrack"), fallen)
    assert f"{MARKS[Verdict(verdict)]} (**not as expected**: {verdict})" in page
    assert "**Not every verdict is as expected**" in page


def test_without_a_run_nothing_is_said_to_hold() -> None:
    page = claimed(family("fastrack"), None)
    assert "nothing is said to hold" in page
    assert MARKS[Verdict.PROVED] not in page
