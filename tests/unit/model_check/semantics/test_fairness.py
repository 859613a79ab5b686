"""Fairness: which rules nobody has to take, when an action can change something, and what only an instance prevents."""

from __future__ import annotations

import pytest

from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import (
    agree,
    counted_whole,
    divided,
    divided_instance,
    is_cut_short,
    is_open,
    part,
    rules_as_steps,
    with_rules_as_steps,
)
from carnet_spec.language import Instance, Protocol, Step
from tests.unit.model_check.small import Key, Party, drafted, first, known, last, second, seen, third


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


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


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


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
    assert rules_as_steps(protocol, protocol.liveness[0]) == ({"learn"} if decides else set())
    assert with_rules_as_steps(protocol, protocol.liveness).action("learn").deduction is not decides


def test_an_action_that_changes_nothing_is_not_open() -> None:
    judge = Interpreter(drafted(see).protocol(), Instance({"Party": ("p",)}))
    action, start = judge.protocol.action("see"), judge.initial()
    after = judge.step(start, action, {"a": "p"})
    assert is_open(judge, action, start)
    assert not is_open(judge, action, after)
    assert not is_cut_short(judge, action, after), "every party is in its pool"


def test_an_action_is_divided_into_what_is_meant_and_the_rest() -> None:
    draft = drafted(see, finish)
    given = {"see": {"a": last}}
    draft.eventually("seen", ~second, second, sentence="It comes.", fair=("see", "finish"), given=given)
    draft.eventually("other", ~third, second, sentence="It comes.", fair=("see",))
    whole_one = draft.protocol()
    live, other = whole_one.liveness
    assert not agree(whole_one, live, other)
    assert agree(whole_one, live, live)
    parts = divided(whole_one, [live])
    assert [action.name for action in parts.actions] == ["see", "see otherwise", "finish"]
    instance = Instance({"Party": ("p", "q", "r")}, pools={("see", "a"): ("p", "q")})
    judge = Interpreter(parts, divided_instance(instance, parts))
    taken = [(action.name, env["a"]) for action, env in judge.enabled(judge.initial())]
    assert taken == [("see", "p"), ("see otherwise", "q")]
    assert counted_whole({"see": 2, "see otherwise": 3, "finish": 1}) == {"see": 5, "finish": 1}


def test_what_is_open_is_what_is_meant() -> None:
    draft = drafted(see)
    draft.eventually("seen", ~second, second, sentence="It comes.", fair=("see",), given={"see": {"a": last}})
    protocol = draft.protocol()
    judge = Interpreter(protocol, Instance({"Party": ("p", "q")}))
    whole_action, start = protocol.action("see"), judge.initial()
    meant = part(whole_action, protocol.liveness[0])
    after = judge.step(start, whole_action, {"a": "p"})
    assert is_open(judge, whole_action, after)
    assert is_open(judge, meant, start)
    assert not is_open(judge, meant, after)


def draw(step: Step, k: Key) -> None:
    step.fresh(k)
    step.require("wanted", ~first)


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
    assert is_open(judge, judge.protocol.action(action), judge.initial()) is not cut
    assert is_cut_short(judge, judge.protocol.action(action), judge.initial()) is cut


def test_a_draw_is_cut_short_where_no_element_is_left() -> None:
    judge = Interpreter(drafted(draw).protocol(), Instance({"Key": ("k",)}))
    action, start = judge.protocol.action("draw"), judge.initial()
    assert is_open(judge, action, start)
    after = judge.step(start, action, {"k": "k"})
    assert not is_open(judge, action, after)
    assert is_cut_short(judge, action, after)
