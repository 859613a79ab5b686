"""Saturation: after a step exactly those rules are looked at that may add something, and all they add is added."""

from __future__ import annotations

import pytest

from carnet_check.engines.explicit.layout import Value
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.saturation import Rule, changed
from carnet_check.semantics import Interpreter
from carnet_spec.language import Draft, Instance, Row, Step
from tests.unit.model_check.small import Body, Party, Phase, before, drafted, first, known, phase, seen, third

INSTANCE = Instance({"Party": ("p1", "p2", "p3")}, {"before": frozenset({("p1", "p2"), ("p2", "p3")})})


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def shut(step: Step) -> None:
    step.insert(first)
    step.set(phase, Phase.LATE)


def learn(step: Step, a: Party) -> None:
    step.given("open", seen(a) & ~first)
    step.insert(known(a))


def share(step: Step, a: Party, b: Party) -> None:
    step.given("told", known(a) & before(a, b))
    step.insert(known(b))


def finish(step: Step) -> None:
    step.given("late", phase == Phase.LATE)
    step.insert(third)


def _model(*rules: Body) -> Model:
    draft: Draft = drafted(see, shut, rules=rules)
    return build(Interpreter(draft.protocol(), INSTANCE), (), (), reduce=False)


def _rule(model: Model, name: str) -> Rule:
    return next(rule for rule in model.saturation.rules if rule.name == name)


WOKEN: dict[str, tuple[str, Row, Value, set[str]]] = {
    "a premise begins to hold": ("seen", ("p1",), True, {"learn"}),
    "a premise ceases to hold": ("seen", ("p1",), False, set()),
    "a denied premise ceases to hold": ("first", (), False, {"learn"}),
    "a denied premise begins to hold": ("first", (), True, set()),
    "a function changes": ("phase", (), "LATE", {"finish"}),
    "a conclusion is premise of another": ("known", ("p2",), True, {"share"}),
    "a conclusion is taken away": ("known", ("p2",), False, {"learn", "share"}),
}


@pytest.mark.parametrize("name", WOKEN)
def test_a_rule_is_woken_by_what_may_let_it_add_something(name: str) -> None:
    model = _model(learn, share, finish)
    symbol, row, value, woken = WOKEN[name]
    place = model.layout.tables[symbol].places[row]
    assert {rule.name for rule in model.saturation.rules if rule.woken_by(place, value)} == woken


@pytest.mark.parametrize("values", [(True, False), (False, True)], ids=str)
def test_what_one_write_wakes_says_nothing_of_another_write_to_the_same_place(values: tuple[bool, ...]) -> None:
    model = _model(learn, share, finish)
    place = model.layout.tables["first"].places[()]
    woken = {value: model.saturation.after({place: value}) is not None for value in values}
    assert woken == {True: False, False: True}


def test_a_rule_feeds_those_whose_premises_it_may_make_true() -> None:
    model = _model(learn, share, finish)
    rules = model.saturation.rules
    feeds = {(rule.name, fed.name) for rule in rules for fed in rules if fed.fed_by(rule)}
    assert feeds == {("learn", "share"), ("share", "share")}


@pytest.mark.parametrize("rules", [(learn, share), (share, learn)], ids=["in order", "backwards"])
def test_what_follows_from_what_follows_is_added_whatever_the_order(rules: tuple[Body, ...]) -> None:
    model = _model(*rules)
    place = model.layout.tables["seen"].places["p1",]
    s = changed(0, model.layout.written([(place, True)], lambda: None))
    closure = model.saturation.after({place: True})
    assert closure is not None
    after = changed(s, closure.answer(s))
    held = [row for row, place in model.layout.tables["known"].places.items() if after & place.mask]
    assert held == [("p1",), ("p2",), ("p3",)]
    assert changed(after, closure.answer(after)) == after


def test_nothing_is_looked_at_after_a_step_that_wakes_no_rule() -> None:
    model = _model(learn)
    assert model.saturation.after({model.layout.tables["phase"].places[()]: "LATE"}) is None


def test_the_first_state_is_saturated_and_a_rule_that_fired_says_so() -> None:
    draft = drafted(see, rules=(finish,))
    draft.initially(phase, Phase.LATE)
    model = build(Interpreter(draft.protocol(), INSTANCE), (), (), reduce=False)
    start = model.saturation.start()
    assert start & model.layout.tables["third"].places[()].mask
    assert _rule(model, "finish").fired
    assert not _rule(_model(learn), "learn").fired
