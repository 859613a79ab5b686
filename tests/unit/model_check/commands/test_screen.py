"""One screen of a run: the outcome first, and nothing hidden that a reader may hold against a verdict."""

from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.commands.screen import ALARM, COLUMNS, LEGEND, a_removal, screen
from carnet_check.loading.families import known_protocols, load
from carnet_check.results import MARKS, Result, Verdict
from carnet_check.verification.campaign import verify
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.language.requirements import Level
from tests.unit.model_check.command import TOY, carnet, carnet_once, control

RECORDED = Path(__file__).parents[4] / "docs/results/printed/verify-gpu-travelling.txt"
MOST_LINES = 45


def test_the_main_job_fits_on_one_screen() -> None:
    lines = RECORDED.read_text("utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= COLUMNS


def test_the_outcome_comes_first_and_the_command_last() -> None:
    lines = carnet_once("verify", TOY).out.splitlines()
    assert lines[1].startswith("every verdict as expected in ")
    assert lines[-1] == f"rerun        carnet verify {TOY}"


def test_the_long_form_has_what_the_screen_leaves_out() -> None:
    text = carnet_once("verify", TOY, "--long").out
    for label in ("will check", "budget", "versions", "spec digest"):
        assert f"\n{label} " in text
        assert f"\n{label} " not in carnet_once("verify", TOY).out


def test_each_verdict_has_a_mark_of_its_own() -> None:
    assert set(MARKS) == set(LEGEND) == set(Verdict)
    assert len(set(MARKS.values())) == len(Verdict)


@pytest.fixture(scope="module")
def outcome() -> CampaignOutcome:
    return verify(plan_campaign(Request(load(TOY), engines=("explicit", "induction"))))


def shown(outcome: CampaignOutcome) -> str:
    return "\n".join(screen(outcome, {}, "done"))


@pytest.mark.parametrize("verdict", [each for each in Verdict if each is not Verdict.PROVED])
def test_what_is_not_as_expected_is_marked_in_its_cell_and_told(outcome: CampaignOutcome, verdict: Verdict) -> None:
    first, *rest = outcome.results
    fallen = replace(first, verdict=verdict, expected=Verdict.PROVED, bound=7, detail="why it is so")
    text = shown(replace(outcome, results=(fallen, *rest)))
    (row,) = [line for line in text.splitlines() if line.startswith(f"{first.claim} ")]
    assert f"{MARKS[verdict]}{7 if verdict is Verdict.HOLDS_TO else ''}{ALARM}" in row
    assert "! not as expected" in " ".join(text.split())
    assert f"  {verdict}  {outcome.results[0].claim}" in text
    assert "why it is so" in text


def test_a_note_is_left_to_the_long_form_only_if_it_says_nothing_against_a_verdict(outcome: CampaignOutcome) -> None:
    noted = replace(outcome, notes=("main: nobody looked", "main: a step"), asides=frozenset({"main: a step"}))
    assert "note         main: nobody looked" in shown(noted)
    assert "main: a step" not in shown(noted)


def test_that_no_solver_looked_for_empty_premises_is_on_the_screen() -> None:
    text = " ".join(carnet("verify", TOY, "--engine", "kernel").out.split())
    assert "no solver was used, so the run did not look for premises that never hold" in text


def test_a_goal_out_of_reach_is_named() -> None:
    assert "NOT REACHED: shared" in carnet("verify", control("unreachable_goal")).out


def test_assumptions_stand_once_in_words_by_how_many_proofs_use_them(outcome: CampaignOutcome) -> None:
    def resting(row: Result) -> Result:
        return replace(row, assumptions=("A1",) if row.claim == outcome.results[0].claim else ())

    text = shown(replace(outcome, results=tuple(map(resting, outcome.results))))
    assert text.count("A1") == 1
    assert "assumed by " in text


@pytest.mark.parametrize("id", known_protocols())
def test_every_assumption_has_a_title_that_fits_a_line(id: str) -> None:
    assumptions = [each for each in load(id).family.text.requirements().values() if each.level is Level.ASSUMPTION]
    assert assumptions
    for each in assumptions:
        assert each.title, each.id
        assert len(f"{each.id} {each.short}") <= COLUMNS // 2, each.id


def test_the_attack_that_it_names_is_one() -> None:
    shown = carnet_once("verify", TOY).out
    (line,) = (line for line in shown.splitlines() if "carnet attack" in line)
    words = line.split("carnet attack ")[1].split("  ")[0].split()
    assert carnet_once("attack", *words).code == 1, words


@pytest.mark.parametrize("id", known_protocols())
def test_the_attack_that_it_names_fits_its_line(id: str) -> None:
    removed = a_removal(load(id))
    protocol = load(id).protocol(without=(removed,) if removed else ())
    assert protocol.without == ((removed,) if removed else ())
    assert len(f"             carnet attack {id} --without {removed}  the attack") <= COLUMNS
