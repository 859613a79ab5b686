"""Conditions of liveness as obligations: what they assume, what they are called, and what they are about."""

from dataclasses import replace
from typing import Any

import pytest
import z3

from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.exports.obligation_text import Writer
from carnet_check.loading.families import load
from carnet_check.obligations import GOAL, LivenessAttempt, attempts, layers
from carnet_check.obligations.liveness import BEFORE
from carnet_spec.language import Draft, Eventually, Protocol, Step
from carnet_spec.language.terms import FALSE, TRUE
from tests.fixtures import desk
from tests.unit.model_check.command import TOY
from tests.unit.model_check.small import Party, drafted, first, seen

DESK = desk.draft.protocol()


def follows(attempt: LivenessAttempt) -> bool:
    """Whether Z3 finds that every obligation follows, by its text alone."""
    return all(_unsat(Writer().text(each)) for each in attempt.obligations)


def _unsat(text: str) -> bool:
    solver = z3.Solver()
    solver.from_string(text)
    return bool(solver.check() == z3.unsat)


def tried(protocol: Protocol, name: str) -> tuple[LivenessAttempt, ...]:
    return attempts(layers(protocol))[name]


def changed(**parts: Any) -> Protocol:
    """Return the desk with another property of who is served."""
    (served,) = (live for live in DESK.liveness if live.name == "served")
    return replace(DESK, liveness=(replace(served, **parts),))


@pytest.mark.parametrize(
    "protocol",
    [DESK, changed(strong=()), changed(fair=("lend",), given=()), changed(given=()), changed(strong=("bring_back",))],
    ids=["as it is", "weakly fair", "by lending alone", "to nobody in particular", "strong elsewhere"],
)
def test_what_follows_by_its_text_is_what_the_engine_proves(protocol: Protocol) -> None:
    for live in protocol.liveness:
        proved = next((each.stages for each in tried(protocol, live.name) if follows(each)), ())
        assert proved == by_fairness(protocol, live).fair


def test_every_condition_has_an_id_of_its_own_whatever_actions_are_called() -> None:
    renamed = {"lend": "possible", "bring_back": "waits", "ask": "a+b/by"}
    actions = tuple(replace(each, name=renamed[each.name]) for each in DESK.actions)
    (live,) = (each for each in DESK.liveness if each.name == "served")
    given = tuple(replace(each, action=renamed[each.action]) for each in live.given)
    fair, strong = (tuple(renamed[name] for name in names) for names in (live.fair, live.strong))
    asked = replace(live, name="a/b", fair=(*fair, "a+b/by"), strong=strong, given=given)
    protocol = replace(DESK, actions=actions, liveness=(asked,))
    every = [each for attempt in tried(protocol, "a/b") for each in attempt.obligations]
    texts = {(each.id, Writer().text(each)) for each in every}
    assert len({id for id, _ in texts}) == len(texts)
    assert all(id.startswith("live/a%2Fb/") for id, _ in texts)


def test_no_axiom_of_a_threat_model_is_assumed_and_what_is_claimed_is() -> None:
    toy = load(TOY).protocol()
    (action, *_) = (each for each in toy.actions if not each.deduction)
    asked = replace(toy, liveness=(Eventually("done", TRUE, FALSE, "It is done.", (action.name,)),))
    assert any(threat.axioms for threat in toy.threats)
    names = {each.name for attempt in tried(asked, "done") for one in attempt.obligations for each in one.hypotheses}
    assert {name.partition(":")[0] for name in names} >= {"inv", BEFORE, GOAL}
    assert not any(name.startswith("threat:") for name in names)
    (attempt, *_) = tried(DESK, "served")
    stated = [each.name for each in attempt.obligations[0].hypotheses]
    assert stated == ["sort:Person", "inv:one_drill", BEFORE, GOAL]


def test_what_stands_for_any_element_is_no_parameter() -> None:
    """Who serves somebody serves him, and not whoever waits."""

    def serve(step: Step, p: Party) -> None:
        step.insert(seen(p))

    def waiting(draft: Draft) -> Draft:
        draft.eventually("served", lambda p: first, seen, each=(Party,), sentence="All are served.", fair=("serve",))
        return draft

    protocol = waiting(drafted(serve)).protocol()
    assert protocol.liveness[0].params[0] == protocol.action("serve").params[0]
    assert not any(map(follows, tried(protocol, "served")))
    assert not by_fairness(protocol, protocol.liveness[0]).is_proved
