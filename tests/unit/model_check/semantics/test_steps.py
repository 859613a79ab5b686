"""Steps by hand: which can be taken, with guards, pools, draws and a budget, and what each changes."""

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_spec.language import Draft, Instance, SpecificationError, Step, used
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import learn

INSTANCE = Instance({"Party": ("p1", "p2", "p3")}, {"corrupt": frozenset({("p3",)})})


def _fired(body: Body, state: State | None = None, **env: str) -> State:
    judge = Interpreter(drafted(body).protocol(), INSTANCE)
    (action,) = judge.protocol.actions
    begin = judge.start() if state is None else judge.start().with_values(state.relations, state.functions)
    return judge.fire(begin, action, env)


def _seen(*parties: str) -> State:
    return State({"seen": frozenset((party,) for party in parties)}, {})


def test_insert_and_remove_change_one_row_and_keep_the_others() -> None:
    def see(step: Step, a: Party) -> None:
        step.insert(seen(a))

    assert _fired(see, _seen("p1"), a="p2").relations["seen"] == {("p1",), ("p2",)}
    assert _fired(see, _seen("p1"), a="p1").relations["seen"] == {("p1",)}

    def forget(step: Step, a: Party) -> None:
        step.remove(seen(a))

    assert _fired(forget, _seen("p1", "p2"), a="p2").relations["seen"] == {("p1",)}
    assert _fired(forget, _seen("p1"), a="p2").relations["seen"] == {("p1",)}

    def meet(step: Step, a: Party, b: Party) -> None:
        step.insert(ahead(b, a))

    assert _fired(meet, a="p1", b="p2").relations["ahead"] == {("p2", "p1")}


def test_each_stands_for_every_element_that_fits() -> None:
    def clear(step: Step, a: Party) -> None:
        step.remove(ahead(step.each(Party), a))

    held = frozenset({("p1", "p1"), ("p2", "p1"), ("p1", "p2")})
    assert _fired(clear, State({"ahead": held}, {}), a="p1").relations["ahead"] == {("p1", "p2")}

    def announce(step: Step, a: Party) -> None:
        step.insert(ahead(a, step.each(Party)))

    assert _fired(announce, a="p2").relations["ahead"] == {("p2", "p1"), ("p2", "p2"), ("p2", "p3")}

    def cross(step: Step) -> None:
        one, other = step.each(Party), step.each(Party)
        step.insert(ahead(one, other), when=corrupt(one) & ~corrupt(other))

    assert _fired(cross).relations["ahead"] == {("p3", "p1"), ("p3", "p2")}


def test_a_condition_on_each_is_asked_of_every_element() -> None:
    def announce(step: Step) -> None:
        everyone = step.each(Party)
        step.insert(seen(everyone), when=~corrupt(everyone))

    assert _fired(announce).relations["seen"] == {("p1",), ("p2",)}


def test_set_changes_a_variable_or_a_function_at_one_row_or_everywhere() -> None:
    def move(step: Step, a: Party) -> None:
        step.set(last, a)

    assert _fired(move, a="p3").functions["last"] == {(): "p3"}

    def befriend(step: Step, a: Party, b: Party) -> None:
        step.set(friend(a), b)

    assert _fired(befriend, a="p2", b="p3").functions["friend"] == {("p1",): "p1", ("p2",): "p3", ("p3",): "p1"}

    def reflect(step: Step) -> None:
        everyone = step.each(Party)
        step.set(friend(everyone), everyone)

    assert _fired(reflect).functions["friend"] == {("p1",): "p1", ("p2",): "p2", ("p3",): "p3"}


def test_an_update_whose_condition_does_not_hold_changes_nothing() -> None:
    def move(step: Step, a: Party) -> None:
        step.insert(seen(a), when=first)
        step.remove(known(a), when=first)
        step.set(last, a, when=first)

    state = State({"known": frozenset({("p2",)})}, {"last": {(): "p1"}})
    after = _fired(move, state, a="p2")
    assert not after.relations["seen"]
    assert after.relations["known"] == {("p2",)}
    assert after.functions["last"] == {(): "p1"}


