"""Verdicts of bounded model checking: attacks as short as the explorer's, replayed, and no more than was answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from carnet_check.engines.bounded import questions
from carnet_check.engines.bounded.engine import BMC
from carnet_check.engines.bounded.questions import ClaimStatus, FoundRun
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploring.searches import moves
from carnet_check.engines.induction.engine import Induction
from carnet_check.engines.interface import Engine, EngineResult, Task
from carnet_check.engines.proving.composition import ClaimProof, SolverOutcome
from carnet_check.engines.runner import Listener
from carnet_check.loading.families import load
from carnet_check.results import Result, Verdict
from carnet_check.semantics import Interpreter
from carnet_check.verification.campaign import verify
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, planned
from carnet_command.worker import Lost
from carnet_spec.language import SpecificationError
from tests.unit.model_check.command import FIXTURES, TOY, carnet, control
from tests.unit.model_check.engines.bounded.looked import Here, standings

MENDED = FIXTURES / "mended.py"
DOOR = str(FIXTURES / "door.py")


def verified(reference: str, *engines: Engine, variant: str = "") -> CampaignOutcome:
    request = Request(load(reference), variants=(variant,) if variant else ())
    return verify(replace(planned(request), engines=engines or (BMC,)))


def rows(outcome: CampaignOutcome, engine: Engine = BMC) -> dict[tuple[str, str], Result]:
    return {(row.claim, row.threat): row for row in outcome.results if row.engine == engine.name}


# -- what falls, and what does not -----------------------------------------------------------------

FALLING = {
    "the toy without fresh keys": (TOY, "forgetful", ("secrecy", "none"), 5),
    "a wrong claim": (control("wrong_claim"), "", ("stays-home", "anyone"), 1),
    "keys drawn twice": (f"{MENDED}:keys_given_back", "", ("tight", "unrestricted"), 4),
    "two names of one": (f"{MENDED}:two_names_of_one", "", ("tight", "unrestricted"), 1),
}


SLOW = "the toy without fresh keys"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == SLOW else ()) for name in FALLING]
)
def test_an_attack_is_as_short_as_the_explorers(name: str) -> None:
    reference, variant, pair, steps = FALLING[name]
    outcome = verified(reference, EXPLICIT, BMC, variant=variant)
    row, explored = rows(outcome)[pair], rows(outcome, EXPLICIT)[pair]
    protocol = load(reference).protocol(variant)
    assert row.verdict is explored.verdict is Verdict.VIOLATED
    assert len(row.steps) == steps
    assert moves(protocol, outcome.violation_of(explored).violations[pair[0]]) == steps
    assert row.detail.startswith(f"{steps} step")


@pytest.mark.parametrize("name", FALLING)
def test_the_interpreter_takes_every_step_of_an_attack(name: str) -> None:
    reference, variant, pair, _ = FALLING[name]
    outcome = verified(reference, variant=variant)
    row = rows(outcome)[pair]
    found = outcome.violation_of(row)
    judge = Interpreter(load(reference).protocol(variant), outcome.instance_of(row))
    claim = judge.protocol.claim(row.claim).checked
    states = judge.replay(found.violations[row.claim])
    assert not judge.axioms_hold()
    assert [judge.holds(claim.formula, state) for state in states] == [True] * len(row.steps) + [False]


@pytest.mark.parametrize("reference", [TOY, DOOR, control("sound")], ids=["toy", "door", "sound"])
def test_what_holds_holds_to_the_bound(reference: str) -> None:
    outcome = verified(reference, BMC.to_depth(5))
    assert outcome.exit_code == 0
    assert {(row.verdict, row.bound) for row in outcome.results} == {(Verdict.HOLDS_TO, 5)}
    assert all("no run of up to 5 steps" in row.detail for row in outcome.results)
    assert all("any number of everything" in row.detail for row in outcome.results)
    assert not outcome.searches


def test_attacks_are_the_same_each_time() -> None:
    """The same structures, names of elements and steps, in whatever order workers answer."""
    first, again = (verified(TOY, variant="forgetful") for _ in range(2))
    assert [replace(row, seconds=0.0) for row in first.results] == [replace(row, seconds=0.0) for row in again.results]
    assert [first.instance_of(row) for row in first.results] == [again.instance_of(row) for row in again.results]


def test_a_bound_short_of_the_attack_finds_none() -> None:
    row = rows(verified(TOY, BMC.to_depth(4), variant="forgetful"))["secrecy", "none"]
    assert (row.verdict, row.bound) == (Verdict.HOLDS_TO, 4)


def test_an_attack_does_not_count_as_an_exploration() -> None:
    """One run says nothing of goals that it does not reach, and of steps that it does not take."""
    outcome = verified(TOY, variant="forgetful")
    assert {row.kind for row in outcome.results} == {"claim"}
    assert any("not explored" in note for note in outcome.notes)


# -- budgets ---------------------------------------------------------------------------------------


def test_what_the_solver_does_not_know_is_not_established() -> None:
    row = rows(verified(TOY, BMC.limited(1)))["secrecy", "none"]
    assert (row.verdict, row.bound) == (Verdict.UNKNOWN, None)
    assert row.detail.startswith("nothing is established about 1 step: ")


class Fails(Here):
    """Answers as the solver does about fewer steps than ``first``, and then not at all."""

    def __init__(self, first: int, lost: bool) -> None:
        self.first, self.lost = first, lost

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Iterable[Any], last: object = None
    ) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            for said in function(replace(part, rlimit=part.rlimit)):
                if said.steps < self.first:
                    yield part, said
            yield part, Lost("it is gone") if self.lost else replace(said, steps=self.first, outcome="unknown")


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "unknown"])
@pytest.mark.parametrize(
    ("first", "verdict", "bound"),
    [(0, Verdict.UNKNOWN, None), (1, Verdict.UNKNOWN, None), (2, Verdict.HOLDS_TO, 1), (3, Verdict.HOLDS_TO, 2)],
)
def test_only_numbers_of_steps_that_were_answered_count(
    monkeypatch: pytest.MonkeyPatch, first: int, lost: bool, verdict: Verdict, bound: int | None
) -> None:
    def unsure(asked: questions.Questions, _: object, told: questions.OnAnswer) -> list[ClaimStatus]:
        return said(asked, Fails(first, lost), told)

    said = questions.Questions.answered
    monkeypatch.setattr(questions.Questions, "answered", unsure)
    row = rows(verified(control("sound")))["one-holder", "anyone"]
    assert (row.verdict, row.bound) == (verdict, bound)
    assert f"nothing is established about {first} step" in row.detail


def test_a_run_without_a_structure_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, lambda _: None)
    row = rows(verified(TOY, variant="forgetful"))["secrecy", "none"]
    assert (row.verdict, row.bound, row.steps) == (Verdict.HOLDS_TO, 4, ())
    assert "shows no structure" in row.detail


def test_what_the_certified_language_cannot_say_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise SpecificationError("it says too much")

    monkeypatch.setattr(questions, "read", refuse)
    found = rows(verified(TOY)).values()
    assert {(row.verdict, row.detail) for row in found} == {
        (Verdict.UNKNOWN, "nothing is established about 0 steps: it says too much")
    }


# -- attacks that are none -------------------------------------------------------------------------


def _with(monkeypatch: pytest.MonkeyPatch, change: Callable[[FoundRun], FoundRun | None]) -> None:
    """Let every structure that is found be another."""

    def changed(asked: questions.Questions, *given: Any) -> list[ClaimStatus]:
        return [each if each.last is None else _changed(each) for each in said(asked, *given)]

    def _changed(standing: ClaimStatus) -> ClaimStatus:
        assert standing.last is not None
        assert standing.last.found is not None
        return replace(standing, last=replace(standing.last, found=change(standing.last.found)))

    said = questions.Questions.answered
    monkeypatch.setattr(questions.Questions, "answered", changed)


def _steps_before_the_last(found: FoundRun) -> FoundRun:
    return replace(found, steps=found.steps[:-1])


def _further_steps(found: FoundRun) -> FoundRun:
    return replace(found, steps=found.steps[1:])


def _unknown_action(found: FoundRun) -> FoundRun:
    return replace(found, steps=(replace(found.steps[0], action="fly"), *found.steps[1:]))


def _against_the_axioms(found: FoundRun) -> FoundRun:
    everyone = frozenset((name,) for name in found.instance.elements["Agent"])
    return replace(found, instance=replace(found.instance, relations={"corrupt": everyone}))


def _without_constants(found: FoundRun) -> FoundRun:
    return replace(found, instance=replace(found.instance, functions={}))


SPOILT: dict[str, tuple[Callable[[FoundRun], FoundRun], str]] = {
    "the last step is missing": (_steps_before_the_last, "the claim still holds"),
    "the first step is missing": (_further_steps, "cannot replay"),
    "an action is not there": (_unknown_action, "cannot replay"),
    "an axiom does not hold": (_against_the_axioms, "violates axiom 'lender honest'"),
    "a constant has no value": (_without_constants, "refuses the structure"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_trace_that_does_not_replay_is_an_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    change, why = SPOILT[name]
    _with(monkeypatch, change)
    outcome = verified(TOY, variant="forgetful")
    row = rows(outcome)["secrecy", "none"]
    assert (row.verdict, row.steps) == (Verdict.ERROR, ())
    assert why in row.detail
    assert outcome.exit_code == 5


@dataclass(frozen=True)
class Believer(Induction):
    """Proves everything."""

    by_default: ClassVar = False

    def run(self, task: Task, listener: Listener) -> EngineResult:
        pairs = [(plan, claim, threat) for plan in task.plans for claim, threat in plan.pairs]
        proofs = [(plan, ClaimProof(claim.name, SolverOutcome.PROVED), threat) for plan, claim, threat in pairs]
        return EngineResult(self.name, tuple(self.row(task, *proof, 0.0, "of course") for proof in proofs))


def test_an_attack_on_what_another_engine_proves_is_an_error() -> None:
    outcome = verified(TOY, Believer(), BMC, variant="forgetful")
    pair = [row for row in outcome.results if (row.claim, row.threat) == ("secrecy", "none")]
    assert {row.engine for row in pair} == {BMC.name, Believer.name}
    assert {row.verdict for row in pair} == {Verdict.ERROR}
    assert all("the engines disagree" in row.detail for row in pair)


# -- the command -----------------------------------------------------------------------------------


def test_the_depth_is_an_option() -> None:
    ran = carnet("verify", TOY, "--engine", "bmc", "--depth", "3", "--json")
    assert ran.code == 0
    assert {(row["verdict"], row["bound"]) for row in ran.json["results"]} == {("HOLDS-TO", 3)}
    assert "up to 3 steps, rules counted, any number of everything" in ran.json["run"]["strength"]


def test_the_depth_belongs_to_engines_that_bound_it() -> None:
    ran = carnet("verify", TOY, "--engine", "induction", "--depth", "3")
    assert ran.code == 2
    assert "add bmc" in ran.err
    assert carnet("verify", TOY, "--engine", "bmc", "--depth", "0").code == 2


def test_an_attack_is_kept_and_shown(tmp_path: Any) -> None:
    ran = carnet("verify", TOY, "--variant", "forgetful", "--engine", "bmc", "--out", str(tmp_path))
    assert ran.code == 1
    assert "VIOLATED!" in ran.out
    assert "the lender takes" in ran.out
    assert len(list((tmp_path / "attacks").glob("*.itf.json"))) == 2
    assert "carnet verify" in ran.out.split("lender    key0")[1]
    (kept,) = {json.loads(file.read_text("utf-8"))["rerun"] for file in tmp_path.glob("attacks/*none*y.json")}
    assert kept.endswith("--variant forgetful --threat none --claim secrecy --engine bmc")


class Noting(Here):
    """Notes of each part which of its answers are known to be the last."""

    def __init__(self) -> None:
        self.noted: list[list[bool]] = []

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Iterable[Any], last: Any = None
    ) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            found = list(function(part))
            self.noted.append([last(part, said) for said in found])
            yield from ((part, said) for said in found)


@pytest.mark.parametrize("name", ["sound", "wrong_claim"])
def test_the_last_answer_and_no_other_is_known_to_be_the_last(name: str) -> None:
    pool = Noting()
    standings(load(control(name)).protocol("main"), pool=pool)
    assert pool.noted
    assert all(noted == [False] * (len(noted) - 1) + [True] for noted in pool.noted)
