"""Verdicts, expectations and exit codes: each kind of failure has its own code, and one precedence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_check.loading.families import load
from carnet_check.results import Result, Verdict, by_verdict, exit_code
from carnet_check.verification.checks import disagreements
from carnet_check.verification.planning import Request, planned
from tests.unit.model_check.command import TOY

ROW = Result("toy", "main", "secrecy", "none", "explicit", Verdict.EXHAUSTED, Verdict.EXHAUSTED)


def row(verdict: Verdict, expected: Verdict = Verdict.EXHAUSTED) -> Result:
    return replace(ROW, verdict=verdict, expected=expected)


EXPECTATIONS = [
    (Verdict.PROVED, Verdict.EXHAUSTED, True),
    (Verdict.EXHAUSTED, Verdict.EXHAUSTED, True),
    (Verdict.EXHAUSTED, Verdict.HOLDS_TO, True),
    (Verdict.HOLDS_TO, Verdict.EXHAUSTED, False),
    (Verdict.SAMPLED, Verdict.HOLDS_TO, False),
    (Verdict.UNKNOWN, Verdict.PROVED, False),
    (Verdict.VIOLATED, Verdict.VIOLATED, True),
    (Verdict.PROVED, Verdict.VIOLATED, False),
    (Verdict.EXHAUSTED, Verdict.VIOLATED, False),
    (Verdict.VIOLATED, Verdict.UNKNOWN, False),
    (Verdict.VACUOUS, Verdict.UNKNOWN, False),
    (Verdict.ERROR, Verdict.UNKNOWN, False),
]


@pytest.mark.parametrize(("verdict", "expected", "met"), EXPECTATIONS)
def test_an_expectation_is_met_by_what_is_as_strong(verdict: Verdict, expected: Verdict, met: bool) -> None:
    assert row(verdict, expected).as_expected is met


CODES = [
    ([Verdict.EXHAUSTED], 0),
    ([Verdict.VIOLATED], 1),
    ([Verdict.UNKNOWN], 3),
    ([Verdict.VACUOUS], 4),
    ([Verdict.ERROR], 5),
    ([Verdict.UNKNOWN, Verdict.VACUOUS], 4),
    ([Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.VIOLATED], 1),
    ([Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.VIOLATED, Verdict.ERROR], 5),
]


@pytest.mark.parametrize(("verdicts", "code"), CODES)
def test_the_worst_row_decides_the_exit_code(verdicts: list[Verdict], code: int) -> None:
    assert exit_code([row(Verdict.EXHAUSTED), *map(row, verdicts)]) == code
    assert exit_code([*map(row, reversed(verdicts)), row(Verdict.EXHAUSTED)]) == code


def test_an_attack_that_is_no_longer_found_is_not_a_pass() -> None:
    assert exit_code([row(Verdict.EXHAUSTED, Verdict.VIOLATED)]) == 3
    assert exit_code([row(Verdict.PROVED, Verdict.VIOLATED)]) == 1
    assert exit_code([row(Verdict.VIOLATED, Verdict.VIOLATED)]) == 0


def test_counts_come_in_the_order_of_the_closed_set() -> None:
    rows = [row(Verdict.VACUOUS), row(Verdict.PROVED), row(Verdict.PROVED)]
    assert list(by_verdict(rows).items()) == [("PROVED", 2), ("VACUOUS", 1)]


def test_engines_that_disagree_are_an_error() -> None:
    (plan,) = planned(Request(load(TOY))).plans
    rows = [replace(row(Verdict.PROVED), engine="induction"), row(Verdict.VIOLATED)]
    verdicts = [each.verdict for each in disagreements(rows, plan)]
    assert verdicts == [Verdict.ERROR, Verdict.ERROR]
    apart = [rows[0], replace(rows[1], threat="collusion")]
    assert [each.verdict for each in disagreements(apart, plan)] == [Verdict.PROVED, Verdict.VIOLATED]