def test_the_last_of_several_updates_of_one_place_counts() -> None:
    def insert_last(step: Step, a: Party) -> None:
        step.remove(seen(a))
        step.insert(seen(a))

    def remove_last(step: Step, a: Party) -> None:
        step.insert(seen(a))
        step.remove(seen(a))

    def set_twice(step: Step, a: Party) -> None:
        step.set(phase, Phase.LATE, name="one")
        step.set(phase, Phase.OVER, name="other")
        step.set(phase, Phase.EARLY, when=corrupt(a), name="at times")

    for held in (_seen(), _seen("p1")):
        assert _fired(insert_last, held, a="p1").relations["seen"] == {("p1",)}
        assert _fired(remove_last, held, a="p1").relations["seen"] == frozenset()
    assert _fired(set_twice, a="p1").functions["phase"] == {(): "OVER"}
    assert _fired(set_twice, a="p3").functions["phase"] == {(): "EARLY"}


def test_updates_of_different_rows_of_one_function_are_all_made() -> None:
    def exchange(step: Step, a: Party, b: Party) -> None:
        step.set(friend(a), friend(b), name="one")
        step.set(friend(b), friend(a), name="other")

    state = State({}, {"friend": {("p1",): "p2", ("p2",): "p3", ("p3",): "p1"}})
    after = _fired(exchange, state, a="p1", b="p2")
    assert after.functions["friend"] == {("p1",): "p3", ("p2",): "p2", ("p3",): "p1"}


def test_arguments_are_read_before_the_step() -> None:
    def point(step: Step, a: Party) -> None:
        step.set(last, a)
        step.insert(seen(last))

    after = _fired(point, State({}, {"last": {(): "p2"}}), a="p3")
    assert after.functions["last"] == {(): "p3"}
    assert after.relations["seen"] == {("p2",)}


def test_what_a_step_does_not_mention_stays_as_it_was() -> None:
    def mention_all(step: Step, a: Party) -> None:
        step.given("mentioned", (friend(a) == last) | (phase == Phase.EARLY) | known(a) | first)
        step.insert(seen(a))

    known_already = frozenset({("p2",)})
    state = State({"known": known_already, "first": frozenset({()})}, {"last": {(): "p2"}, "phase": {(): "OVER"}})
    after = _fired(mention_all, state, a="p1")
    assert after.relations["known"] == known_already
    assert after.relations["first"] == {()}
    assert (after.functions["last"], after.functions["phase"]) == ({(): "p2"}, {(): "OVER"})


def test_the_state_before_a_step_is_not_touched() -> None:
    def see(step: Step, a: Party) -> None:
        step.insert(seen(a))

    before = _fired(see, a="p1")
    copy = State(before.relations, before.functions, before.spent)
    assert _fired(see, before, a="p2") != before
    assert before == copy


ELEMENTS = {"Party": ("p1", "p2", "p3"), "Key": ("k1", "k2", "k3")}


def _judge(draft: Draft, **fields: Any) -> Interpreter:
    return Interpreter(draft.protocol(), Instance(ELEMENTS, **fields))


def _offered(judge: Interpreter, state: State | None = None) -> list[tuple[str, ...]]:
    found = judge.enabled_steps(judge.initial() if state is None else state)
    return [(action.name, *(env[var.name] for var in action.params)) for action, env in found]


def see(step: Step, a: Party) -> None:
    step.require("new", ~seen(a))
    step.given("honest", ~corrupt(a))
    step.insert(seen(a))


def push(step: Step) -> None:
    step.insert(first)


def test_a_step_is_enabled_where_all_its_guards_hold_and_only_there() -> None:
    judge = _judge(drafted(see), relations={"corrupt": frozenset({("p2",)})})
    assert _offered(judge) == [("see", "p1"), ("see", "p3")]
    seen_once = judge.step(judge.initial(), judge.protocol.action("see"), {"a": "p1"})
    assert _offered(judge, seen_once) == [("see", "p3")]


