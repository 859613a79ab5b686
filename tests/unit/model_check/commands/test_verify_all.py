"""``carnet verify`` without a protocol: each registered one is verified, in one report and in one JSON object."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_check.commands import verify
from tests.unit.model_check.command import TOY, carnet, control

BROKEN = control("wrong_claim")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be one protocol that is sound and one that is not."""
    monkeypatch.setattr(verify, "registered_ids", lambda: [TOY, BROKEN])


@pytest.mark.usefixtures("two")
def test_each_is_verified_and_the_worst_decides() -> None:
    codes = [carnet("verify", each, "--json").code for each in (TOY, BROKEN)]
    together = carnet("verify", "--json")
    assert codes[0] == 0 < codes[1]
    assert together.code == codes[1]
    assert together.json["summary"]["as_expected"] is False


@pytest.mark.usefixtures("two")
def test_the_one_object_has_the_rows_and_verdicts_of_all() -> None:
    alone: list[Any] = [carnet("verify", each, "--json").json for each in (TOY, BROKEN)]
    together = carnet("verify", "--json").json
    rows = [{**row, "seconds": 0} for each in alone for row in each["results"]]
    assert [{**row, "seconds": 0} for row in together["results"]] == rows
    verdicts = [each["summary"]["by_verdict"] for each in alone]
    assert together["summary"]["by_verdict"] == {
        word: sum(each.get(word, 0) for each in verdicts) for each in verdicts for word in each
    }
    assert [each["protocol"] for each in together["protocols"]] == [each["results"][0]["protocol"] for each in alone]
    assert together["run"]["rerun"] == "carnet verify --json"


@pytest.mark.usefixtures("two")
def test_the_report_has_the_report_of_each_and_says_what_came_of_it() -> None:
    ran = carnet("verify", "--engine", "explicit")
    assert f"rerun        carnet verify {TOY} --engine explicit" in ran.out
    assert f"rerun        carnet verify {BROKEN} --engine explicit" in ran.out
    assert f"{TOY} as expected" in " ".join(ran.out.split())
    assert f"(exit code {ran.code})" in ran.out
    assert ran.out.rstrip().endswith("carnet verify --engine explicit")


@pytest.mark.parametrize("option", ["--claim", "--threat", "--variant", "--cti", "--junit", "--out"])
def test_what_is_about_one_protocol_asks_which(option: str) -> None:
    ran = carnet("verify", option, "x")
    assert ran.code == 2
    assert f"{option} is about one protocol: say which" in ran.err
