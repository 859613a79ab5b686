"""What counts as a proof of safety and of liveness, and what it rests on."""

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.engines.induction import ProofResult, houdini, liveness, prove, try_claims
from carnet_check.engines.induction.induction import answers_to
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.engines.induction.solving import Batch, Solver, Workers, solve
from carnet_check.engines.interface import LivenessAnswer
from carnet_check.engines.proving import solver
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_command.workers import WorkerPool
from carnet_spec.language import Claim, Draft, Formula, Invariant, Protocol, Step
from carnet_spec.language.terms import FALSE
from tests.proofs import workbench
from tests.unit.model_check.engines.induction.lessons import draft
from tests.unit.model_check.small import Body, Party, Phase, drafted, first, last, phase, second, seen, third
from tests.unit.model_check.steps import see, serve_one

pytestmark = pytest.mark.processes

LESSON = draft().protocol()


@pytest.fixture(scope="module")
def general() -> ProofResult:
    return prove(LESSON, jobs=1, minimise=True)


def test_a_proof_names_the_lemmas_defences_and_assumptions_it_used(general: ProofResult) -> None:
    secrecy = general.claim("secrecy")
    assert secrecy.is_proved
    assert secrecy.lemmas == ("told_are_honest",)
    assert secrecy.defences == ("screening",)
    assert secrecy.assumptions == ()
    assert general.claim("quiet").defences == ("forgetting",)


def test_a_wrong_claim_is_refuted_and_spoils_no_other(general: ProofResult) -> None:
    wrong = general.claim("wrong")
    assert wrong.outcome is SolverOutcome.UNKNOWN, "a failed induction refutes no claim"
    assert wrong.missing == ("step/learn/wrong",)
    assert [answer.outcome for answer in general.failures] == [SolverOutcome.REFUTED]
    assert general.claim("secrecy").is_proved


def test_what_rests_on_something_unproved_is_unproved() -> None:
    """An absurd lemma is preserved by every step and proves everything; it holds in no first state."""
    absurd = replace(LESSON, lemmas=(*LESSON.lemmas, Invariant("absurd", (), FALSE)))
    result = prove(absurd, jobs=1, only=lambda each: each.id != "step/learn/wrong", hints={})
    assert "init/absurd" in {answer.id for answer in result.failures}
    used = prove(absurd, jobs=1, hints={"step/learn/wrong": ("inv:absurd",)})
    assert used.answers["step/learn/wrong"].core == ("inv:absurd",)
    wrong = used.claim("wrong")
    assert not wrong.is_proved
    assert wrong.missing == ("init/absurd",)


def test_what_was_not_looked_at_or_ran_out_of_budget_is_not_proved() -> None:
    result = prove(LESSON, jobs=1, rlimit=1)
    asked = [answer for answer in result.answers.values() if answer.attempt >= 0]
    assert asked
    assert {answer.outcome for answer in asked} == {SolverOutcome.UNKNOWN}
    assert not any(result.claim(claim.name).is_proved for claim in LESSON.claims if claim.name != "no-blame")
    result = prove(LESSON, jobs=1, only=lambda each: each.id.startswith("init/"))
    assert result.claim("secrecy").missing == ("step/learn/secrecy",)


def test_worker_processes_give_the_same_answers(general: ProofResult) -> None:
    assert _without_times(prove(LESSON, jobs=2, minimise=True)) == _without_times(general)


def _stuck_at_one(batch: Batch) -> Iterable[SolverAnswer]:
    while any(question.id == "step/learn/secrecy" for question in batch.questions):
        time.sleep(1)
    return solve(batch)


