"""What counts as a proof, and what a proof says it rests on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.engines.induction import ProofResult, SolverOutcome, Workers, houdini, prove, try_claims
from carnet_check.engines.induction.induction import answers_to
from carnet_check.engines.induction.solving import Batch, Solver, solve
from carnet_check.engines.proving import solver
from carnet_check.engines.proving.composition import SolverAnswer
from carnet_command.workers import WorkerPool
from carnet_spec.language import Claim, Invariant, Protocol
from carnet_spec.language.terms import FALSE
from tests.unit.model_check.engines.induction.lessons import draft

LESSON = draft().protocol()


@pytest.fixture(scope="module")
def general() -> ProofResult:
    return prove(LESSON, jobs=1, minimise=True)


def test_a_proof_names_the_lemmas_defences_and_assumptions_it_used(general: ProofResult) -> None:
    secrecy = general.claim("secrecy")
    assert secrecy.proved
    assert secrecy.lemmas == ("told_are_honest",)
    assert secrecy.defences == ("screening",)
    assert secrecy.assumptions == ()


def test_an_update_that_a_proof_needs_makes_its_defence_needed(general: ProofResult) -> None:
    assert general.claim("quiet").defences == ("forgetting",)


def test_a_wrong_claim_is_refuted_and_spoils_no_other(general: ProofResult) -> None:
    wrong = general.claim("wrong")
    assert wrong.outcome is SolverOutcome.UNKNOWN, "a failed induction refutes no claim"
    assert wrong.missing == ("step/learn/wrong",)
    assert [answer.outcome for answer in general.failed] == [SolverOutcome.REFUTED]
    assert general.claim("secrecy").proved


def test_what_rests_on_something_unproved_is_unproved() -> None:
    """An absurd lemma is preserved by every step and proves everything; it holds in no first state."""
    absurd = replace(LESSON, lemmas=(*LESSON.lemmas, Invariant("absurd", (), FALSE)))
    result = prove(absurd, jobs=1, only=lambda each: each.id != "step/learn/wrong", hints={})
    assert "init/absurd" in {answer.id for answer in result.failed}
    used = prove(absurd, jobs=1, hints={"step/learn/wrong": ("inv:absurd",)})
    assert used.answers["step/learn/wrong"].core == ("inv:absurd",)
    wrong = used.claim("wrong")
    assert not wrong.proved
    assert wrong.missing == ("init/absurd",)


def test_an_exhausted_budget_is_unknown_and_never_a_proof() -> None:
    result = prove(LESSON, jobs=1, rlimit=1)
    asked = [answer for answer in result.answers.values() if answer.attempt >= 0]
    assert asked
    assert {answer.outcome for answer in asked} == {SolverOutcome.UNKNOWN}
    assert not any(result.claim(claim.name).proved for claim in LESSON.claims if claim.name != "no-blame")


def test_an_obligation_that_was_not_looked_at_is_not_proved() -> None:
    result = prove(LESSON, jobs=1, only=lambda each: each.id.startswith("init/"))
    assert result.claim("secrecy").missing == ("step/learn/secrecy",)


def test_worker_processes_give_the_same_answers(general: ProofResult) -> None:
    result = prove(LESSON, jobs=2, minimise=True)
    assert _without_times(result) == _without_times(general)


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
    assert not result.claim("secrecy").proved
    others = [id for id in general.answers if id != lost.id]
    assert {id: result.answers[id].outcome for id in others} == {id: general.answers[id].outcome for id in others}


def test_a_claim_that_needs_a_threat_model_is_proved_under_it_alone() -> None:
    proofs = try_claims(LESSON, jobs=1).claims
    assert proofs["no-blame", "honest"].proved
    assert proofs["no-blame", "honest"].axioms == ("honest: nobody",)
    assert ("no-blame", "anyone") not in proofs
    assert {key for key, proof in proofs.items() if proof.proved} == {
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
    assert result.claim("secrecy").proved


def test_nothing_is_taken_over_from_a_proof_about_other_formulas(general: ProofResult) -> None:
    careless = draft().protocol(without=("screening",))
    result = prove(careless, jobs=1, baselines=[general])
    assert {answer.id for answer in result.failed} == {"step/learn/wrong", "step/tell/told_are_honest"}
    assert not result.claim("secrecy").proved
    assert result.claim("quiet").proved


def test_the_general_proof_says_nothing_about_a_claim_limited_to_a_threat_model(general: ProofResult) -> None:
    assert general.claim("no-blame").outcome is SolverOutcome.UNKNOWN
    assert "every threat model" in general.claim("no-blame").reason


# -- dropping what is not inductive ---------------------------------------------------------------


def test_a_removed_defence_drops_the_invariants_that_needed_it(general: ProofResult) -> None:
    careless = draft().protocol(without=("screening",))
    found = houdini(careless, jobs=1, baselines=[general])
    assert found.complete
    assert set(found.dropped) == {"told_are_honest", "secrecy", "wrong"}
    assert found.surviving == ("quiet",)
    assert found.claim("quiet").proved
    assert found.claim("secrecy").missing == ("step/learn/secrecy",)


def test_proofs_at_hand_change_what_is_asked_and_not_what_survives(general: ProofResult) -> None:
    careless = draft().protocol(without=("screening",))
    fresh, helped = houdini(careless, jobs=1), houdini(careless, jobs=1, baselines=[general])
    assert fresh.surviving == helped.surviving
    assert helped.asked < fresh.asked


def test_only_what_the_wanted_claims_rest_on_is_looked_at() -> None:
    careless = draft().protocol(without=("screening",))
    found = houdini(careless, jobs=1, claims=["quiet"])
    assert found.claim("quiet").proved
    assert found.asked == len([id for id in found.proof.obligations if id.endswith("/quiet")])
    assert not found.complete
    assert found.surviving == (), "what was not looked at is not known to be inductive"
    assert not found.claim("secrecy").proved


def test_the_search_stops_when_the_wanted_claims_have_fallen() -> None:
    found = houdini(LESSON, jobs=1, claims=["wrong"])
    assert set(found.dropped) == {"wrong"}
    assert found.rounds == 1
    assert found.claim("wrong").missing == ("step/learn/wrong",)


def test_a_claim_under_another_threat_model_is_not_proved_by_looking_away() -> None:
    found = houdini(LESSON, LESSON.threat("anyone"), jobs=1, claims=["no-blame"])
    assert found.claim("no-blame").outcome is SolverOutcome.UNKNOWN


def test_what_survives_is_a_proof_by_itself(general: ProofResult) -> None:
    found = houdini(LESSON, jobs=1, baselines=[general])
    assert set(found.dropped) == {"wrong"}
    kept = _only(LESSON, found.surviving)
    assert not prove(kept, jobs=1).failed


def _only(protocol: Protocol, names: tuple[str, ...]) -> Protocol:
    def kept(claim: Claim) -> bool:
        return claim.invariant is not None and claim.invariant.name in names

    lemmas = tuple(lemma for lemma in protocol.lemmas if lemma.name in names)
    return replace(protocol, claims=tuple(filter(kept, protocol.claims)), lemmas=lemmas)


# -- hints ----------------------------------------------------------------------------------------


def test_hints_survive_being_written_and_read(general: ProofResult, tmp_path: Path) -> None:
    known = solver.hints_from(general.answers.values())
    path = tmp_path / "hints" / "main.json"
    solver.save_hints(known, path)
    assert solver.decoded(json.loads(path.read_text())) == known
    assert known["step/learn/secrecy"] == ("guard:told", "inv:secrecy", "inv:told_are_honest")


@pytest.mark.parametrize("hint", [(), ("inv:quiet",), ("no such hypothesis",)])
def test_a_bad_hint_costs_time_and_changes_no_verdict(general: ProofResult, hint: tuple[str, ...]) -> None:
    misled = prove(LESSON, jobs=1, hints=dict.fromkeys(general.answers, hint))
    assert {a.id: a.outcome for a in misled.answers.values()} == {a.id: a.outcome for a in general.answers.values()}


def test_a_good_hint_is_all_that_is_tried(general: ProofResult) -> None:
    known = solver.hints_from(general.answers.values())
    again = prove(LESSON, jobs=1, hints=known)
    assert {a.attempt for a in again.answers.values() if known.get(a.id)} == {0}


def test_a_protocol_without_hints_has_none() -> None:
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
