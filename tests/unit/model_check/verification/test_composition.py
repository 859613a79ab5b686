"""Compositions hold if what they assume is implied; false and missing lemmas are told apart."""

from typing import Any

import pytest

from carnet_check.engines.exploring import searches
from carnet_check.engines.induction import counterexample
from carnet_check.engines.induction.obligations import obligations
from carnet_check.engines.interface import ComparesFormulas, Status
from carnet_check.engines.registry import able
from carnet_check.errors import EngineDisagreement
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.language import Formula, exists, false, forall, implies
from carnet_spec.language.composition import Interpretation
from carnet_spec.language.notation import show
from carnet_spec.trace import Trace, TraceStep
from docs._ext.carnet_pages.bond_status import BondStatus, cases, conjunct_set, judge
from tests.fixtures.composed import Guest, Visitor, composed, inside, invited, let_in, listed, masked, thief
from tests.unit.model_check.command import FIXTURES, carnet

BONDS = {
    "the same formula": (composed("claim seen"), BondStatus.EQUAL, ()),
    "by two": (composed("claim known", "axiom faces"), BondStatus.IMPLIED, ()),
    "by a lemma": (composed("lemma same_again", "assumption B1"), BondStatus.IMPLIED, ()),
    "one is missing": (
        composed("claim known"),
        BondStatus.OPEN,
        ("what is established does not imply what is assumed",),
    ),
    "one is too many": (composed("claim seen", "claim known"), BondStatus.OPEN, ("claim known is not needed",)),
    "either of two": (
        composed("claim seen", "claim known", "axiom faces"),
        BondStatus.OPEN,
        ("claim seen is not needed", "claim known is not needed", "axiom faces is not needed"),
    ),
}


@pytest.mark.parametrize("name", BONDS)
def test_a_bond_is_judged(name: str) -> None:
    composition, standing, reasons = BONDS[name]
    (bond,) = composition.build()
    judgement = judge(bond)
    assert (judgement.standing, judgement.reasons) == (standing, reasons)
    assert judgement.holds is (standing is not BondStatus.OPEN)


def test_a_bond_that_says_nothing_does_not_hold() -> None:
    reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor})

    @reading.defines(invited)
    def never(v: Visitor) -> Formula:
        return listed(v) & masked(v)

    reading.renames(thief, masked)
    (bond,) = composed("axiom faces", reading=reading).build()
    judgement = judge(bond)
    assert judgement.standing is BondStatus.OPEN
    assert judgement.reasons == (
        "says nothing that is known to matter: it is never so that ∃g: Visitor. listed(g) ∧ masked(g)",
    )


def test_what_holds_by_the_reading_alone_is_said() -> None:
    """Of three that nobody is, as far as the reading goes, nothing is established."""
    reading = Interpretation("a guest is a visitor", sorts={Guest: Visitor})

    @reading.defines(invited)
    def somebody(v: Visitor) -> Formula:
        return let_in(v)

    @reading.defines(thief)
    def nobody(v: Visitor) -> Formula:
        return false

    (bond,) = composed("claim seen", reading=reading).build()
    judgement = judge(bond)
    assert judgement.standing is BondStatus.OPEN
    assert "all that is assumed holds by the reading alone" in judgement.reasons
    assert [show(part) for part in judgement.by_reading] == ["∀g: Visitor. let_in(g) → ¬false"]


@pytest.mark.parametrize("unknown", range(4))
def test_what_is_unknown_never_counts(unknown: int) -> None:
    """The questions are in this order: implied, needed, by the reading alone, possible."""
    good = [True, False, False, False]
    answers = iter([None if place == unknown else each for place, each in enumerate(good)])
    (bond,) = composed("claim seen").build()
    judgement = judge(bond, lambda _: next(answers))
    assert not judgement.holds
    assert len(judgement.reasons) == 1
    assert "the solver does not know whether " in judgement.reasons[0]


def test_a_solver_that_gives_up_leaves_a_bond_open() -> None:
    """Its own answers count as unknown, too, and not as a contradiction that was not found."""
    (bond,) = composed("claim known", "axiom faces").build()
    engine = able(ComparesFormulas)
    short = engine.with_limit(1)
    assert short.contradictory(dict(bond.hypotheses_by_threat["street"])) is None
    assert not judge(bond, short.contradictory).holds
    assert judge(bond, engine.contradictory).holds


def test_the_cases_of_a_formula_are_what_its_conclusions_need() -> None:
    said = forall(
        lambda g: implies(invited(g), inside(g) & implies(inside(g), ~thief(g))) & ~(thief(g) & inside(g)), Guest
    )
    assert [show(case) for case in cases(said.term)] == [
        "∃g: Guest. invited(g)",
        "∃g: Guest. invited(g) ∧ inside(g)",
        "∃g: Guest. inside(g) ∨ thief(g)",
    ]


