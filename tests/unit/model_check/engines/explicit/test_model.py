"""The model: for each action its moves, for each thing looked for where it holds, and no place that cannot matter."""

from __future__ import annotations

from carnet_check.engines.explicit.model import CompiledStep, Model, build
from carnet_check.engines.explicit.saturation import changed
from carnet_check.semantics import Interpreter
from carnet_spec.language import Formula, Instance, Protocol, Row
from carnet_spec.language import Step as Said
from tests.unit.model_check.small import Key, Party, claimed, corrupt, current, drafted, known, last, second, seen

Written = dict[tuple[str, Row], object]
"""What is written, by symbol and row."""

INSTANCE = Instance({"Party": ("p1", "p2"), "Key": ("k1", "k2")}, {"corrupt": frozenset({("p2",)})})


def see(step: Said, a: Party) -> None:
    step.require("honest", ~corrupt(a))
    step.require("new", ~seen(a))
    step.insert(seen(a))
    step.insert(known(a))


def draw(step: Said, k: Key) -> None:
    step.fresh(k)
    step.set(current, k)


def swap(step: Said, a: Party) -> None:
    step.insert(second)
    step.remove(second, name="put out")
    step.set(last, a, when=second)


def _model(protocol: Protocol, *, reduce: bool = False) -> Model:
    claims = [claim.checked for claim in protocol.claims]
    return build(Interpreter(protocol, INSTANCE), claims, protocol.goals, reduce=reduce)


def _step(model: Model, name: str) -> CompiledStep:
    return next(step for step in model.steps if step.action.name == name)


def _moves(model: Model, name: str, s: int = 0) -> list[tuple[Written, Row]]:
    """Return what an action writes, and with which elements."""
    return [
        ({(place.symbol.name, place.row): value for place, value in writes.items()}, chosen)
        for writes, chosen in _step(model, name).moves(s)
    ]


def test_moves_are_those_whose_guards_hold_and_name_their_elements() -> None:
    model = _model(drafted(see).protocol())
    assert _moves(model, "see") == [({("seen", ("p1",)): True, ("known", ("p1",)): True}, ("p1",))]
    place = model.layout.tables["seen"].places["p1",]
    assert _moves(model, "see", changed(0, model.layout.written([(place, True)], lambda: None))) == []


def test_a_draw_marks_what_it_takes() -> None:
    (move,) = _moves(_model(drafted(draw).protocol()), "draw")
    assert move == ({("used_key", ("k1",)): True, ("current", ()): "k1"}, ("k1",))


def test_the_last_update_of_a_place_is_written_and_conditions_are_read_before_the_step() -> None:
    found = _moves(_model(drafted(swap).protocol()), "swap")
    assert found == [({("second", ()): False}, ("p1",)), ({("second", ()): False}, ("p2",))]


def test_monitors_hold_where_an_invariant_fails_or_a_goal_is_reached() -> None:
    draft = drafted(see)
    draft.goal(sentence="Somebody is known.")(known_by_somebody)
    model = _model(claimed(draft, unseen=_unseen))
    place = model.layout.tables["seen"].places["p1",]
    other = model.layout.tables["known"].places["p2",]
    one = changed(0, model.layout.written([(place, True)], lambda: None))
    both = changed(one, model.layout.written([(other, True)], lambda: None))
    assert [(each.name, each.is_goal) for each in model.monitors] == [("unseen", False), ("known-by-somebody", True)]
    holds = [[bool(monitor.holds(s)) for monitor in model.monitors] for s in (0, one, both)]
    assert holds == [[False, False], [True, False], [True, True]]


def _unseen(a: Party) -> Formula:
    return ~seen(a)


def known_by_somebody(a: Party) -> Formula:
    return known(a)


def test_with_reduction_what_nothing_reads_is_not_written() -> None:
    protocol = claimed(drafted(see), unseen=_unseen)
    assert _moves(_model(protocol, reduce=True), "see") == [({("seen", ("p1",)): True}, ("p1",))]
    assert len(_moves(_model(protocol, reduce=False), "see")[0][0]) == 2


def test_deductions_are_rules_and_no_steps() -> None:
    model = _model(drafted(see, rules=(learn,)).protocol())
    assert [step.action.name for step in model.steps] == ["see"]
    assert [rule.name for rule in model.saturation.rules] == ["learn"]


def learn(step: Said, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))
