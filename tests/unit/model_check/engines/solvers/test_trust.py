"""A solver is believed once it answers what is known: which E there is, what E 2 and E 3 say, and what is refused."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_check.commands.doctor import look_for
from carnet_check.engines.proving import solver
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.engines.proving.solver import QUESTIONS, KnownQuestion, require_sound
from carnet_check.engines.solvers import cvc5, eprover
from carnet_check.engines.solvers.engine import EPROVER
from carnet_check.errors import UsageError
from tests.unit.model_check.command import TOY, carnet

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


# -- E 2 and E 3 -----------------------------------------------------------------------------------


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
def test_each_e_that_is_installed_proves_fastrack(
    installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "eprover").symlink_to(installed)
    on_path(tmp_path, monkeypatch)
    ran = carnet("verify", "fastrack", "--engine", "eprover", "--jobs", "1", "--json")
    assert ran.code == 0
    assert ran.json["run"]["verdicts"] == {"PROVED": 18}
    number = eprover.version().removeprefix("E ")
    assert ran.json["run"]["versions"]["eprover"] == f"{number} at {tmp_path / 'eprover'}"
    assert {row["detail"].rpartition("; ")[2] for row in ran.json["results"]} == {f"E {number}"}


# -- which program is asked ------------------------------------------------------------------------


@pytest.mark.mends("R442")
def test_the_path_comes_before_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / eprover.PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""A package with a program inside."""\n')
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert eprover.located() == ""
    assert EPROVER.missing().startswith("E, the program 'eprover' (pip install 'carnet[eprover]'")
    inside = package / eprover.INSIDE
    inside.write_text("#!/bin/sh\n")
    assert eprover.located() == str(inside)
    assert EPROVER.missing() == ""
    assert look_for(EPROVER.needs[0]).detail == str(inside)
    fake = program(tmp_path / "bin", RIGHT.format("%"), "echo 'E 9.9-ho Some Tea'")
    on_path(fake.parent, monkeypatch)
    assert eprover.located() == str(fake)
    assert EPROVER.versions() == {"eprover": f"9.9-ho at {fake}"}


# -- programs that are refused ---------------------------------------------------------------------

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
def test_a_program_that_answers_wrongly_is_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr(solver, "_known", proves_all)
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
    monkeypatch.setattr(solver, "_known", proves_all)
    with pytest.raises(UsageError, match="is not believed"), solver.limited_memory(z3):
        pytest.fail("a question was asked")


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
