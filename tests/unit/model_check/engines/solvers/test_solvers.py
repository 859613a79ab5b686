"""cvc5 and E as engines: they agree with induction, and are believed once they answer what is known."""

from __future__ import annotations

import importlib.util
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.commands.doctor import look_for
from carnet_check.engines import registry
from carnet_check.engines.induction.engine import INDUCTION
from carnet_check.engines.induction.solving import ask
from carnet_check.engines.interface import Engine
from carnet_check.engines.proving import solver
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.prover import Prover, Question, ask_solvers, likely_cores
from carnet_check.engines.proving.solver import QUESTIONS, KnownQuestion, require_sound
from carnet_check.engines.runner import Runner
from carnet_check.engines.solvers import cvc5, eprover
from carnet_check.engines.solvers.engine import CVC5, EPROVER, GET_E
from carnet_check.engines.solvers.eprover import MOST, parts
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_check.obligations import Obligation, layers, obligations
from carnet_check.results import Verdict
from carnet_check.verification.campaign import verify
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, plan_campaign
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Protocol
from carnet_spec.language.terms import And, Forall, Implies, Not, Or, Term, Var
from docs._ext.carnet_pages import obligation_answers
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
BY_HAND = load(TOY)  #: Where the lesson would come from, if it were in a file.
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
    return verify(replace(plan_campaign(Request(load(reference))), engines=engines))


def _sample(protocol: Protocol, every: int) -> list[Question]:
    found: list[Question] = []

    def noted(questions: Sequence[Question]) -> list[SolverAnswer]:
        found.extend(questions)
        return [SolverAnswer(each.digest, SolverOutcome.PROVED) for each in questions]

    made = layers(protocol)
    listed = [each for layer in made for each in obligations(layer)][::every]
    assert len(list(ask_solvers(listed, likely_cores(SOURCE, made, listed), noted))) == len(listed)
    return found


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
    table = obligation_answers.compare_engines(BY_HAND, LESSON, (INDUCTION, solver), 1)
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
    table = obligation_answers.compare_engines(SOURCE, SOURCE.protocol("engine-per-holder"), (INDUCTION, *engines), 2)
    assert {each.code for each in table} == {ExitCode.EXPECTED}


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
        return question.text

    def version(self) -> str:
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
    table = obligation_answers.compare_engines(BY_HAND, LESSON, (INDUCTION, Wrong()), 1)
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
    table = obligation_answers.compare_engines(BY_HAND, LESSON, (INDUCTION, doubting), 1)
    assert {each.code for each in table} == {ExitCode.VIOLATED, ExitCode.UNKNOWN}


def test_an_engine_that_leaves_obligations_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wrong, "solve", lambda *_: iter(()))
    table = obligation_answers.compare_engines(BY_HAND, LESSON, (Wrong(),), 1)
    assert {each.words["wrong"] for each in table if "step/learn" in each.obligation} == {"unknown"}


