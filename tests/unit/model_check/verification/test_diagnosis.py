"""False lemmas, missing lemmas and false claims are told apart, and what is shown of them is checked."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_check.engines.exploring import searches
from carnet_check.engines.induction import counterexample
from carnet_check.engines.induction.obligations import obligations
from carnet_check.engines.interface import Status
from carnet_check.errors import EngineDisagreement
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, planned
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.command import FIXTURES, carnet

FILE = FIXTURES / "repairs.py"


def told(name: str, *more: str) -> dict[str, dict[str, Any]]:
    """Verify a protocol, and return how each claim and lemma stands, by its name."""
    ran = carnet("verify", f"{FILE}:{name}", "--jobs", "1", "--json", *more)
    return {each["name"]: each for each in ran.json["lemmas"]}


STANDINGS = {
    "sound": (0, {"one-owner": "proved", "held_coins_are_gone": "proved"}),
    "missing_lemma": (3, {"one-owner": "not inductive"}),
    "wrong_lemma": (0, {"one-owner": "proved", "held_coins_are_gone": "proved", "nobody_has_two": "refuted"}),
    "wrong_lemma_in_use": (3, {"one-owner": "unknown", "nobody_has_any": "refuted"}),
    "weak_lemma": (
        0,
        {
            "one-owner": "proved",
            "held_coins_are_gone": "proved",
            "holders_are_known": "proved",
            "seen_are_known": "not inductive",
        },
    ),
    "false_claim": (1, {"one-owner": "proved", "hoarded": "refuted", "held_coins_are_gone": "proved"}),
}


@pytest.mark.parametrize("name", STANDINGS)
def test_each_kind_of_failure_is_told_apart(name: str) -> None:
    ran = carnet("verify", f"{FILE}:{name}", "--jobs", "1", "--json")
    assert (ran.code, {each["name"]: each["status"] for each in ran.json["lemmas"]}) == STANDINGS[name]


@pytest.mark.mends("P3")
def test_a_false_lemma_is_refuted_by_a_trace_that_the_interpreter_replays() -> None:
    found = told("wrong_lemma")["nobody_has_two"]
    assert found["detail"] == "false after 2 steps in a reachable state, replayed by the interpreter"
    outcome = verify(planned(Request(load(f"{FILE}:wrong_lemma"))))
    (refuted,) = (each.refutation for each in outcome.diagnoses if each.refutation)
    judge = Interpreter(refuted.protocol, refuted.search.instance_of("nobody_has_two"))
    steps = tuple(TraceStep(each["action"], each["by"], each["args"]) for each in found["trace"]["steps"])
    lemma = next(each for each in outcome.campaign.plans[0].protocol.lemmas if each.name == "nobody_has_two")
    states = judge.replay(Trace("wrong", "main", (), "anyone", steps))
    assert [judge.holds(lemma.formula, state) for state in states] == [True, True, False]


def test_a_claim_that_rests_on_a_false_lemma_is_neither_refuted_nor_called_not_inductive() -> None:
    found = told("wrong_lemma_in_use")["one-owner"]
    assert (found["status"], found["rests_on"], found["failing"]) == ("unknown", ["nobody_has_any"], [])
    assert "its proof rests on nobody_has_any, not proved" in found["detail"]


def test_a_false_claim_is_told_as_an_attack_alone() -> None:
    ran = carnet("verify", f"{FILE}:false_claim", "--jobs", "1")
    assert "hoarded is violated under anyone" in ran.out
    assert "without a proof" not in ran.out


def test_without_exploring_nothing_is_refuted() -> None:
    found = told("wrong_lemma", "--engine", "induction")["nobody_has_two"]
    assert (found["status"], found["trace"]) == ("not inductive", None)
    assert found["detail"].endswith("not explored")


@pytest.mark.mends("P3")
def test_a_missing_lemma_is_shown_as_a_state_and_a_step() -> None:
    (shown,) = told("missing_lemma")["one-owner"]["counterexamples"]
    assert shown == {
        "obligation": "step/give/one-owner",
        "unconfirmed": "",
        "action": "give",
        "sentence": "the mint gives coin to to",
        "args": {"to": "to", "coin": "coin"},
        "elements": {"Coin": ["coin"], "Person": ["to", "y"]},
        "about": {"x": "to", "y": "y", "c": "coin"},
        "before": ["holds(y, coin)"],
        "fixed": ["known(to)"],
        "beside": [],
        "changes": ["+gone(coin)", "+holds(to, coin)", "+seen(to)"],
        "formula": "holds(x, c) ∧ holds(y, c) → x = y",
        "false": ["x = y"],
        "holding": ["one-owner"],
    }


STEPS = """\
    counterexample to induction: step/give/seen_are_known
      invariant      seen(x) ∧ gone(c) → known(x)
      for            x = x, c = coin
      elements       Coin: coin; Person: to, x
      holds before   one-owner, held_coins_are_gone, holders_are_known,
                     seen_are_known
      before         seen(x)
      never changes  known(to)
      step           give(to = to, coin = coin): the mint gives coin to to
      changes        +gone(coin), +holds(to, coin), +seen(to)
      false after    known(x)
      The interpreter took this step and judged both states. Whether the first
      can be reached is not known.
