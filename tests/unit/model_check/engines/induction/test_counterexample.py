"""Counterexamples to induction are small, true and readable."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_check.engines.induction import explain_cti, obligations, workbench
from carnet_check.engines.induction.counterexample import counterexample
from carnet_spec.language import Formula, SpecificationError
from tests.unit.model_check.engines.induction.lessons import Person, draft, knows

FILE = str(Path(__file__).with_name("lessons.py"))

EXPECTED = """\
step/tell/told_are_honest fails with 2 Person
  invariant  told(x) → ¬corrupt(x)
       with  x = to
  step       tell(to)
  before     mood = CALM
  fixed      corrupt(to)
  changes    +told(to)
  fails      ¬corrupt(x)"""


def test_a_counterexample_reads_like_this() -> None:
    careless = draft().protocol(without=("screening",))
    assert explain_cti(careless, "step/tell/told_are_honest") == EXPECTED


def test_no_element_and_no_fact_is_there_without_need() -> None:
    careless = draft().protocol(without=("screening",))
    (obligation,) = [each for each in obligations(careless) if each.id == "step/tell/told_are_honest"]
    found = counterexample(obligation)
    assert found is not None
    facts = {symbol.name: rows for symbol, rows in found.before.relations.items() if rows}
    assert facts == {"corrupt": frozenset({("to",)})}
    assert found.before.elements == {"Person": ("teacher", "to")}


def test_a_proved_obligation_has_none() -> None:
    lesson = draft().protocol()
    assert explain_cti(lesson, "step/tell/told_are_honest").endswith("no counterexample found")


def test_an_obligation_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SpecificationError, match="no obligation 'step/x/y'"):
        explain_cti(draft().protocol(), "step/x/y")


def test_a_claim_that_fails_at_once_is_shown_without_a_step() -> None:
    early = draft()

    @early.lemma
    def someone_knows(x: Person) -> Formula:
        return knows(x)

    text = explain_cti(early.protocol(), "init/someone_knows")
    assert "step " not in text
    assert text.endswith("fails      knows(x)")


def test_the_workbench_prints_what_fails_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    code = workbench.main([FILE, "--without", "screening", "--only", "told_are", "--cti", "--jobs", "1"])
    said = capsys.readouterr().out
    assert code == 1
    assert "1 refuted" in said
    assert EXPECTED in said


def test_the_workbench_prints_what_claims_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert workbench.main([FILE, "--threat", "honest", "--claims", "--core", "--jobs", "1"]) == 1
    said = capsys.readouterr().out
    assert "secrecy: proved" in said
    assert "  lemmas: told_are_honest" in said