@pytest.mark.parametrize("solver", SOLVERS[:1])
def test_the_table_is_printed_and_written(solver: Prover, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "obligations.csv"
    arguments = [TOY, "--engine", "induction", "--engine", solver.name, "--out", str(file), "--every", "--jobs", "1"]
    assert obligation_answers.main(arguments) == 0
    header, *rows = file.read_text().splitlines()
    assert header.startswith("variant,digest,layer,obligations,texts,engine,version,proved,frame,refuted,unknown")
    assert all(row.startswith(f"main,{load(TOY).family.protocol('main').digest},") for row in rows)
    assert all(",0,0," in row for row in rows)
    assert "induction=proved cvc5=proved main init/" in capsys.readouterr().out


FAILING = {
    "killed": ("kill -9 $$", "the solver's process ended with code -9"),
    "full": ("echo 'CPU or memory limit' >&2; exit 8", "the solver's process ended with code 8: CPU or memory limit"),
    "silent": ("exec sleep 1000", "the solver did not come back within 2 s"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_solver_that_fails_once_leaves_the_others(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    (engine,) = registry.select_engines([name])
    monkeypatch.setattr(type(engine), "missing", lambda _: "what is not there")
    ran = carnet("verify", TOY, "--engine", name)
    assert (ran.code, f"the engine '{name}' needs what is not there" in ran.err) == (2, True)


def test_missing_solvers_are_found_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert EPROVER.missing() == f"E, the program 'eprover' ({GET_E})"
    assert CVC5.missing() == "the extra 'cvc5' (pip install 'carnet[cvc5]')"


ATOMS = tuple(Var(name, cast("Any", None)) for name in "abcd")
TERMS: st.SearchStrategy[Term] = st.recursive(
    st.sampled_from(ATOMS),
    lambda term: st.one_of(
        st.builds(Not, term),
        st.builds(And, st.lists(term, max_size=3).map(tuple)),
        st.builds(Or, st.lists(term, max_size=3).map(tuple)),
        st.builds(Implies, term, term),
        st.builds(Forall, st.sampled_from([(each,) for each in ATOMS]), term),
    ),
    max_leaves=14,
)


def of(goal: Term) -> tuple[Term, ...]:
    """Return the parts of a goal that is to be shown."""
    return parts(cast("Obligation", SimpleNamespace(goal=SimpleNamespace(formula=Not(goal)))))


def holds(term: Term, world: Mapping[Term, bool]) -> bool:
    """Say what a term without elements comes to."""
    match term:
        case Not(body):
            return not holds(body, world)
        case And(terms):
            return all(holds(each, world) for each in terms)
        case Or(terms):
            return any(holds(each, world) for each in terms)
        case Implies(premise, conclusion):
            return holds(conclusion, world) or not holds(premise, world)
        case Forall((one,), body):
            return all(holds(body, {**world, one: value}) for value in (False, True))
        case _:
            return world[term]


@given(TERMS)
def test_the_parts_say_what_the_goal_says(goal: Term) -> None:
    for values in product((False, True), repeat=len(ATOMS)):
        world: dict[Term, bool] = dict(zip(ATOMS, values, strict=True))
        assert any(holds(each, world) for each in of(goal)) != holds(goal, world)


def test_nothing_is_proved_where_nothing_is_asked() -> None:
    with pytest.raises(AssertionError, match="nothing was asked"):
        next(eprover.answer(eprover.ProverInput("digest", (), 1, 1)))


def test_conclusions_and_cases_are_taken_apart_beneath_a_quantifier() -> None:
    a, b, c, d = ATOMS
    goal = Forall((a,), Implies(Or((a, b)), And((c, Implies(d, And((a, b)))))))
    assert len(of(goal)) == 6
    assert of(goal)[0] == Not(Forall((a,), Implies(a, c)))


def test_what_has_many_cases_stays_whole() -> None:
    a, b, *_ = ATOMS
    four = Or((a, b, a, b))
    assert len(of(Implies(And((four, four)), a))) == MOST
    for many in (And((four, four, Or((a, b)))), Or((four,) * 5), Or((And((four, four)),) * 2)):
        assert of(Implies(many, a)) == (Not(Implies(many, a)),)
    assert of(Implies(four, Implies(And((four, four)), a))) == (Not(Implies(four, Implies(And((four, four)), a))),)
    assert of(Implies(And((four, four)), And((a, b)))) == (
        Not(Implies(And((four, four)), a)),
        Not(Implies(And((four, four)), b)),
    )
    assert of(And((a,) * 17)) == (Not(And((a,) * 17)),)


@pytest.mark.parametrize(
    ("protocol", "id", "count"), [("teechain", "step/propose/past_the_bar", 6), ("gpu-travelling", "", 2)]
)
def test_goals_of_protocols_come_apart(protocol: str, id: str, count: int) -> None:
    source = load(protocol)
    built = source.protocol(source.family.main[0])
    listed = [each for layer in layers(built) for each in obligations(layer)]
    assert max(len(parts(each)) for each in listed) <= MOST
    assert max(len(parts(each)) for each in listed if id in each.id) >= count


PROVED = SolverOutcome.PROVED


def program(folder: Path, answers: str, version: str = "echo 'E 2.6 Floral Guranse'") -> Path:
    """Write a program called ``eprover`` that says its version, or reads a problem and answers."""
    folder.mkdir(exist_ok=True)
    file = folder / "eprover"
    file.write_text(f'#!/bin/sh\ncase "$*" in *--version*) {version}; exit;; esac\ntext=$(cat)\n{answers}\n')
    file.chmod(0o755)
    return file


@pytest.fixture
def tried_anew() -> Iterator[None]:
    """Forget before and after a test that Z3 and cvc5 answered what is known."""
    for each in (solver.require_trusted, cvc5.require_trusted):
        each.cache_clear()
    yield
    for each in (solver.require_trusted, cvc5.require_trusted):
        each.cache_clear()


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


RIGHT = """case "$text" in
*transitive*) echo '{0} SZS status ResourceOut'; exit 9;;
*'one of them'*) echo '{0} SZS status Satisfiable'; exit 1;;
*) echo '{0} SZS status Unsatisfiable'; echo "fof(c, hypothesis, p, file('<stdin>', 'all of them')).";;
esac"""


@pytest.mark.mends("R440")
@pytest.mark.parametrize("sign", ["#", "%"])
def test_comments_of_e_2_and_of_e_3_are_read(sign: str, tmp_path: Path) -> None:
    fake = program(tmp_path, RIGHT.format(sign))
    eprover.require_trusted(str(fake))
    (answer,) = eprover.answer(eprover.ProverInput("d", (QUESTIONS[0].tptp,), 10, 1, str(fake)))
    assert (answer.outcome, answer.core) == (PROVED, ("all of them",))


def _every_e() -> list[str]:
    package = importlib.util.find_spec(eprover.PACKAGE)
    inside = [f"{folder}/{eprover.INSIDE}" for folder in (package and package.submodule_search_locations) or ()]
    return [each for each in (shutil.which(eprover.PROGRAM), *inside) if each]


@pytest.mark.mends("R440")
@pytest.mark.parametrize("installed", _every_e())
def test_each_installed_e_proves_fastrack(installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eprover").symlink_to(installed)
    on_path(tmp_path, monkeypatch)
    ran = carnet("verify", "fastrack", "--engine", "eprover", "--jobs", "1", "--json")
    assert ran.code == 0
    assert ran.json["run"]["verdicts"] == {"PROVED": 18}
    number = eprover.version().removeprefix("E ")
    assert ran.json["run"]["versions"]["eprover"] == f"{number} at {tmp_path / 'eprover'}"
    assert {row["detail"].rpartition("; ")[2] for row in ran.json["results"]} == {f"E {number}"}


@pytest.mark.mends("R442")
def test_the_path_comes_before_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / eprover.PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""A package with a program inside."""\n')
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert eprover.find_program() == ""
    assert EPROVER.missing().startswith("E, the program 'eprover' (pip install 'carnet[eprover]'")
    inside = package / eprover.INSIDE
    inside.write_text("#!/bin/sh\n")
    assert eprover.find_program() == str(inside)
    assert EPROVER.missing() == ""
    assert look_for(EPROVER.needs[0]).detail == str(inside)
    fake = program(tmp_path / "bin", RIGHT.format("%"), "echo 'E 9.9-ho Some Tea'")
    on_path(fake.parent, monkeypatch)
    assert eprover.find_program() == str(fake)
    assert EPROVER.versions() == {"eprover": f"9.9-ho at {fake}"}


STRANGERS = {
    "another program": ("echo hello", "echo hello", "E says 'E' and its version, and this said 'hello'"),
    "no words of SZS": (
        "echo Proof found",
        "echo 'E 4.0 Tea'",
        "of a theorem it has to say proved from 'all of them', "
        "and said unknown: the solver's process ended with code 0: Proof found",
    ),
    "everything is a theorem": (
        "echo '# SZS status Unsatisfiable'; echo \"fof(c, hypothesis, p, file('<stdin>', 'all of them')).\"",
        "echo 'E 2.6'",
        "of a formula that is no theorem it has to say refuted, and said proved",
    ),
    "what ends nowhere is decided": (
        RIGHT.format("%").replace("ResourceOut", "Unsatisfiable"),
        "echo 'E 3.5.1'",
        "of a search without an end it has to say unknown, and said proved",
    ),
    "a proof without what it used": (
        "echo '# SZS status Unsatisfiable'",
        "echo 'E 2.6'",
        "of a theorem it has to say proved from 'all of them', and said proved from []",
    ),
    "a proof that never comes": (
        "exec sleep 100",
        "echo 'E 2.6'",
        "and said unknown: the solver did not come back within 2 s",
    ),
}


@pytest.mark.mends("R441")
@pytest.mark.parametrize("name", STRANGERS)
def test_a_program_that_answers_wrongly_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, version, why = STRANGERS[name]
    fake = program(tmp_path, answers, version)
    on_path(tmp_path, monkeypatch)
    ran = carnet("verify", TOY, "--engine", "eprover", "--jobs", "1")
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert str(fake) in line
    assert "is not believed: " in line
    assert line.endswith(why)


@pytest.mark.mends("R441")
def test_no_answer_is_taken_from_a_program_that_was_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for single obligations comes by no plan of a run."""
    program(tmp_path, "echo '# SZS status Unsatisfiable'")
    on_path(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match="is not believed"):
        list(EPROVER._solved([], object(), None))  # type: ignore[arg-type]


def proves_all(_known: object, *_: object) -> tuple[SolverOutcome, tuple[str, ...], str]:
    """Answer like a solver that is broken."""
    return PROVED, ("all of them",), ""


@pytest.mark.mends("R441")
def test_a_z3_that_answers_wrongly_is_refused(monkeypatch: pytest.MonkeyPatch, tried_anew: None) -> None:
    solver.require_trusted()
    solver.require_trusted.cache_clear()
    monkeypatch.setattr(solver, "_answer_known_question", proves_all)
    ran = carnet("verify", TOY, "--engine", "induction", "--jobs", "1")
    assert (ran.code, ran.out) == (2, "")
    assert "Z3 " in ran.err
    assert "is not believed: of a formula that is no theorem it has to say refuted, and said proved" in ran.err
    assert carnet("verify", TOY, "--engine", "bmc", "--jobs", "1").code == 2


@pytest.mark.mends("R441")
def test_no_answer_is_taken_from_a_z3_that_was_not_tried(monkeypatch: pytest.MonkeyPatch, tried_anew: None) -> None:
    """Whoever asks for single obligations, as `attack` and `explain` do, comes by no plan of a run."""
    z3 = pytest.importorskip("z3")
    solver.require_trusted.cache_clear()
    monkeypatch.setattr(solver, "_answer_known_question", proves_all)
    with pytest.raises(UsageError, match="is not believed"), solver.limited_memory(z3):
        pytest.fail("a question was asked")


#: Each instance makes terms for more instances, so that a search ends where its memory does.
GROWING = """(declare-sort S 0)(declare-fun f (S S) S)(declare-fun p (S) Bool)(declare-fun c () S)(assert (p c))
(assert (forall ((x S) (y S)) (! (and (p (f x y)) (not (= (f x y) (f y (f x x))))) :pattern ((p x) (p y)))))"""


def test_a_search_whose_memory_runs_out_has_no_answer_and_the_next_question_has_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("z3")
    monkeypatch.setattr(solver, "MEGABYTES", 260)
    for _ in range(2):
        assert ask(GROWING, rlimit=10**9) == (SolverOutcome.UNKNOWN, (), "the solver's memory ran out")
    monkeypatch.undo()
    for question in QUESTIONS[:2]:
        assert ask(question.smtlib)[0] is question.outcome


@pytest.mark.mends("R441")
def test_a_cvc5_that_answers_wrongly_is_refused(monkeypatch: pytest.MonkeyPatch, tried_anew: None) -> None:
    pytest.importorskip("cvc5", reason="needs the solver cvc5 (the extra 'cvc5')")
    cvc5.require_trusted()
    cvc5.require_trusted.cache_clear()
    monkeypatch.setattr(cvc5, "ask", proves_all)
    ran = carnet("verify", TOY, "--engine", "cvc5", "--jobs", "1")
    assert (ran.code, ran.out) == (2, "")
    assert "cvc5 " in ran.err
    assert "is not believed: of a formula that is no theorem it has to say refuted, and said proved" in ran.err


RIGHT_ANSWERS: dict[str, tuple[SolverOutcome, tuple[str, ...], str]] = {
    known.name: (known.outcome, known.core, "") for known in QUESTIONS
}


@pytest.mark.parametrize("name", RIGHT_ANSWERS)
def test_every_known_question_decides(name: str) -> None:
    """A wrong answer to any one of them is enough, whatever the wrong answer is."""
    for outcome in SolverOutcome:
        if outcome is RIGHT_ANSWERS[name][0]:
            continue
        told = {**RIGHT_ANSWERS, name: (outcome, (), "")}

        def ask(known: KnownQuestion, told: dict[str, Any] = told) -> Any:
            return told[known.name]

        with pytest.raises(UsageError, match=f"of {name} it has to say"):
            require_sound("it", ask)
    require_sound("it", lambda known: RIGHT_ANSWERS[known.name])


def test_a_self_test_runs_once(tmp_path: Path) -> None:
    fake = program(tmp_path, f"echo x >> {tmp_path}/ran\n{RIGHT.format('%')}")
    for _ in range(3):
        eprover.require_trusted(str(fake))
    assert (tmp_path / "ran").read_text().count("x") == len(QUESTIONS)
