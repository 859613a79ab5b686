"""cvc5 and E as engines: they agree with induction, and whatever is wrong with a solver is noticed."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from carnet_check.commands.doctor import look_for
from carnet_check.engines import registry
from carnet_check.engines.induction.engine import INDUCTION
from carnet_check.engines.interface import Engine
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.prover import Prover, Question, asked, likely_cores
from carnet_check.engines.runner import Runner
from carnet_check.engines.solvers import cvc5
from carnet_check.engines.solvers.engine import CVC5, EPROVER, GET_E
from carnet_check.loading.families import load
from carnet_check.obligations import layers, obligations
from carnet_check.results import Verdict
from carnet_check.verification import agreement
from carnet_check.verification.campaign import verify
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, planned
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Protocol
from tests.unit.model_check.command import TOY, carnet, control
from tests.unit.model_check.engines.induction.lessons import draft

SOLVERS = [
    pytest.param(
        each,
        id=each.name,
        marks=pytest.mark.skipif(not look_for(each.needs[0]).present, reason=f"{each.name} is not installed"),
    )
    for each in (CVC5, EPROVER)
]
both = pytest.mark.parametrize("solver", SOLVERS)
LESSON = draft().protocol()
BY_HAND = load(TOY)
"""Where the lesson would come from, if it were in a file."""
SOURCE = load("gpu-travelling")
CONTRADICTION = """
(set-option :produce-unsat-cores true)
(set-logic ALL)
(declare-sort S 0)
(declare-fun p (S) Bool)
(declare-fun c () S)
(assert (! (forall ((x S)) (p x)) :named |inv:all of them|))
(assert (! (exists ((x S)) (p x)) :named |inv:some|))
(assert (! (not (p c)) :named |goal|))
(check-sat)
(get-unsat-core)
"""


def _outcome(reference: str, *engines: Engine) -> CampaignOutcome:
    return verify(replace(planned(Request(load(reference))), engines=engines))


def _sample(protocol: Protocol, every: int) -> list[Question]:
    found: list[Question] = []

    def noted(questions: Sequence[Question]) -> list[SolverAnswer]:
        found.extend(questions)
        return [SolverAnswer(each.digest, SolverOutcome.PROVED) for each in questions]

    made = layers(protocol)
    listed = [each for layer in made for each in obligations(layer)][::every]
    assert len(list(asked(listed, likely_cores(SOURCE, made, listed), noted))) == len(listed)
    return found


# -- what they say ---------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS[:1])
def test_cvc5_names_the_hypotheses_that_it_used(solver: Prover) -> None:
    assert cvc5.ask(CONTRADICTION, 10_000) == (SolverOutcome.PROVED, ("inv:all of them",), "")
    consistent = CONTRADICTION.replace("(forall ((x S)) (p x))", "true")
    assert cvc5.ask(consistent, 10_000)[0] is not SolverOutcome.PROVED
    ground = consistent.replace("(exists ((x S)) (p x))", "true")
    assert cvc5.ask(ground, 10_000)[0] is SolverOutcome.REFUTED
    assert cvc5.ask(CONTRADICTION, 1)[0] is SolverOutcome.UNKNOWN


@both
def test_they_agree_with_induction_on_every_obligation_of_a_lesson(solver: Prover) -> None:
    table = agreement.compare_engines(BY_HAND, LESSON, (INDUCTION, solver), 1)
    assert len(table) > len(LESSON.actions)
    told = {(each.layer, each.obligation): each.words for each in table}
    wrong = told.pop(("", "step/learn/wrong"))
    assert wrong == {"induction": "refuted", solver.name: wrong[solver.name]}
    assert wrong[solver.name] in ("refuted", "unknown")
    assert {words[solver.name] for words in told.values()} == {"proved"}
    assert {words["induction"] for words in told.values()} == {"proved", "frame"}
    assert all(each.digest for each in table)


@both
def test_a_proof_rests_on_what_was_used(solver: Prover) -> None:
    row = next(row for row in _outcome(TOY, solver).results if row.claim == "secrecy")
    known = next(row for row in _outcome(TOY, INDUCTION).results if row.claim == "secrecy")
    assert (row.verdict, known.verdict) == (Verdict.PROVED, Verdict.PROVED)
    assert row.detail.endswith(solver.version())
    assert {*row.lemmas} == {*known.lemmas}


@both
def test_they_prove_a_sample_of_gpu_travelling(solver: Prover) -> None:
    questions = _sample(SOURCE.protocol("engine-per-holder"), 600)
    answers = {answer.id: answer for answer in solver.solve(questions, Runner())}
    assert set(answers) == {each.digest for each in questions}
    assert {answer.outcome for answer in answers.values()} == {SolverOutcome.PROVED}
    kept = {each.digest: set(each.kept or ()) for each in questions}
    cut = [digest for digest, names in kept.items() if names]
    assert all(set(answers[digest].core) <= kept[digest] for digest in cut)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_engine_agrees_on_every_obligation_of_a_variant() -> None:
    engines = [each for each in (CVC5, EPROVER) if not each.missing()]
    table = agreement.compare_engines(SOURCE, SOURCE.protocol("engine-per-holder"), (INDUCTION, *engines), 2)
    assert {each.code for each in table} == {ExitCode.EXPECTED}


# -- wrong solvers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong(Prover):
    """Says the same of everything."""

    name = "wrong"
    purpose = "nothing"
    unit = "guesses"
    fewer = 1
    most: int = 1
    word: SolverOutcome = SolverOutcome.PROVED

    def solve(self, questions: Sequence[Question], runner: Runner) -> Iterator[SolverAnswer]:
        """Answer without looking."""
        return (SolverAnswer(each.digest, self.word) for each in questions)

    def read(self, question: Question) -> str:
        """Return the text."""
        return question.text

    def version(self) -> str:
        """Return a version."""
        return "wrong 1"

    def require_trusted(self) -> None:
        """Be believed without a test."""

    def missing(self) -> str:
        """Say that nothing is missing."""
        return ""


def test_a_solver_that_proves_everything_is_noticed() -> None:
    outcome = _outcome(control("wrong_claim"), INDUCTION, Wrong())
    rows = [row for row in outcome.results if row.claim == "stays-home"]
    assert [row.verdict for row in rows] == [Verdict.ERROR, Verdict.ERROR]
    assert rows[0].detail.startswith("the engines disagree: wrong proves what induction finds satisfiable: step/")
    assert outcome.exit_code == 5
    table = agreement.compare_engines(BY_HAND, LESSON, (INDUCTION, Wrong()), 1)
    assert [each.obligation for each in table if each.code is ExitCode.VIOLATED] == ["step/learn/wrong"]


def test_a_solver_that_finds_everything_satisfiable_is_noticed() -> None:
    doubting = Wrong(word=SolverOutcome.REFUTED)
    alone = _outcome(TOY, doubting)
    assert {row.verdict for row in alone.results if row.engine == "wrong"} == {Verdict.UNKNOWN}
    assert all("(satisfiable)" in row.detail for row in alone.results if row.engine == "wrong")
    assert alone.exit_code == 3
    outcome = _outcome(TOY, INDUCTION, doubting)
    assert {row.verdict for row in outcome.results if row.claim == "secrecy"} == {Verdict.ERROR}
    assert outcome.exit_code == 5
    table = agreement.compare_engines(BY_HAND, LESSON, (INDUCTION, doubting), 1)
    assert {each.code for each in table} == {ExitCode.VIOLATED, ExitCode.UNKNOWN}


def test_an_engine_that_leaves_obligations_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wrong, "solve", lambda *_: iter(()))
    table = agreement.compare_engines(BY_HAND, LESSON, (Wrong(),), 1)
    assert {each.words["wrong"] for each in table if "step/learn" in each.obligation} == {"unknown"}


# -- the table -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS[:1])
def test_the_table_is_printed_and_written(solver: Prover, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "obligations.csv"
    arguments = [TOY, "--engine", "induction", "--engine", solver.name, "--out", str(file), "--every", "--jobs", "1"]
    assert agreement.main(arguments) == 0
    header, *rows = file.read_text().splitlines()
    assert header.startswith("variant,digest,layer,obligations,texts,engine,version,proved,frame,refuted,unknown")
    assert all(row.startswith(f"main,{load(TOY).family.protocol('main').digest},") for row in rows)
    assert all(",0,0," in row for row in rows)
    assert "induction=proved cvc5=proved main init/" in capsys.readouterr().out


# -- solvers that fail -----------------------------------------------------------------------------

FAILING = {
    "killed": ("kill -9 $$", "the solver's process ended with code -9"),
    "full": ("echo 'CPU or memory limit' >&2; exit 8", "the solver's process ended with code 8: CPU or memory limit"),
    "silent": ("exec sleep 1000", "the solver did not come back within 2 s"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_solver_that_fails_at_one_obligation_leaves_the_others(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The odd one is the step that nothing but its name gives away; for all others E stands in that proves."""
    ends, reason = FAILING[name]
    _program(
        tmp_path / "eprover",
        f"""text=$(cat); case "$text" in *odd_one*) {ends};; esac; echo '# SZS status Unsatisfiable'""",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    questions = _sample(LESSON, 1)
    odd = replace(questions[-1], digest="odd")
    engine = replace(EPROVER, seconds=1)
    monkeypatch.setattr("carnet_check.engines.solvers.engine.tptp", lambda each, *_: "odd_one" if each is ODD else "")
    monkeypatch.setattr("tests.unit.model_check.engines.solvers.test_solvers.ODD", odd.obligation, raising=False)
    rest = [each for each in questions if each.obligation is not odd.obligation]
    answers = {answer.id: answer for answer in engine.solve([*rest, odd], Runner())}
    assert (answers["odd"].outcome, answers.pop("odd").reason) == (SolverOutcome.UNKNOWN, reason)
    assert {answer.outcome for answer in answers.values()} == {SolverOutcome.PROVED}


ODD: object = None


def _program(file: Path, lines: str) -> None:
    file.write_text(f"#!/bin/sh\n{lines}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("name", ["cvc5", "eprover"])
def test_a_solver_that_is_not_installed_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (engine,) = registry.chosen([name])
    monkeypatch.setattr(type(engine), "missing", lambda _: "what is not there")
    ran = carnet("verify", TOY, "--engine", name)
    assert (ran.code, f"the engine '{name}' needs what is not there" in ran.err) == (2, True)


def test_missing_solvers_are_found_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert EPROVER.missing() == f"E, the program 'eprover' ({GET_E})"
    assert CVC5.missing() == "the extra 'cvc5' (pip install 'carnet[cvc5]')"
