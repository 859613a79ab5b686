"""Liveness is proved by steps of which one is always possible, each leads on, and which nothing else forestalls."""

from __future__ import annotations

import pytest

from carnet_check.engines.induction import liveness
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.engines.interface import LivenessAnswer
from carnet_spec.language import Draft, Formula, Step
from tests.unit.model_check.small import Body, Party, Phase, drafted, first, last, phase, second, serve_one, third


def serve(step: Step) -> None:
    step.require("waited for", first)
    step.insert(second)


def serve_if_open(step: Step) -> None:
    step.require("open", third)
    step.insert(second)


def leave(step: Step) -> None:
    step.require("waits", first)
    step.remove(first)


def look_away(step: Step) -> None:
    step.require("waits", first)
    step.remove(third)


def _open(draft: Draft, fair: str) -> tuple[str, ...]:
    draft.eventually("served", first, second, sentence="Who waits is served.", fair=(fair,))
    protocol = draft.protocol()
    return by_fairness(protocol, protocol.liveness[0]).open


def test_a_step_that_is_always_possible_brings_it_about() -> None:
    assert _open(drafted(serve, look_away), "serve") == ()


def test_a_step_that_is_not_always_possible_does_not() -> None:
    assert _open(drafted(serve_if_open, look_away), "serve_if_open") == (
        "serve_if_open is not always possible meanwhile",
    )


def test_a_step_that_does_something_else_does_not() -> None:
    assert _open(drafted(serve, look_away), "look_away") == ("look_away does not always bring it about",)


def test_nothing_is_brought_about_for_those_who_left() -> None:
    assert _open(drafted(serve, leave), "serve") == ("leave may end the waiting without what is waited for",)


def test_only_the_steps_that_are_meant_have_to_bring_it_about() -> None:
    assert _open(drafted(serve_one), "serve_one") == ("serve_one does not always bring it about",)
    draft = drafted(serve_one)
    draft.eventually(
        "served", first, second, sentence="It comes.", fair=("serve_one",), given={"serve_one": {"a": last}}
    )
    protocol = draft.protocol()
    assert by_fairness(protocol, protocol.liveness[0]).fair == ("serve_one",)


# -- in several stages -------------------------------------------------------------------------------


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


def close(step: Step) -> None:
    step.require("nobody waits", ~first)
    step.set(phase, Phase.OVER)


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
    assert (answer.proved, answer.lemmas, answer.axioms) == (True, (), frozenset())


def test_a_lemma_that_does_not_hold_proves_nothing() -> None:
    answer = _staged(kept_open(drafted(begin, prepare, finish, close)), "prepare", "finish")
    assert not answer.proved
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
    assert not answer.proved
    assert why in answer.open
