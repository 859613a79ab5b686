"""What the compiled search remembers of an action: its moves, their price, and nothing that changes nothing."""

from __future__ import annotations

import pytest

from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import Model, build, can_afford
from carnet_check.engines.explicit.saturation import changed
from carnet_check.engines.explicit.search import Moves, all_moves, expander
from carnet_check.semantics import Interpreter
from carnet_spec.language import Instance, Step
from tests.unit.model_check.small import Party, drafted, first, known, second, seen


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def need(step: Step) -> None:
    step.require("first", first)
    step.insert(second)


def again(step: Step) -> None:
    step.require("first", first)
    step.insert(first)


def push(step: Step) -> None:
    step.insert(first)


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


def _model(budget: int | None = None) -> Model:
    protocol = drafted(see, need, again, costly=(push,), rules=(learn,)).protocol()
    return build(Interpreter(protocol, Instance({"Party": ("p1", "p2")}, budget=budget)), (), (), reduce=False)


def _expander(model: Model, name: str) -> Memo[Moves | None]:
    step = next(step for step in model.steps if step.action.name == name)
    return expander(model, step, lambda _: None)


def _after(moves: Moves | None, s: int) -> list[int]:
    assert moves is not None
    return [(s | touched) ^ cleared for touched, cleared, _ in moves.effects]


def test_an_action_that_cannot_be_taken_has_no_moves() -> None:
    assert _expander(_model(), "need").answer(0) is None


def test_each_move_leads_to_its_state_and_to_the_deductions_that_it_wakes() -> None:
    model = _model()
    memo = _expander(model, "see")
    moves = memo.answer(0)
    assert moves is not None
    assert moves.actions == ("see", "see")
    places = model.layout.tables["seen"].places
    assert _after(moves, 0) == [places["p1",].mask, places["p2",].mask]
    for (_, _, deductions), s, party in zip(moves.effects, _after(moves, 0), ("p1", "p2"), strict=True):
        assert deductions is not None
        assert changed(s, deductions.answer(s)) == s | model.layout.tables["known"].places[party,].mask


def test_a_move_that_changes_nothing_for_certain_is_counted_and_not_taken() -> None:
    model = _model()
    memo = _expander(model, "again")
    s = changed(0, model.layout.written([(model.layout.tables["first"].places[()], True)], lambda: None))
    moves = memo.answer(s)
    assert moves is not None
    assert (moves.actions, moves.effects) == (("again",), ())


@pytest.mark.parametrize(("budget", "affordable"), [(None, [True, True]), (0, [False]), (2, [True, True, False])])
def test_a_move_is_paid_for_as_long_as_the_budget_lasts(budget: int | None, affordable: list[bool]) -> None:
    model = _model(budget)
    step = next(step for step in model.steps if step.action.name == "push")
    assert [can_afford(model, step, spent) for spent in range(len(affordable))] == affordable
    free = next(step for step in model.steps if step.action.name == "see")
    assert can_afford(model, free, budget or 0)


def test_what_a_move_costs_is_added_to_what_was_spent() -> None:
    model = _model(budget=2)
    memo = _expander(model, "push")
    (once,) = _after(memo.answer(0), 0)
    (twice,) = _after(memo.answer(once), once)
    assert [s & model.layout.spent for s in (once, twice)] == [1, 2]
    assert memo.answer(twice) is None


def test_moves_of_several_actions_are_joined_and_none_is_left_out() -> None:
    one, other = Moves(((1, 0, None),), ("one",)), Moves(((2, 2, None), (4, 0, None)), ("other", "other"))
    assert all_moves([None, None]) is None
    assert all_moves([None, one]) is one
    assert all_moves([one, None, other]) == Moves(((1, 0, None), (2, 2, None), (4, 0, None)), ("one", "other", "other"))
