"""``carnet verify``: what is proved, exhausted, violated or vacuous is said to be just that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, WIDE, Ran, carnet, carnet_once, control


def rows(ran: Ran) -> dict[tuple[str, str, str], str]:
    return {(row["claim"], row["threat"], row["engine"]): row["verdict"] for row in ran.json["results"]}


def test_a_sound_protocol_is_proved_and_exhausted() -> None:
    ran = carnet_once("verify", TOY, "--json")
    assert ran.code == 0
    assert rows(ran) == {
        ("secrecy", threat, engine): verdict
        for threat in ("none", "collusion")
        for engine, verdict in (("induction", "PROVED"), (FASTEST, "EXHAUSTED"))
    }
    assert ran.json["summary"]["as_expected"] is True
    assert ran.json["summary"]["by_verdict"] == {"PROVED": 2, "EXHAUSTED": 2}


def test_rows_have_the_promised_fields() -> None:
    promised = {"protocol", "variant", "claim", "threat", "engine", "verdict", "bound", "expected", "detail"}
    for row in carnet_once("verify", TOY, "--json").json["results"]:
        assert promised | {"seconds", "assumptions"} <= row.keys()
        assert (row["bound"] is None) == (row["verdict"] == "PROVED")


def test_declared_claims_are_listed_and_never_counted() -> None:
    ran = carnet_once("verify", TOY, "--json")
    assert ran.json["summary"]["declared"] == ["punctual"]
    assert "punctual" not in {row["claim"] for row in ran.json["results"]}


def test_a_goal_is_reached() -> None:
    (goal,) = carnet_once("verify", TOY, "--json").json["goals"]
    assert (goal["goal"], goal["reached"], goal["steps"]) == ("loan-ends", True, 3)


def test_the_text_shows_the_matrix_and_ends_with_the_command_that_reruns_it() -> None:
    ran = carnet_once("verify", TOY)
    assert "secrecy  PROVED·EXHAUSTED  PROVED·EXHAUSTED" in ran.out
    labels = ["verdicts", "strength", "budget", "profile", "versions", "spec digest", "artefacts", "time", "rerun"]
    last = [line for line in ran.out.splitlines() if line and not line.startswith(" ")][-len(labels) :]
    assert [line[:12].strip() for line in last] == labels
    assert ran.out.splitlines()[-1].endswith(f"carnet verify {TOY}")
    assert all(len(line) <= 80 for line in ran.out.splitlines()[:-1])


def test_the_expected_attack_on_a_variant_counts_as_expected() -> None:
    ran = carnet_once(
        "verify", TOY, "--variant", "forgetful", "--threat", "collusion", "--engine", "explicit", "--json"
    )
    (row,) = ran.json["results"]
    assert (row["verdict"], row["expected"], ran.code) == ("VIOLATED", "VIOLATED", 0)
    assert row["steps"][0]["action"] == "lend"


CONTROLS = {
    "wrong_claim": ("stays-home", "VIOLATED", 1),
    "contradictory_premise": ("if-nowhere", "VACUOUS", 4),
    "premise_never_met": ("if-angry", "VACUOUS", 4),
    "inner_premise_never_met": ("if-there-and-angry", "VACUOUS", 4),
    "half_a_claim_never_applies": ("either", "VACUOUS", 4),
    "unreachable_goal": ("shared", "UNKNOWN", 3),
    "idle_action": ("find", "VACUOUS", 4),
    "idle_adversary": ("steal", "VACUOUS", 4),
    "no_adversary_moves": ("adversary", "VACUOUS", 4),
    "only_overhears": ("adversary", "VACUOUS", 4),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_negative_control_is_caught(name: str) -> None:
    about, verdict, code = CONTROLS[name]
    ran = carnet_once("verify", control(name), "--engine", "explicit", "--json")
    assert ran.code == code
    found = {row["claim"]: row for row in ran.json["results"]}
    assert found[about]["verdict"] == verdict
    assert found[about]["expected"] != verdict
    assert found["one-holder"]["verdict"] == "EXHAUSTED", "what is sound stays established"
    assert ran.json["summary"]["as_expected"] is False


def test_deductions_are_the_steps_of_an_adversary_that_only_records() -> None:
    ran = carnet_once("verify", control("only_records"), "--engine", "explicit", "--json")
    assert "adversary" not in {row["claim"] for row in ran.json["results"]}


@pytest.mark.mends("R8")
def test_a_goal_is_out_of_reach_only_where_that_is_proved() -> None:
    ran = carnet_once("verify", control("unreachable_goal"), "--jobs", "1", "--json")
    (row,) = [row for row in ran.json["results"] if row["claim"] == "shared"]
    assert (ran.code, row["verdict"]) == (4, "VACUOUS")


PREMISES = ["contradictory_premise", "premise_never_met", "inner_premise_never_met", "half_a_claim_never_applies"]


@pytest.mark.parametrize("name", PREMISES)
def test_a_vacuous_premise_is_caught_without_exploring(name: str) -> None:
    ran = carnet("verify", control(name), "--engine", "induction", "--jobs", "1", "--json")
    assert ran.code == 4
    assert rows(ran)[CONTROLS[name][0], "anyone", "induction"] == "VACUOUS"


@pytest.mark.parametrize("asked", [["--engine", "induction"], ["--claim", "one-holder"]])
def test_what_was_not_looked_for_is_said(asked: list[str]) -> None:
    ran = carnet("verify", control("idle_action"), *asked, "--jobs", "1", "--json")
    assert not any(row["kind"] == "action" for row in ran.json["results"])
    assert any("nobody looked for goals out of reach and steps that nobody takes" in note for note in ran.json["notes"])
    whole = carnet_once("verify", control("idle_action"), "--engine", "explicit", "--json")
    assert not any("nobody looked" in note for note in whole.json["notes"])


def test_a_wrong_claim_does_not_spoil_the_proof_of_another() -> None:
    ran = carnet("verify", control("wrong_claim"), "--engine", "induction", "--jobs", "1", "--json")
    assert rows(ran) == {
        ("one-holder", "anyone", "induction"): "PROVED",
        ("stays-home", "anyone", "induction"): "UNKNOWN",
    }
    assert ran.code == 3


def test_an_unexpected_violation_is_told_in_full() -> None:
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit")
    assert "1.  first passes the token on to party1" in ran.out
    assert "stays-home fails for a = party1" in ran.out
    assert "--claim stays-home" in ran.out


def test_a_search_that_is_cut_off_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    from carnet_check.engines.exploration import Caps
    from carnet_check.engines.exploring import searches

    monkeypatch.setitem(searches.CAPS, "tiny", Caps(states=50))
    ran = carnet("verify", WIDE, "--engine", "explicit", "--json")
    (row,) = [row for row in ran.json["results"] if row["kind"] == "claim"]
    assert (row["verdict"], ran.code) == ("UNKNOWN", 3)
    assert "stopped by states" in row["detail"]


def test_the_closing_block_lists_everything_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("verify", TOY, "--engine", "explicit")
    files = ("--html", "pages", "--junit", "j.xml", "--sarif", "s.json", "--markdown", "m.md")
    assert "artefacts    none kept (--out DIR keeps them)" in carnet(*asked).out.splitlines()
    assert "artefacts    pages, j.xml, s.json, m.md" in carnet(*asked, *files).out.splitlines()
    assert "artefacts    run, pages, j.xml, s.json, m.md" in carnet(*asked, *files, "--out", "run").out.splitlines()


@pytest.mark.parametrize("arguments", [("explore", TOY), ("attack", TOY, "--variant", "forgetful")])
def test_only_commands_with_a_folder_to_keep_things_in_offer_it(arguments: tuple[str, ...]) -> None:
    offers = "--out DIR" in carnet(arguments[0], "--help").out
    (line,) = [line for line in carnet(*arguments).out.splitlines() if line.startswith("artefacts ")]
    assert ("--out DIR" in line) == offers
    assert "none" in line


def artefacts(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_artefacts_are_complete_and_verdicts_repeat_byte_for_byte(tmp_path: Path) -> None:
    for number in ("1", "2"):
        carnet("verify", TOY, "--jobs", number, "--out", str(tmp_path / number), "--junit", str(tmp_path / "junit.xml"))
    first, second = artefacts(tmp_path / "1"), artefacts(tmp_path / "2")
    assert first.keys() == {"verdicts.jsonl", "timings.jsonl", "run.json", "spec.json", "graphs/main.none.json"}
    for name in first.keys() - {"timings.jsonl", "run.json"}:
        assert first[name] == second[name], name
    verdicts = [json.loads(line) for line in first["verdicts.jsonl"].splitlines()]
    assert len(verdicts) == len(first["timings.jsonl"].splitlines()) == 4
    assert not any("seconds" in row for row in verdicts)
    run: dict[str, Any] = json.loads(first["run.json"])
    assert run["run"]["rerun"].startswith("carnet verify")


def test_junit_has_a_case_for_each_row(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit", "--junit", str(file), "--json")
    (suite,) = ElementTree.parse(file).getroot()
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert len(cases) == len(ran.json["results"]) == int(suite.attrib["tests"])
    failed = [name for name, case in cases.items() if case.find("failure") is not None]
    assert failed == ["claim: stays-home [explicit]"]


def test_a_selection_checks_only_that() -> None:
    ran = carnet("verify", TOY, "--claim", "secrecy", "--threat", "none", "--engine", "explicit", "--json")
    assert rows(ran) == {("secrecy", "none", "explicit"): "EXHAUSTED"}


LAPS = str(FIXTURES / "laps.py")


def test_a_goal_beyond_the_profile_is_reached_in_a_directed_run() -> None:
    ran = carnet("verify", LAPS + ":FAMILY", "--engine", "explicit", "--json")
    assert ran.code == 0
    goals = {goal["goal"]: goal for goal in ran.json["goals"]}
    assert (goals["first-lap"]["steps"], goals["first-lap"]["directed"]) == (1, False)
    assert (goals["third-lap"]["steps"], goals["third-lap"]["directed"]) == (3, True)
    assert goals["third-lap"]["where"] == '3 Lap (author: "3 laps")'
    assert {row["claim"] for row in ran.json["results"]} == {"counted"}


def test_a_goal_that_a_directed_run_misses_is_unknown_and_not_passed() -> None:
    ran = carnet("verify", LAPS + ":DOGGED", "--engine", "explicit", "--json")
    missed = {row["claim"]: row for row in ran.json["results"] if row["kind"] == "goal"}
    assert (ran.code, set(missed), missed["third-chase"]["verdict"]) == (3, {"third-chase"}, "UNKNOWN")


def test_a_search_with_a_budget_is_never_exhausted() -> None:
    ran = carnet("verify", LAPS + ":FAMILY", "--engine", "explicit", "--profile", "ci", "--json")
    (row,) = ran.json["results"]
    assert (row["verdict"], row["bound"], row["expected"], ran.code) == ("HOLDS-TO", 1, "HOLDS-TO", 0)