def _dead_at_one(batch: Batch) -> Iterable[SolverAnswer]:
    if any(question.id == "step/learn/secrecy" for question in batch.questions):
        os._exit(1)
    return solve(batch)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("misbehaving", "reason"),
    [(_stuck_at_one, "the worker said nothing for 1.5 s"), (_dead_at_one, "the worker ended with exit code 1")],
)
def test_a_lost_worker_leaves_its_one_obligation_unknown(
    misbehaving: Solver, reason: str, jobs: int, general: ProofResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # workers import nothing from the current folder, and these solvers are in this one
    with Workers(pool=WorkerPool(jobs, patience=1.5), solver=misbehaving) as workers:
        result = prove(LESSON, workers=workers)
    lost = result.answers["step/learn/secrecy"]
    assert lost.outcome is SolverOutcome.UNKNOWN
    assert reason in lost.reason
    assert not result.claim("secrecy").is_proved
    others = [id for id in general.answers if id != lost.id]
    assert {id: result.answers[id].outcome for id in others} == {id: general.answers[id].outcome for id in others}


def test_a_claim_that_needs_a_threat_model_is_proved_under_it_alone() -> None:
    proofs = try_claims(LESSON, jobs=1).claims
    assert proofs["no-blame", "honest"].is_proved
    assert proofs["no-blame", "honest"].axioms == ("honest: nobody",)
    assert ("no-blame", "anyone") not in proofs
    assert {key for key, proof in proofs.items() if proof.is_proved} == {
        ("secrecy", "honest"),
        ("secrecy", "anyone"),
        ("quiet", "honest"),
        ("quiet", "anyone"),
        ("no-blame", "honest"),
    }


def test_a_proof_under_a_threat_model_takes_over_what_was_proved_without(general: ProofResult) -> None:
    asked: list[str] = []
    honest = LESSON.threat("honest")
    result = prove(LESSON, honest, jobs=1, baselines=[general], progress=lambda _d, _t, a: asked.append(a.id))
    assert sorted(asked) == ["init/no-blame", "step/blame/no-blame", "step/learn/wrong"]
    assert result.claim("secrecy").is_proved


def test_nothing_is_taken_over_from_a_proof_about_other_formulas(general: ProofResult) -> None:
    careless = draft().protocol(without=("screening",))
    result = prove(careless, jobs=1, baselines=[general])
    assert {answer.id for answer in result.failures} == {"step/learn/wrong", "step/tell/told_are_honest"}
    assert not result.claim("secrecy").is_proved
    assert result.claim("quiet").is_proved


def test_the_general_proof_says_nothing_about_a_claim_limited_to_a_threat_model(general: ProofResult) -> None:
    assert general.claim("no-blame").outcome is SolverOutcome.UNKNOWN
    assert "every threat model" in general.claim("no-blame").reason


def test_a_removed_defence_drops_what_needed_it_whatever_is_at_hand(general: ProofResult) -> None:
    careless = draft().protocol(without=("screening",))
    found = houdini(careless, jobs=1, baselines=[general])
    assert found.complete
    assert set(found.dropped) == {"told_are_honest", "secrecy", "wrong"}
    assert found.surviving == ("quiet",)
    assert found.claim("quiet").is_proved
    assert found.claim("secrecy").missing == ("step/learn/secrecy",)
    fresh, helped = houdini(careless, jobs=1), houdini(careless, jobs=1, baselines=[general])
    assert fresh.surviving == helped.surviving
    assert helped.asked < fresh.asked


def test_only_what_the_wanted_claims_rest_on_is_looked_at() -> None:
    careless = draft().protocol(without=("screening",))
    found = houdini(careless, jobs=1, claims=["quiet"])
    assert found.claim("quiet").is_proved
    assert found.asked == len([id for id in found.proof.obligations if id.endswith("/quiet")])
    assert not found.complete
    assert found.surviving == (), "what was not looked at is not known to be inductive"
    assert not found.claim("secrecy").is_proved


def test_the_search_stops_when_the_wanted_claims_have_fallen_or_are_elsewhere() -> None:
    found = houdini(LESSON, jobs=1, claims=["wrong"])
    assert set(found.dropped) == {"wrong"}
    assert found.rounds == 1
    assert found.claim("wrong").missing == ("step/learn/wrong",)
    found = houdini(LESSON, LESSON.threat("anyone"), jobs=1, claims=["no-blame"])
    assert found.claim("no-blame").outcome is SolverOutcome.UNKNOWN


def test_claims_that_are_wanted_together_are_given_up_with_the_first_that_falls() -> None:
    claims = ["quiet", "secrecy", "wrong"]
    alone, together = houdini(LESSON, jobs=1, claims=claims), houdini(LESSON, jobs=1, claims=claims, together=True)
    assert set(together.dropped) == {"wrong"} <= set(alone.dropped)
    assert together.claim("wrong").missing == ("step/learn/wrong",)
    assert together.asked < alone.asked
    assert not all(together.claim(name).is_proved for name in claims)
    assert all(houdini(LESSON, jobs=1, claims=claims[:2], together=True).claim(name).is_proved for name in claims[:2])


def test_what_is_expected_is_asked_last_and_proves_nothing(general: ProofResult) -> None:
    careless = draft().protocol(without=("screening",))
    cores = {id: answer.core for id, answer in general.answers.items() if answer.outcome is SolverOutcome.PROVED}
    right = {id: core for id, core in cores.items() if id != "step/tell/told_are_honest"}
    fresh, helped, misled = (
        houdini(careless, jobs=1, claims=["secrecy"], together=True, expected=each) for each in ({}, right, cores)
    )
    for found in (fresh, helped, misled):
        assert found.claim("secrecy").missing == ("step/learn/secrecy",)
    assert helped.asked < fresh.asked


def test_what_survives_is_a_proof_by_itself(general: ProofResult) -> None:
    found = houdini(LESSON, jobs=1, baselines=[general])
    assert set(found.dropped) == {"wrong"}
    assert not prove(_only(LESSON, found.surviving), jobs=1).failures


def _only(protocol: Protocol, names: tuple[str, ...]) -> Protocol:
    def kept(claim: Claim) -> bool:
        return claim.invariant is not None and claim.invariant.name in names

    lemmas = tuple(lemma for lemma in protocol.lemmas if lemma.name in names)
    return replace(protocol, claims=tuple(filter(kept, protocol.claims)), lemmas=lemmas)


def test_hints_survive_being_written_and_read(general: ProofResult, tmp_path: Path) -> None:
    known = workbench.hints_from(general.answers.values())
    path = tmp_path / "hints" / "main.json"
    workbench.save_hints(known, path)
    assert solver.decode_hints(json.loads(path.read_text())) == known
    assert known["step/learn/secrecy"] == ("guard:told", "inv:secrecy", "inv:told_are_honest")


@pytest.mark.parametrize("hint", [(), ("inv:quiet",), ("no such hypothesis",)])
def test_a_bad_hint_costs_time_and_changes_no_verdict(general: ProofResult, hint: tuple[str, ...]) -> None:
    misled = prove(LESSON, jobs=1, hints=dict.fromkeys(general.answers, hint))
    assert {a.id: a.outcome for a in misled.answers.values()} == {a.id: a.outcome for a in general.answers.values()}


def test_a_good_hint_is_all_that_is_tried(general: ProofResult) -> None:
    known = workbench.hints_from(general.answers.values())
    again = prove(LESSON, jobs=1, hints=known)
    assert {a.attempt for a in again.answers.values() if known.get(a.id)} == {0}
    assert solver.load_hints(LESSON) == {}


def _without_times(result: ProofResult) -> dict[str, SolverAnswer]:
    return {id: replace(answer, seconds=0.0) for id, answer in result.answers.items()}


def test_hypotheses_come_from_the_system_that_is_asked_about(general: ProofResult) -> None:
    """With fewer invariants a goal that needed one of them is refuted, not proved from memory."""
    bare = replace(general.system, invariants=tuple(i for i in general.system.invariants if i.name == "secrecy"))
    (secrecy,) = [each for each in general.obligations.values() if each.id == "step/learn/secrecy"]
    with Workers(1) as workers:
        (answer,) = answers_to([secrecy], bare, {}, 1_000_000, workers)
    assert answer.outcome is SolverOutcome.REFUTED


def serve(step: Step) -> None:
    step.require("waited for", first)
    step.insert(second)


def look_away(step: Step) -> None:
    step.require("waits", first)
    step.remove(third)


def _open(draft: Draft, fair: str) -> tuple[str, ...]:
    draft.eventually("served", first, second, sentence="Who waits is served.", fair=(fair,))
    protocol = draft.protocol()
    return by_fairness(protocol, protocol.liveness[0]).open


def test_only_a_step_that_is_always_possible_and_brings_it_about_will_do() -> None:
    def leave(step: Step) -> None:
        step.require("waits", first)
        step.remove(first)

    def serve_if_open(step: Step) -> None:
        step.require("open", third)
        step.insert(second)

    assert _open(drafted(serve, look_away), "serve") == ()
    assert _open(drafted(serve_if_open, look_away), "serve_if_open") == (
        "serve_if_open is not always possible meanwhile",
    )
    assert _open(drafted(serve, look_away), "look_away") == ("look_away does not always bring it about",)
    assert _open(drafted(serve, leave), "serve") == ("leave may end the waiting without what is waited for",)


def test_only_the_steps_that_are_meant_have_to_bring_it_about() -> None:
    assert _open(drafted(serve_one), "serve_one") == ("serve_one does not always bring it about",)
    draft = drafted(serve_one)
    draft.eventually(
        "served", first, second, sentence="It comes.", fair=("serve_one",), given={"serve_one": {"a": last}}
    )
    protocol = draft.protocol()
    assert by_fairness(protocol, protocol.liveness[0]).fair == ("serve_one",)


def prepare(step: Step) -> None:
    step.require("waited for, and nothing is prepared", first & (phase == Phase.EARLY))
    step.set(phase, Phase.LATE)


def finish(step: Step) -> None:
    step.require("prepared", first & (phase == Phase.LATE))
    step.insert(second)


def undo(step: Step) -> None:
    step.require("prepared", phase == Phase.LATE)
    step.set(phase, Phase.EARLY)


def dawdle(step: Step) -> None:
    step.require("waited for, and nothing is prepared", first & (phase == Phase.EARLY))
    step.insert(third)


def begin(step: Step) -> None:
    step.insert(first)


def _staged(draft: Draft, *fair: str) -> LivenessAnswer:
    draft.initially(phase, Phase.EARLY)
    draft.eventually("served", first, second, sentence="Who waits is served.", fair=fair)
    protocol = draft.protocol()
    return by_fairness(protocol, protocol.liveness[0])


def test_other_steps_of_the_action_of_a_stage_may_not_lead_back() -> None:
    """Who is fair to those who came last may undo for others what was prepared."""

    def staged(body: Body) -> LivenessAnswer:
        body.__name__ = "finish"
        draft = drafted(begin, prepare, body)
        draft.initially(phase, Phase.EARLY)
        given = {"finish": {"a": last}}
        draft.eventually("served", first, second, sentence="It comes.", fair=("prepare", "finish"), given=given)
        protocol = kept_open(draft).protocol()
        return by_fairness(protocol, protocol.liveness[0])

    def finish_or_undo(step: Step, a: Party) -> None:
        step.require("prepared", first & (phase == Phase.LATE))
        step.insert(second, when=a == last)
        step.set(phase, Phase.EARLY, when=a != last)

    def finish_or_not(step: Step, a: Party) -> None:
        step.require("prepared", first & (phase == Phase.LATE))
        step.insert(second, when=a == last)

    assert "finish otherwise may lead back from where finish is possible" in staged(finish_or_undo).open
    assert staged(finish_or_not).fair == ("prepare", "finish")


def kept_open(draft: Draft) -> Draft:
    """Return the draft with the lemma that it is never over."""

    @draft.lemma
    def never_over() -> Formula:
        """It is never over."""
        return phase != Phase.OVER

    return draft


def test_each_stage_leads_to_the_next_and_lemmas_say_that_there_always_is_one() -> None:
    answer = _staged(kept_open(drafted(begin, prepare, finish)), "prepare", "finish")
    assert (answer.fair, answer.lemmas, answer.open) == (("prepare", "finish"), ("never_over",), ())


def test_nothing_is_proved_by_induction_where_axioms_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object, **__: object) -> None:
        raise AssertionError("no lemma is used")

    monkeypatch.setattr(liveness, "prove", unwanted)
    draft = kept_open(drafted(serve, look_away))
    draft.eventually("served", first, second, sentence="Who waits is served.", fair=("serve",))
    protocol = draft.protocol()
    answer = by_fairness(protocol, protocol.liveness[0])
    assert (answer.is_proved, answer.lemmas, answer.axioms) == (True, (), frozenset())


