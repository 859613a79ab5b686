"""The engines of lemma claims: what each case decides, which hypotheses are needed, and what a spoilt claim gives."""

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.engines.interface import Engine, EngineResult
from carnet_check.engines.lemmas.engine import CALCULATION, COUNTING
from carnet_check.errors import EngineError
from carnet_check.loading.families import load
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.campaign import accept_answer, verify
from carnet_check.verification.checks import proving, shortcomings
from carnet_check.verification.planning import Request, plan_campaign
from tests.unit.model_check.command import FIXTURES, TOY, carnet

SPOILT = str(FIXTURES / "parity.py")
PARITY = f"{SPOILT}:FAMILY"


def row_of(family: str, engine: Engine = COUNTING) -> Result:
    campaign = replace(plan_campaign(Request(load(f"{SPOILT}:{family}"))), engines=(engine,))
    (row,) = verify(campaign).results
    return row


def test_a_claim_that_holds_is_exhausted_and_each_hypothesis_has_its_smallest_case() -> None:
    row = row_of("FAMILY")
    assert (row.kind, row.verdict, row.bound, row.as_expected) == (Kind.LEMMA_CLAIM, Verdict.EXHAUSTED, 3, True)
    assert row.counterexamples == (("first-even", "numbers = (1, 0)"), ("second-even", "numbers = (2, 1)"))


def test_what_is_incomplete_is_sampled_and_expected_to_be() -> None:
    row = row_of("FAMILY", CALCULATION)
    assert (row.verdict, row.bound, row.as_expected) == (Verdict.SAMPLED, 1, True)
    assert row.counterexamples == (("first-even", "bits = (0, 1)"),)


def test_a_case_that_fails_violates_the_claim() -> None:
    row = row_of("FAILING")
    assert (row.verdict, row.as_expected, row.detail) == (Verdict.VIOLATED, False, "it does not hold for number = 3")
    ran = carnet("verify", f"{SPOILT}:FAILING")
    assert ran.code == 1
    assert "VIOLATED  lemma-claim even-sum · anyone · lemma-count (expected EXHAUSTED)" in ran.out


def test_a_hypothesis_that_nothing_shows_to_be_needed_is_vacuous() -> None:
    row = row_of("TRUE")
    assert row.verdict is Verdict.VACUOUS
    assert "of 2 cases without first-even, the claim fails in none" in row.detail
    assert carnet("verify", f"{SPOILT}:TRUE").code == 4


def test_without_a_case_nothing_is_established() -> None:
    row = row_of("NOTHING")
    assert (row.verdict, row.detail) == (Verdict.VACUOUS, "there is no case: as the test likes")


def test_cases_out_of_order_are_a_defect() -> None:
    """The first that fails would not be a smallest one."""
    with pytest.raises(EngineError, match="size 1 comes after one of size 2"):
        row_of("UNORDERED")


@pytest.mark.parametrize("engine", [COUNTING, CALCULATION], ids=lambda engine: engine.name)
def test_a_budget_too_small_establishes_nothing(engine: Engine) -> None:
    assert row_of("FAMILY", COUNTING.with_limit(1)).verdict is Verdict.UNKNOWN
    assert row_of("FAMILY", COUNTING.with_limit(2)).detail == "more than 2 cases: numbers up to three"
    assert row_of("TRUE", COUNTING.with_limit(1)).verdict is Verdict.UNKNOWN
    assert row_of("FAMILY", engine.with_limit(1_000)).as_expected


def test_json_has_a_row_for_each_means_and_the_cases() -> None:
    ran = carnet("verify", PARITY, "--json")
    assert ran.code == 0
    rows: list[dict[str, Any]] = ran.json["results"]
    assert {(row["kind"], row["claim"], row["engine"], row["verdict"]) for row in rows} == {
        ("lemma-claim", "even-sum", "lemma-count", "EXHAUSTED"),
        ("lemma-claim", "even-sum", "lemma-calc", "SAMPLED"),
    }
    assert rows[0]["counterexamples"][0] == {"without": "first-even", "case": "numbers = (1, 0)"}


def test_what_is_printed_names_both_means_and_the_cases() -> None:
    out = carnet("verify", PARITY, "--long").out
    assert "EXHAUSTED(3) by lemma-count under anyone: numbers up to three" in out
    assert "SAMPLED(1) by lemma-calc under anyone: last bits" in out
    assert "without second-even it fails for numbers = (2, 1)" in out


def test_a_claim_on_the_word_of_one_means_falls_short() -> None:
    """A sample establishes nothing."""
    outcome = verify(plan_campaign(Request(load(PARITY))))
    assert shortcomings(outcome) == ["even-sum under anyone, main: established by lemma-count alone"]
    theorems = verify(plan_campaign(Request(load("slalom"), claims=("freivalds-bound",))))
    assert shortcomings(theorems) == []


def test_an_engine_that_would_judge_nothing_is_left_out_or_refused() -> None:
    assert [engine.name for engine in plan_campaign(Request(load(PARITY))).engines] == ["lemma-count", "lemma-calc"]
    assert not {"lemma-count", "lemma-calc"} & {each.name for each in plan_campaign(Request(load(TOY))).engines}
    for name, engine in ((TOY, "lemma-count"), (PARITY, "induction"), ("slalom", "lemma-calc")):
        ran = carnet("verify", name, "--engine", engine)
        assert (ran.code, ran.err.strip()) == (
            2,
            f"carnet: there is nothing of what is asked for that {engine} judges",
        )


def test_a_lemma_claim_is_asked_for_by_name_together_with_its_theorems() -> None:
    campaign = plan_campaign(Request(load("slalom"), claims=("blinding-hides",)))
    (plan,) = campaign.plans
    assert [claim.name for claim, _ in plan.pairs] == ["one-mask", "some-mask"]
    assert [claim.name for claim, _ in plan.lemma_claims] == ["blinding-hides"]
    ran = carnet("verify", "slalom", "--claim", "blinding-hidse")
    assert (ran.code, "did you mean 'blinding-hides'?" in ran.err) == (2, True)


def test_a_run_folder_of_lemma_claims_is_read_again(tmp_path: Any) -> None:
    folder = tmp_path / "run"
    assert carnet("verify", PARITY, "--out", str(folder)).code == 0
    made = carnet("report", str(folder), "--html", str(tmp_path / "pages"))
    assert made.code == 0
    assert "even-sum" in (tmp_path / "pages" / "index.html").read_text("utf-8")


def test_a_claim_that_is_left_out_is_an_error() -> None:
    campaign = plan_campaign(Request(load(PARITY)))
    (error,) = accept_answer(campaign, COUNTING, EngineResult(COUNTING.name)).rows
    assert (error.kind, error.claim, error.verdict) == (Kind.LEMMA_CLAIM, "even-sum", Verdict.ERROR)
    assert error.detail == "lemma-count gives no answer"


def test_half_a_theorem_is_none() -> None:
    """Two ordinary claims state what is first-order of it; an engine has to prove both."""
    campaign = plan_campaign(Request(load("slalom"), engines=("kernel",)))
    (plan,), rows = campaign.plans, verify(campaign).results
    claim = next(each for each in plan.protocol.lemma_claims if each.name == "blinding-hides")
    assert proving(plan, rows, claim) == ("kernel",)
    assert proving(plan, [row for row in rows if row.claim != "some-mask"], claim) == ()
