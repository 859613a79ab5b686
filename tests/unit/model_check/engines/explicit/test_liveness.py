"""A fair run that waits for ever is found where there is one, and not where an instance cuts runs short."""

from __future__ import annotations

import pytest

from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploration import Caps, Exploration, trigger_of
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_spec.language import Draft, Instance, Protocol, Step
from tests.unit.model_check.small import (
    Key,
    Party,
    ask,
    back,
    current,
    drafted,
    first,
    known,
    last,
    learn,
    second,
    see,
    serve_one,
    swing,
    third,
)

LAST = {"serve_one": {"a": last}}
"""The steps that serve the party that came last."""


def serve(step: Step) -> None:
    step.require("asked", first)
    step.insert(second)


def serve_there(step: Step) -> None:
    step.require("there", third)
    step.insert(second)


def serve_known(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(second)


def renew(step: Step, k: Key) -> None:
    step.fresh(k)
    step.set(current, k)


def pay(step: Step) -> None:
    step.require("asked", first)
    step.insert(second)


def _protocol(draft: Draft, *fair: str) -> Protocol:
    draft.eventually("served", first, second, sentence="Who asks is served.", fair=fair)
    return draft.protocol()


def _found(protocol: Protocol, instance: Instance | None = None, max_states: int | None = None) -> Exploration:
    where = instance or Instance({"Party": ("p", "q")})
    found = lassos(protocol, where, protocol.liveness, caps=Caps(states=max_states))
    judge = Interpreter(with_rules_as_steps(protocol, protocol.liveness), where)
    for trace in found.violations.values():
        assert objection(judge, protocol.liveness[0], trace) == ""
    return found


def _way(found: Exploration) -> tuple[list[str], list[str]]:
    """Return the actions of the only lasso: those on the way there, and those that are repeated."""
    (trace,) = found.violations.values()
    names = [step.action for step in trace.steps]
    return names[: trace.loop], names[trace.loop :]


def test_fairness_of_the_step_that_is_always_open_brings_it_about() -> None:
    found = _found(_protocol(drafted(ask, serve, swing, back), "serve"))
    assert (found.complete, found.states, found.violations, found.undecided) == (True, 6, {}, {})


def test_without_fairness_nothing_happens_any_more() -> None:
    assert _way(_found(_protocol(drafted(ask, serve, swing, back)))) == (["ask"], [])


def test_a_step_that_is_closed_now_and_then_may_be_missed_for_ever() -> None:
    draft = drafted(ask, serve_there, swing, back)
    stem, repeated = _way(_found(_protocol(draft, "swing", "back", "serve_there")))
    assert (stem, sorted(repeated)) == (["ask"], ["back", "swing"])


def test_nobody_has_to_draw_a_conclusion_that_an_honest_party_waits_for() -> None:
    draft = drafted(ask, see, serve_known, rules=(learn,))
    stem, repeated = _way(_found(_protocol(draft, "see", "serve_known")))
    assert (sorted(stem), repeated) == (["ask", "see", "see"], [])
    again = drafted(ask, see, serve_known, rules=(learn,))
    assert not _found(_protocol(again, "see", "serve_known", "learn")).violations


def test_what_does_not_matter_to_the_search_returns_in_the_whole_state_too() -> None:
    """Whether somebody is seen matters to nobody: a reduced search goes round once where the states do so later."""
    stem, repeated = _way(_found(_protocol(drafted(ask, swing, back, see), "swing", "back")))
    assert (stem, sorted(repeated)) == (["ask"], ["back", "swing"])


def test_what_a_fair_step_changes_belongs_to_the_state() -> None:
    """Nothing reads who is seen; but a run that is fair to seeing goes on until somebody is seen."""
    stem, repeated = _way(_found(_protocol(drafted(ask, see), "see")))
    assert (sorted(stem), repeated) == (["ask", "see", "see"], [])


def test_who_asks_for_nothing_does_not_wait() -> None:
    def ask_when_served(step: Step) -> None:
        step.require("served", second)
        step.insert(first)

    assert not _found(_protocol(drafted(ask_when_served, serve_there, swing))).violations


def test_a_way_out_is_no_way_round() -> None:
    """Whoever is fair to the step that serves is served, though it leads out of where runs go round."""
    found = _found(_protocol(drafted(ask, serve, swing, back), "swing", "back", "serve"))
    assert (found.violations, found.undecided) == ({}, {})


def test_only_the_steps_that_are_meant_have_to_be_taken() -> None:
    """Who serves others for ever is fair to serving, and not to serving those who came last."""
    stem, repeated = _way(_found(_protocol(drafted(ask, serve_one), "serve_one")))
    assert (stem, repeated) == (["ask"], ["serve_one", "serve_one"])
    draft = drafted(ask, serve_one, swing)
    draft.eventually("served", first, second, sentence="It comes.", fair=("serve_one",), given=LAST)
    found = _found(draft.protocol())
    assert (found.complete, found.violations, found.undecided) == (True, {}, {})
    assert set(found.fired) == {"ask", "serve_one", "swing"}
    assert found.fired["serve_one"] == 8


def test_a_lasso_takes_steps_by_the_names_of_whole_actions() -> None:
    """Nobody has to serve those who did not come last."""
    draft = drafted(ask, serve_one)
    draft.eventually("there", first, second & third, sentence="It comes.", fair=("serve_one",), given=LAST)
    found = _found(draft.protocol())
    assert _way(found)[0][0] == "ask"
    assert {step.action for trace in found.violations.values() for step in trace.steps} <= {"ask", "serve_one"}


CUT = {
    "no element left to draw": (drafted(ask, renew), ("renew",), Instance({"Key": ("k",)})),
    "no budget": (drafted(ask, costly=(pay,)), ("pay",), Instance({}, budget=0)),
    "no element in the pool": (
        drafted(ask, see, serve),
        ("see",),
        Instance({"Party": ("p", "q")}, pools={("see", "a"): ("p",)}),
    ),
}


@pytest.mark.parametrize("name", CUT)
def test_a_run_that_only_the_instance_ends_is_no_violation_and_no_success(name: str) -> None:
    draft, fair, instance = CUT[name]
    found = _found(_protocol(draft, *fair), instance)
    assert found.violations == {}
    assert fair[0] in found.undecided["served"]


def test_a_search_that_stops_early_is_not_complete_and_shows_what_it_found() -> None:
    found = _found(_protocol(drafted(ask, serve, swing, back)), max_states=2)
    assert found.stopped_by == "states"


def test_a_state_whose_steps_are_not_known_is_no_end() -> None:
    found = _found(_protocol(drafted(ask, serve), "serve"), max_states=2)
    assert (found.complete, found.violations, found.undecided) == (False, {}, {})


def test_a_way_to_the_trigger_is_shown() -> None:
    protocol = _protocol(drafted(ask, serve), "serve")
    ways = _found(protocol).goals
    assert [step.action for step in ways[trigger_of(protocol.liveness[0]).name].steps] == ["ask"]


def test_what_never_waits_has_no_way() -> None:
    assert _found(_protocol(drafted(serve), "serve")).goals == {}