def test_a_lemma_that_does_not_hold_proves_nothing() -> None:
    def close(step: Step) -> None:
        step.require("nobody waits", ~first)
        step.set(phase, Phase.OVER)

    answer = _staged(kept_open(drafted(begin, prepare, finish, close)), "prepare", "finish")
    assert not answer.is_proved
    assert "step/close/never_over" in answer.open


NOT_STAGES: dict[str, tuple[tuple[Body, ...], tuple[str, ...], str]] = {
    "one step is not enough": ((begin, prepare, finish), ("finish",), "finish is not always possible meanwhile"),
    "no stage at times": (
        (begin, finish, undo), ("finish", "undo"), "there are times at which none of finish and undo is possible",
    ),
    "in the wrong order": (
        (begin, prepare, finish), ("finish", "prepare"), "prepare does not always bring it about",
    ),
    "a stage that leads nowhere": (
        (begin, dawdle, finish), ("dawdle", "finish"),
        "dawdle does not always bring it about or make finish possible",
    ),
    "back again": (
        (begin, prepare, finish, undo), ("prepare", "finish"), "undo may lead back from where finish is possible",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NOT_STAGES)
def test_what_is_no_stage_is_said(what: str) -> None:
    steps, fair, why = NOT_STAGES[what]
    answer = _staged(kept_open(drafted(*steps)), *fair)
    assert not answer.is_proved
    assert why in answer.open


def test_steps_may_lead_back_from_a_strongly_fair_stage_alone() -> None:
    """Who prepares, and has what was prepared undone, is served if who finishes is strongly fair, and not otherwise."""

    def answer(*strong: str) -> LivenessAnswer:
        draft = kept_open(drafted(begin, prepare, finish, undo))
        draft.initially(phase, Phase.EARLY)
        fair = ("prepare", "finish")
        draft.eventually("served", first, second, sentence="It comes.", fair=fair, strong=strong)
        protocol = draft.protocol()
        return by_fairness(protocol, protocol.liveness[0])

    assert answer("finish").fair == ("prepare", "finish")
    assert answer("prepare", "finish").is_proved
    for strong in ((), ("prepare",)):
        assert "undo may lead back from where finish is possible" in answer(*strong).open


def test_a_property_of_each_element_is_proved_of_any() -> None:
    def see_the_last(step: Step, a: Party) -> None:
        step.require("came last", a == last)
        step.insert(seen(a))

    def answer(body: Body, given: Mapping[str, Any]) -> LivenessAnswer:
        draft = drafted(body)
        name = body.__name__
        draft.eventually(
            "seen", lambda a: ~seen(a), seen, each=(Party,), sentence="It comes.", fair=(name,), given={name: given}
        )
        protocol = draft.protocol()
        return by_fairness(protocol, protocol.liveness[0])

    assert answer(see, {"a": lambda a: a}).fair == ("see",)
    assert answer(see, {}).open == ("see does not always bring it about",)
    assert answer(see, {"a": last}).open == ("see does not always bring it about",)
    assert answer(see_the_last, {"a": lambda a: a}).open == ("see_the_last is not always possible meanwhile",)