def test_guards_decide_for_their_parameters_in_their_places() -> None:
    def open_up(step: Step, a: Party) -> None:
        step.require("set", first)
        step.insert(seen(a))

    judge = _judge(drafted(push, open_up))
    assert _offered(judge) == [("push",)]
    after = judge.step(judge.initial(), judge.protocol.action("push"), {})
    assert _offered(judge, after) == [("push",), *(("open_up", party) for party in ELEMENTS["Party"])]

    def follow(step: Step, a: Party, b: Party) -> None:
        step.given("before", before(b, a))
        step.insert(ahead(a, b))

    judge = _judge(drafted(follow), relations={"before": frozenset({("p1", "p2"), ("p3", "p3")})})
    assert _offered(judge) == [("follow", "p2", "p1"), ("follow", "p3", "p3")]


def test_steps_come_in_the_order_of_the_protocol_and_of_the_elements_and_no_deduction_among_them() -> None:
    judge = _judge(drafted(push, see, rules=(learn,)))
    assert _offered(judge) == [("push",), ("see", "p1"), ("see", "p2"), ("see", "p3")]
    seen_once = judge.fire(judge.initial(), judge.protocol.action("see"), {"a": "p2"})
    assert judge.premises_hold(judge.protocol.action("learn"), seen_once)
    assert _offered(judge, seen_once) == [("push",), ("see", "p1"), ("see", "p3")]


def draw(step: Step, a: Key) -> None:
    step.fresh(a)
    step.set(current, a)


def draw_pair(step: Step, one: Key, other: Key) -> None:
    step.fresh(one)
    step.fresh(other)
    step.insert(paired(one, other))


def test_a_draw_takes_the_first_unused_element_of_its_pool_and_for_good() -> None:
    judge = _judge(drafted(draw))
    state = judge.initial()
    for key, used_now in (("k1", 1), ("k2", 2), ("k3", 3)):
        assert _offered(judge, state) == [("draw", key)]
        state = judge.step(state, judge.protocol.action("draw"), {"a": key})
        assert len(state.relations["used_key"]) == used_now
    assert _offered(judge, state) == []
    judge = _judge(drafted(draw), pools={("draw", "a"): ("k3", "k2")})
    state = judge.initial()
    assert _offered(judge, state) == [("draw", "k3")]
    state = judge.step(state, judge.protocol.action("draw"), {"a": "k3"})
    assert _offered(judge, state) == [("draw", "k2")]
    state = judge.step(state, judge.protocol.action("draw"), {"a": "k2"})
    assert _offered(judge, state) == []


def test_every_party_may_draw_whatever_another_one_might() -> None:
    def draw_for(step: Step, a: Party, one: Key, other: Key) -> None:
        step.fresh(one)
        step.fresh(other)
        step.insert(seen(a))
        step.insert(paired(one, other))

    pairs = (("k1", "k2"), ("k2", "k1"))
    told_apart = _judge(drafted(draw, draw_for), pools={("draw_for", name): ("k1", "k2") for name in ("one", "other")})
    named = replace(told_apart.instance, first={"current": {(): "k1"}})
    judge = Interpreter(told_apart.protocol, named)
    offered = [each for each in _offered(judge) if each[0] == "draw_for"]
    assert offered == [("draw_for", party, *pair) for party in ELEMENTS["Party"] for pair in pairs]


def test_a_draw_skips_what_is_drawn_and_needs_enough() -> None:
    assert _offered(_judge(drafted(draw_pair))) == [("draw_pair", "k1", "k2")]
    judge = _judge(drafted(draw, draw_pair))
    state = judge.initial()
    for key in ("k1", "k2"):
        state = judge.step(state, judge.protocol.action("draw"), {"a": key})
    assert _offered(judge, state) == [("draw", "k3")]


def test_a_parameter_that_is_not_drawn_may_be_what_was_drawn() -> None:
    def reuse(step: Step, a: Key) -> None:
        step.given("used", used(a))
        step.set(current, a)

    judge = _judge(drafted(draw, reuse))
    state = judge.step(judge.initial(), judge.protocol.action("draw"), {"a": "k2"})
    assert _offered(judge, state) == [("draw", "k1"), ("reuse", "k2")]


