"""A worker that is killed when it has answered, and before anybody knows that it has, costs no engine anything."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_check.certificates import judging, production
from carnet_check.certificates.production import Answer, Question, Workers
from carnet_check.commands.doctor import look_for
from carnet_check.engines import registry
from carnet_check.engines.bounded import questions
from carnet_check.engines.exploring import explorer
from carnet_check.engines.induction import solving
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.engines.solvers import cvc5, eprover
from carnet_check.loading.families import load
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, planned
from tests.unit.model_check.command import TOY, control

Row = tuple[str, str, str, int | None]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import nothing from the current folder, and what they run here is in this one."""
    monkeypatch.chdir(tmp_path)


def _and_killed(answers: Iterable[Any]) -> Iterator[Any]:
    yield from answers
    os.kill(os.getpid(), signal.SIGKILL)


def cvc5_killed(asked: Any) -> Iterator[Any]:
    return _and_killed(cvc5.answer(asked))


def eprover_killed(asked: Any) -> Iterator[Any]:
    return _and_killed(eprover.answer(asked))


def bounded_killed(asked: Any) -> Iterator[Any]:
    return _and_killed(questions.answers(asked))


def search_killed(part: Any) -> Iterator[Any]:
    return _and_killed(explorer._run(part))


def kernel_killed(batch: Any) -> Iterator[Any]:
    return _and_killed(judging._answered(batch))


def apart_killed(text: str) -> Iterator[Any]:
    return _and_killed([(SolverOutcome.PROVED, ("core",), text)])


def finding_killed(question: Question) -> Iterator[Answer]:
    return _and_killed(production.answers(question))


def rows(engine: str) -> list[Row]:
    """Return what an engine says of claims: of the toy's, or of one that falls where the engine looks for attacks."""
    reference = control("wrong_claim") if engine == "bmc" else TOY
    outcome = verify(planned(Request(load(reference), engines=(engine,))))
    return sorted((row.claim, row.threat, str(row.verdict), row.bound) for row in outcome.results)


KILLED: dict[str, tuple[str, Callable[[Any], Iterator[Any]]]] = {
    "cvc5": ("carnet_check.engines.solvers.cvc5.answer", cvc5_killed),
    "eprover": ("carnet_check.engines.solvers.eprover.answer", eprover_killed),
    "bmc": ("carnet_check.engines.bounded.questions.answers", bounded_killed),
    "explicit": ("carnet_check.engines.exploring.explorer._run", search_killed),
    "kernel": ("carnet_check.certificates.judging._answered", kernel_killed),
}


@pytest.mark.parametrize("engine", KILLED)
def test_no_verdict_changes(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (chosen,) = registry.chosen([engine])
    if not all(look_for(tool).present for tool in chosen.needs):
        pytest.skip(f"{engine} is not installed")
    said = rows(engine)
    monkeypatch.setattr(*KILLED[engine])
    assert rows(engine) == said


def test_an_answer_apart_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "_asked_alone", apart_killed)
    assert solving.ask_apart("text") == (SolverOutcome.PROVED, ("core",), "text")


def test_a_certificate_that_was_found_is_found_once() -> None:
    question = Question(TOY, "main", "init/secrecy")
    with Workers(1, search=finding_killed) as pool:
        (answer,) = pool.answers([question])
    assert answer.entry is not None
