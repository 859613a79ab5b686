"""``carnet verify --strict``: a claim on the word of one engine does not pass, nor does one that is only announced."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.model_check.command import TOY, carnet


@pytest.fixture
def tickets(tmp_path: Path) -> str:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    return str(tmp_path / "tickets" / "protocol.py")


def test_what_two_engines_establish_passes(tickets: str) -> None:
    ran = carnet("verify", tickets, "--strict", "--json")
    assert (ran.code, ran.json["shortcomings"]) == (0, [])
    assert "strict  " not in carnet("verify", tickets, "--strict").out


@pytest.mark.mends("N21")
@pytest.mark.parametrize("engine", ["induction", "explicit"])
def test_the_word_of_one_engine_does_not_pass(tickets: str, engine: str) -> None:
    ran = carnet("verify", tickets, "--engine", engine, "--strict", "--json")
    said = f"established by {engine} alone"
    claims = ("one-entry", "own-ticket")
    assert (ran.code, ran.json["shortcomings"]) == (3, [f"{each} under collusion, main: {said}" for each in claims])
    assert ran.json["summary"]["as_expected"] is True
    assert (
        f"strict       own-ticket under collusion, main: {said}"
        in carnet("verify", tickets, "--engine", engine, "--strict").out
    )
    assert carnet("verify", tickets, "--engine", engine).code == 0


def test_a_claim_that_is_only_announced_does_not_pass() -> None:
    ran = carnet("verify", TOY, "--strict", "--json")
    assert ran.code == 3
    assert any("declared, and not stated yet" in each for each in ran.json["shortcomings"])


def test_a_sample_establishes_nothing(tickets: str) -> None:
    ran = carnet("verify", tickets, "--simulate", "5", "--strict", "--json")
    assert ran.code == 3
    assert {each.rpartition(": ")[2] for each in ran.json["shortcomings"]} == {"established by induction alone"}


@pytest.mark.parametrize(
    "options",
    [
        ("--engine", "bmc", "--depth", "1"),
        ("--engine", "explicit", "--simulate", "3"),
        ("--engine", "explicit", "--engine", "bmc", "--depth", "2"),
    ],
)
def test_what_is_no_more_than_looked_for_does_not_pass(tickets: str, options: tuple[str, ...]) -> None:
    ran = carnet("verify", tickets, *options, "--strict", "--json")
    by = "explicit alone" if "bmc" in options and "explicit" in options else "no engine"
    assert ran.json["summary"]["as_expected"] is True
    assert (ran.code, {each.rpartition(": ")[2] for each in ran.json["shortcomings"]}) == (3, {f"established by {by}"})


def test_a_claim_that_is_expected_to_fall_is_asked_of_one_engine() -> None:
    ran = carnet("verify", TOY, "--variant", "forgetful", "--strict", "--max-states", "20000", "--json")
    fallen = {(row["claim"], row["threat"]) for row in ran.json["results"] if row["expected"] == "VIOLATED"}
    assert fallen
    assert not any(f"{claim} under {threat}," in each for claim, threat in fallen for each in ran.json["shortcomings"])


def test_a_violation_comes_before_what_is_lacking(tickets: str) -> None:
    file = Path(tickets)
    file.write_text(file.read_text().replace('step.fresh(ticket, defence="fresh-ticket")', "pass"))
    assert carnet("verify", tickets, "--engine", "explicit", "--strict").code == 1