def test_a_pool_limits_what_is_offered_of_one_parameter() -> None:
    judge = _judge(drafted(draw, draw_pair), pools={("draw_pair", "other"): ("k1", "k3")})
    assert _offered(judge) == [("draw", "k1"), ("draw_pair", "k1", "k3")]
    assert _offered(_judge(drafted(see), pools={("see", "a"): ("p3",)})) == [("see", "p3")]
    judge = _judge(drafted(draw), pools={("draw", "a"): ("k1",)})
    after = judge.fire(judge.initial(), judge.protocol.action("draw"), {"a": "k3"})
    assert after.functions["current"] == {(): "k3"}


def test_every_unused_element_is_offered_where_they_may_differ() -> None:
    """A step that gives keys back tells unused ones apart; so do first values that the instance names."""

    def give_back(step: Step, a: Key) -> None:
        step.require("used", used(a))
        step.remove(used(a))

    every = [("draw", key) for key in ELEMENTS["Key"]]
    assert _offered(_judge(drafted(draw, give_back))) == every
    assert _offered(_judge(drafted(draw), first={"current": {(): "k2"}})) == every


def test_any_unused_element_will_do_for_a_draw_and_no_used_one() -> None:
    judge = _judge(drafted(draw))
    after = judge.fire(judge.initial(), judge.protocol.action("draw"), {"a": "k2"})
    assert after.relations["used_key"] == {("k2",)}
    judge = _judge(drafted(draw))
    after = judge.fire(judge.initial(), judge.protocol.action("draw"), {"a": "k2"})
    with pytest.raises(NotEnabled, match=r"draw\(a=k2\) is not enabled: 'fresh a' does not hold"):
        judge.fire(after, judge.protocol.action("draw"), {"a": "k2"})


def test_steps_are_offered_as_long_as_the_budget_pays_for_them() -> None:
    judge = _judge(drafted(see, costly=(push,)), budget=1)
    spent = judge.step(judge.initial(), judge.protocol.action("push"), {})
    assert ("push",) in _offered(judge)
    assert _offered(judge, spent) == [("see", party) for party in ELEMENTS["Party"]]


@pytest.mark.parametrize(("budget", "spent"), [(None, 0), (5, 2)])
def test_what_actions_cost_is_added_up_where_there_is_a_budget(budget: int | None, spent: int) -> None:
    judge = _judge(drafted(see, costly=(push,)), budget=budget)
    state = judge.initial()
    for name, env in (("push", {}), ("see", {"a": "p1"}), ("push", {})):
        state = judge.step(state, judge.protocol.action(name), env)
    assert state.spent == spent


def test_arguments_that_are_not_the_actions_own_are_refused() -> None:
    judge = _judge(drafted(see))
    for env, message in (
        ({}, "see takes a; it was given nothing"),
        ({"b": "p1"}, "see takes a; it was given b"),
        ({"a": "p1", "b": "p1"}, "see takes a; it was given a, b"),
        ({"a": "k1"}, "see: 'k1' is no element of sort Party"),
    ):
        with pytest.raises(SpecificationError, match=message):
            judge.fire(judge.initial(), judge.protocol.action("see"), env)


def test_the_guard_that_does_not_hold_is_named_and_the_first_of_several() -> None:
    judge = _judge(drafted(see), relations={"corrupt": frozenset({("p1",)})})
    state = judge.initial()
    with pytest.raises(NotEnabled) as refused:
        judge.fire(state, judge.protocol.action("see"), {"a": "p1"})
    assert (refused.value.action, refused.value.guard, refused.value.env) == ("see", "honest", {"a": "p1"})
    both = state.with_values({"seen": frozenset({("p1",)})}, {})
    with pytest.raises(NotEnabled, match="'new' does not hold"):
        judge.fire(both, judge.protocol.action("see"), {"a": "p1"})