"""


@pytest.mark.mends("P3")
def test_the_terminal_steps_through_what_is_asked_for() -> None:
    ran = carnet("verify", f"{FILE}:weak_lemma", "--jobs", "1", "--cti", "seen_are_known")
    assert "  seen_are_known (lemma): not inductive\n" in ran.out
    assert STEPS in ran.out


def test_what_is_proved_has_nothing_to_step_through() -> None:
    ran = carnet("verify", f"{FILE}:sound", "--jobs", "1", "--cti", "one-owner")
    assert "no counterexample to induction of one-owner in main: proved" in ran.out


def test_an_unknown_lemma_is_refused_with_the_closest_name() -> None:
    ran = carnet("verify", f"{FILE}:weak_lemma", "--cti", "seen_are_knwn")
    assert ran.code == 2
    assert "no lemma or claim 'seen_are_knwn' in weak; did you mean 'seen_are_known'?" in ran.err


def test_without_an_induction_there_is_none_to_show() -> None:
    ran = carnet("verify", f"{FILE}:weak_lemma", "--cti", "seen_are_known", "--engine", "explicit")
    assert ran.code == 2
    assert "add induction" in ran.err


def test_what_the_interpreter_does_not_confirm_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise EngineDisagreement("the invariant holds after all")

    protocol = load(f"{FILE}:missing_lemma").protocol()
    (standing,) = (
        each.standing
        for each in verify(planned(Request(load(f"{FILE}:missing_lemma")))).diagnoses
        if each.standing.status is Status.NOT_INDUCTIVE
    )
    asked = counterexample._Asked(
        f"{FILE}:missing_lemma", protocol.variant, standing.layer, standing.failing, 1_000_000
    )
    monkeypatch.setattr(counterexample, "counterexample", denied)
    (shown,) = counterexample._shown(asked)
    assert shown.unconfirmed == "the invariant holds after all"
    assert (shown.before, shown.changes, shown.false, shown.action) == ((), (), (), "")


def test_a_trace_that_does_not_replay_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "falls", lambda *_: False)
    outcome = verify(planned(Request(load(f"{FILE}:wrong_lemma"))))
    assert {each.standing.status for each in outcome.diagnoses} == {Status.PROVED, Status.NOT_INDUCTIVE}


def test_what_is_shown_is_a_state_in_which_all_invariants_hold() -> None:
    protocol = load(f"{FILE}:weak_lemma").protocol()
    (obligation,) = (each for each in obligations(protocol) if each.id == "step/give/seen_are_known")
    found = counterexample.counterexample(obligation)
    assert found is not None
    judge = Interpreter(protocol, found.before.instance(protocol))
    before, after = found.before.state(protocol), found.after.state(protocol)
    assert all(judge.holds(each.formula, before) for each in protocol.invariants)
    assert not judge.holds(obligation.invariant.formula, after)


def test_markdown_and_pages_show_it(tmp_path: Any) -> None:
    out, pages, summary = tmp_path / "run", tmp_path / "pages", tmp_path / "summary.md"
    asked = ("--cti", "seen_are_known", "--out", str(out), "--html", str(pages), "--markdown", str(summary))
    assert carnet("verify", f"{FILE}:weak_lemma", "--jobs", "1", *asked).code == 0
    written = summary.read_text("utf-8")
    assert "* **seen\\_are\\_known** (lemma in main): **not inductive**." in written
    assert "false after    known(x)" in written
    (page,) = pages.glob("cti-*.html")
    shown = page.read_text("utf-8")
    assert "The state before" in shown
    assert "<code>+seen(to)</code>" in shown
    assert "<code>known(x)</code>" in shown
    index = (pages / "index.html").read_text("utf-8")
    assert f'<a href="{page.name}">' in index
    assert '<span class="note">not inductive</span>' in index
    again = tmp_path / "again"
    assert carnet("report", str(out), "--html", str(again)).code == 0
    assert (again / page.name).read_text("utf-8") == shown
