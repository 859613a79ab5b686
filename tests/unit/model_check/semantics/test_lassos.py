"""Lassos that are counterexamples, by hand, and fairness: what nobody has to take and only an instance prevents."""

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.semantics import Interpreter, fairness
from carnet_spec.language import Instance, Protocol, SpecificationError, Step
from carnet_spec.language.analysis.fair_parts import divide_fair_steps, part
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import ask, back, learn, see, serve_one, swing


def serve(step: Step) -> None:
    step.require("there", third)
    step.insert(second)


def stop(step: Step) -> None:
    step.require("served", second)
    step.remove(second)


def _judge(*fair: str) -> Interpreter:
    draft = drafted(swing, back, ask, serve, stop, see, rules=(learn,))
    draft.eventually("served", first, second, sentence="Who asks is served.", fair=fair)
    return Interpreter(draft.protocol(), Instance({"Party": ("p", "q")}))


def _trace(loop: int | None, *names: str) -> Trace:
    words = (name.split() for name in names)
    steps = (TraceStep(name, "holder", tuple(("a", party) for party in about)) for name, *about in words)
    return Trace("small", "main", (), "", tuple(steps), loop)


ROUNDS: dict[str, tuple[tuple[str, ...], tuple[Any, ...], str]] = {
    "nobody has to act": ((), (1, "ask"), ""),
    "it goes round": (("swing", "back"), (1, "ask", "swing", "back"), ""),
    "what is closed now and then is treated fairly": (("serve",), (1, "ask", "swing", "back"), ""),
    "what is closed for ever is treated fairly": (("serve",), (1, "ask"), ""),
    "deductions are part of the way": ((), (3, "see p", "learn p", "ask"), ""),
    "the way may be served": ((), (5, "ask", "swing", "serve", "stop", "back"), ""),
    "no lasso": ((), (None, "ask"), "it goes round nowhere"),
    "it does not return": ((), (1, "ask", "swing"), "it does not return to the state in which it begins to go round"),
    "nobody asks": ((), (0, "swing", "back"), "it does not wait in vain"),
    "served": ((), (3, "ask", "swing", "serve"), "it does not wait in vain"),
    "served on the way round": ((), (2, "ask", "swing", "serve", "stop"), "it does not wait in vain"),
    "a deduction is left out": (
        (),
        (4, "see p", "learn p", "see q", "ask"),
        "a deduction is left out where it goes round",
    ),
    "always open": (("swing",), (1, "ask"), "it is not fair to swing"),
    "one of two is open": (("serve", "back"), (2, "ask", "swing"), "it is not fair to serve, back"),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_the_judge_objects_to_what_is_no_counterexample(name: str) -> None:
    fair, (loop, *steps), why = ROUNDS[name]
    judge = _judge(*fair)
    assert fairness.objection(judge, judge.protocol.liveness[0], _trace(loop, *steps)) == why


@pytest.mark.parametrize(
    ("steps", "weakly", "strongly"),
    [
        ((1, "ask", "swing", "back"), "", "it is not fair to serve"),
        ((1, "ask"), "", ""),
        ((3, "ask", "swing", "back"), "", ""),
        ((2, "ask", "swing"), "it is not fair to serve", "it is not fair to serve"),
    ],
    ids=["open now and then", "never open", "open on the way alone", "always open"],
)
def test_strong_fairness_is_not_to_be_open_again_and_again_and_never_taken(
    steps: tuple[Any, ...], weakly: str, strongly: str
) -> None:
    judge = _judge("serve")
    (weak,) = judge.protocol.liveness
    loop, *names = steps
    assert fairness.objection(judge, weak, _trace(loop, *names)) == weakly
    assert fairness.objection(judge, replace(weak, strong=("serve",)), _trace(loop, *names)) == strongly


def test_a_lasso_is_judged_for_each_element() -> None:
    draft = drafted(ask, see)
    draft.eventually(
        "seen",
        lambda a: first & ~seen(a),
        seen,
        each=(Party,),
        sentence="It comes.",
        fair=("see",),
        given={"see": {"a": lambda a: a}},
    )
    judge = Interpreter(draft.protocol(), Instance({"Party": ("p", "q")}))
    (live,) = judge.protocol.liveness
    for_whom = [each for _, each in fairness.at_each(replace(live, fair=(), given=()), judge.instance)]
    assert [each.trigger != live.trigger for each in for_whom] == [True, True]
    unfair = _trace(2, "ask", "see p")
    assert fairness.objection(judge, live, unfair) == "it does not wait in vain; or it is not fair to see"
    nobody_acts = replace(live, fair=(), given=())
    assert fairness.objection(judge, nobody_acts, unfair) == ""
    found = fairness.waits_in_vain(judge, nobody_acts, judge.replay(unfair), unfair)
    assert found is not None
    assert found[0] == {"a": "q"}


def test_fairness_of_a_property_for_each_element_is_that_for_some() -> None:
    draft = drafted(see)
    draft.eventually("seen", lambda a: ~seen(a), seen, each=(Party,), sentence="It comes.", fair=("see",))
    protocol = draft.protocol()
    with pytest.raises(SpecificationError, match="seen asks for fairness of no steps but those for some elements"):
        part(protocol.action("see"), protocol.liveness[0])


MEANT: dict[str, tuple[tuple[Any, ...], str]] = {
    "the step that is meant is not taken": ((1, "ask", "serve_one q", "serve_one q"), "it is not fair to serve_one"),
    "nothing that is meant": ((1, "ask"), "it is not fair to serve_one"),
    "it is taken, and all is well": ((1, "ask", "serve_one p"), "it does not return"),
}


@pytest.mark.parametrize("name", MEANT)
def test_the_judge_asks_for_the_steps_that_are_meant(name: str) -> None:
    (loop, *steps), why = MEANT[name]
    draft = drafted(ask, serve_one)
    draft.eventually(
        "served", first, second, sentence="It comes.", fair=("serve_one",), given={"serve_one": {"a": last}}
    )
    judge = Interpreter(draft.protocol(), Instance({"Party": ("p", "q")}))
    live = judge.protocol.liveness[0]
    assert fairness.objection(judge, live, _trace(loop, *steps)).startswith(why)
    everybody = replace(live, given=())
    taken = [step for step in steps if step == "serve_one q"]
    assert (fairness.objection(judge, everybody, _trace(loop, *steps)) == "") == bool(taken)


def test_a_round_is_taken_until_the_whole_state_returns() -> None:
    judge = _judge()
    see_and_swing = [_trace(None, "see p").steps[0], *_trace(None, "swing", "back").steps]
    written = fairness.going_round(judge, _trace(None, "ask").steps, see_and_swing, _trace(None))
    assert [step.action for step in written.steps] == ["ask", "see", "learn", "swing", "back", "see", "swing", "back"]
    assert written.loop == 5
    assert fairness.objection(judge, judge.protocol.liveness[0], written) == ""


def use(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(first)


def tell(step: Step, a: Party) -> None:
    step.require("new", ~first)
    step.insert(known(a))


def pass_on(step: Step, a: Party) -> None:
    step.insert(third, when=known(a))


def finish(step: Step) -> None:
    step.require("third", third)
    step.insert(second)


def _live(*fair: str) -> Protocol:
    draft = drafted(see, use, tell, pass_on, finish, rules=(learn,))
    draft.eventually("live", ~second, second, sentence="It comes.", fair=fair)
    return draft.protocol()


DECIDES = {
    "a guard of a fair action reads what it concludes": ("use", True),
    "a fair action writes what it concludes": ("tell", True),
    "a fair action waits for what is inserted because of it": ("finish", True),
    "it is to be taken fairly itself": ("learn", True),
    "nothing that is fair depends on it": ("see", False),
}


@pytest.mark.parametrize("name", DECIDES)
def test_a_rule_that_decides_about_fairness_may_be_left_out(name: str) -> None:
    fair, decides = DECIDES[name]
    protocol = _live(fair)
    assert fairness.rules_as_steps(protocol, protocol.liveness[0]) == ({"learn"} if decides else set())
    assert fairness.with_rules_as_steps(protocol, protocol.liveness).action("learn").deduction is not decides


def test_an_action_that_changes_nothing_or_lacks_elements_is_not_open() -> None:
    def draw(step: Step, k: Key) -> None:
        step.fresh(k)
        step.require("wanted", ~first)

    judge = Interpreter(drafted(see).protocol(), Instance({"Party": ("p",)}))
    action, start = judge.protocol.action("see"), judge.initial()
    after = judge.step(start, action, {"a": "p"})
    assert fairness.is_open(judge, action, start)
    assert not fairness.is_open(judge, action, after)
    assert not fairness.is_cut_short(judge, action, after), "every party is in its pool"
    judge = Interpreter(drafted(draw).protocol(), Instance({"Key": ("k",)}))
    action, start = judge.protocol.action("draw"), judge.initial()
    assert fairness.is_open(judge, action, start)
    after = judge.step(start, action, {"k": "k"})
    assert not fairness.is_open(judge, action, after)
    assert fairness.is_cut_short(judge, action, after)


def test_an_action_is_divided_into_what_is_meant_and_the_rest() -> None:
    draft = drafted(see, finish)
    given = {"see": {"a": last}}
    draft.eventually("seen", ~second, second, sentence="It comes.", fair=("see", "finish"), given=given)
    draft.eventually("other", ~third, second, sentence="It comes.", fair=("see",))
    whole_one = draft.protocol()
    live, other = whole_one.liveness
    assert not fairness.agree(whole_one, live, other)
    assert fairness.agree(whole_one, live, live)
    parts = divide_fair_steps(whole_one, [live])
    assert [action.name for action in parts.actions] == ["see", "see otherwise", "finish"]
    instance = Instance({"Party": ("p", "q", "r")}, pools={("see", "a"): ("p", "q")})
    judge = Interpreter(parts, fairness.divided_instance(instance, parts))
    taken = [(action.name, env["a"]) for action, env in judge.enabled_steps(judge.initial())]
    assert taken == [("see", "p"), ("see otherwise", "q")]
    assert fairness.counted_whole({"see": 2, "see otherwise": 3, "finish": 1}) == {"see": 5, "finish": 1}


def test_what_is_open_is_what_is_meant() -> None:
    draft = drafted(see)
    draft.eventually("seen", ~second, second, sentence="It comes.", fair=("see",), given={"see": {"a": last}})
    protocol = draft.protocol()
    judge = Interpreter(protocol, Instance({"Party": ("p", "q")}))
    whole_action, start = protocol.action("see"), judge.initial()
    meant = part(whole_action, protocol.liveness[0])
    after = judge.step(start, whole_action, {"a": "p"})
    assert fairness.is_open(judge, whole_action, after)
    assert fairness.is_open(judge, meant, start)
    assert not fairness.is_open(judge, meant, after)


def pay(step: Step) -> None:
    step.require("unpaid", ~first)
    step.insert(first)


LIMITED = {
    "a pool": (drafted(see), Instance({"Party": ("p", "q")}, pools={("see", "a"): ()}), "see", True),
    "a pool of all": (drafted(see), Instance({"Party": ("p",)}, pools={("see", "a"): ("p",)}), "see", False),
    "a budget": (drafted(costly=(pay,)), Instance({}, budget=0), "pay", True),
    "no budget": (drafted(costly=(pay,)), Instance({}), "pay", False),
}


@pytest.mark.parametrize("name", LIMITED)
def test_what_only_an_instance_prevents_is_cut_short(name: str) -> None:
    draft, instance, action, cut = LIMITED[name]
    judge = Interpreter(draft.protocol(), instance)
    assert fairness.is_open(judge, judge.protocol.action(action), judge.initial()) is not cut
    assert fairness.is_cut_short(judge, judge.protocol.action(action), judge.initial()) is cut