def test_formulas_are_the_same_up_to_the_names_of_variables() -> None:
    one = forall(lambda a: implies(let_in(a), exists(lambda b: listed(b) & (a != b), Visitor)), Visitor)
    other = forall(lambda x: implies(let_in(x), exists(lambda y: listed(y) & (x != y), Visitor)), Visitor)
    swapped = forall(lambda x: implies(let_in(x), exists(lambda y: listed(x) & (x != y), Visitor)), Visitor)
    assert conjunct_set([one.term]) == conjunct_set([other.term])
    assert conjunct_set([one.term]) != conjunct_set([swapped.term])
    both = forall(lambda x: implies(let_in(x), listed(x)) & implies(masked(x), listed(x)), Visitor)
    apart = (
        forall(lambda y: implies(masked(y), listed(y)), Visitor),
        forall(lambda z: implies(let_in(z), listed(z)), Visitor),
    )
    assert conjunct_set([both.term]) == conjunct_set(each.term for each in apart)


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
    "lemma_of_a_threat": (0, {"one-owner": "proved", "held_coins_are_gone": "proved"}),
    "lemma_of_a_threat_in_use": (
        0,
        {"one-owner": "proved", "held_coins_are_gone": "proved", "known": "proved", "seen_are_known": "proved"},
    ),
    "false_claim": (1, {"one-owner": "proved", "is hoarded": "refuted", "held_coins_are_gone": "proved"}),
}


@pytest.mark.parametrize("name", STANDINGS)
def test_each_kind_of_failure_is_told_apart(name: str) -> None:
    ran = carnet("verify", f"{FILE}:{name}", "--jobs", "1", "--json")
    assert (ran.code, {each["name"]: each["status"] for each in ran.json["lemmas"]}) == STANDINGS[name]


@pytest.mark.mends("P3")
def test_a_false_lemma_is_refuted_by_a_trace_that_the_interpreter_replays() -> None:
    found = told("wrong_lemma")["nobody_has_two"]
    assert found["detail"] == "false after 2 steps in a reachable state, replayed by the interpreter"
    outcome = verify(plan_campaign(Request(load(f"{FILE}:wrong_lemma"))))
    (refuted,) = (each.refutation for each in outcome.diagnoses if each.refutation)
    judge = Interpreter(refuted.protocol, refuted.search.instance_of("nobody_has_two"))
    steps = tuple(TraceStep(each["action"], each["by"], each["args"]) for each in found["trace"]["steps"])
    lemma = next(each for each in outcome.campaign.plans[0].protocol.lemmas if each.name == "nobody_has_two")
    states = judge.replay(Trace("wrong", "main", (), "anyone", steps))
    assert [judge.holds(lemma.formula, state) for state in states] == [True, True, False]


def test_a_false_lemma_spoils_what_rests_on_it_and_is_refuted_by_exploring_alone() -> None:
    found = told("wrong_lemma_in_use")["one-owner"]
    assert (found["status"], found["rests_on"], found["failing"]) == ("unknown", ["nobody_has_any"], [])
    assert "its proof rests on nobody_has_any, not proved" in found["detail"]
    ran = carnet("verify", f"{FILE}:false_claim", "--jobs", "1")
    assert "is hoarded is violated under anyone" in ran.out
    assert "--threat anyone --claim 'is hoarded'\n" in ran.out
    assert "without a proof" not in ran.out
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
def test_only_a_lemma_without_a_proof_by_induction_can_be_stepped_through() -> None:
    ran = carnet("verify", f"{FILE}:sound", "--jobs", "1", "--cti", "one-owner")
    assert "no counterexample to induction of one-owner in main: proved" in ran.out
    ran = carnet("verify", f"{FILE}:weak_lemma", "--cti", "seen_are_knwn")
    assert ran.code == 2
    assert "no lemma or claim 'seen_are_knwn' in weak; did you mean 'seen_are_known'?" in ran.err
    ran = carnet("verify", f"{FILE}:weak_lemma", "--cti", "seen_are_known", "--engine", "explicit")
    assert ran.code == 2
    assert "add induction" in ran.err
    ran = carnet("verify", f"{FILE}:weak_lemma", "--jobs", "1", "--cti", "seen_are_known")
    assert "  seen_are_known (lemma): not inductive\n" in ran.out
    assert STEPS in ran.out


def test_what_the_interpreter_does_not_confirm_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise EngineDisagreement("the invariant holds after all")

    protocol = load(f"{FILE}:missing_lemma").protocol()
    (standing,) = (
        each.standing
        for each in verify(plan_campaign(Request(load(f"{FILE}:missing_lemma")))).diagnoses
        if each.standing.status is Status.NOT_INDUCTIVE
    )
    asked = counterexample._Asked(
        f"{FILE}:missing_lemma", protocol.variant, standing.layer, standing.failing, 1_000_000
    )
    monkeypatch.setattr(counterexample, "counterexample", denied)
    (shown,) = counterexample._counterexamples(asked)
    assert shown.unconfirmed == "the invariant holds after all"
    assert (shown.before, shown.changes, shown.false, shown.action) == ((), (), (), "")


def test_a_trace_that_does_not_replay_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "violates", lambda *_: False)
    outcome = verify(plan_campaign(Request(load(f"{FILE}:wrong_lemma"))))
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
