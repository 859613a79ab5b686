"""What a step changes, worked out by hand; that updates read the state before it is in ``test_semantics``."""

from __future__ import annotations

from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Instance, Kind, Step, function
from tests.unit.model_check.small import (
    HOLDER,
    Body,
    Party,
    Phase,
    ahead,
    corrupt,
    drafted,
    first,
    known,
    last,
    phase,
    seen,
)

INSTANCE = Instance({"Party": ("p1", "p2", "p3")}, {"corrupt": frozenset({("p3",)})})
friend = function("friend", Party, to=Party, kind=Kind.STATE, of=HOLDER)


def _fired(body: Body, state: State | None = None, **env: str) -> State:
    """Take the step from a state, the first one by default."""
    judge = Interpreter(drafted(body).protocol(), INSTANCE)
    (action,) = judge.protocol.actions
    begin = judge.start() if state is None else judge.start().changed(state.relations, state.functions)
    return judge.fire(begin, action, env)


def _seen(*parties: str) -> State:
    return State({"seen": frozenset((party,) for party in parties)}, {})


def test_insert_adds_one_row_and_keeps_the_others() -> None:
    def see(step: Step, a: Party) -> None:
        step.insert(seen(a))

    assert _fired(see, _seen("p1"), a="p2").relations["seen"] == {("p1",), ("p2",)}
    assert _fired(see, _seen("p1"), a="p1").relations["seen"] == {("p1",)}


def test_remove_takes_one_row_and_keeps_the_others() -> None:
    def forget(step: Step, a: Party) -> None:
        step.remove(seen(a))

    assert _fired(forget, _seen("p1", "p2"), a="p2").relations["seen"] == {("p1",)}
    assert _fired(forget, _seen("p1"), a="p2").relations["seen"] == {("p1",)}


def test_arguments_stand_in_their_places() -> None:
    def meet(step: Step, a: Party, b: Party) -> None:
        step.insert(ahead(b, a))

    assert _fired(meet, a="p1", b="p2").relations["ahead"] == {("p2", "p1")}


def test_remove_of_each_clears_every_row_that_fits_and_no_other() -> None:
    def clear(step: Step, a: Party) -> None:
        step.remove(ahead(step.each(Party), a))

    held = frozenset({("p1", "p1"), ("p2", "p1"), ("p1", "p2")})
    assert _fired(clear, State({"ahead": held}, {}), a="p1").relations["ahead"] == {("p1", "p2")}


def test_insert_of_each_adds_a_row_for_every_element() -> None:
    def announce(step: Step, a: Party) -> None:
        step.insert(ahead(a, step.each(Party)))

    assert _fired(announce, a="p2").relations["ahead"] == {("p2", "p1"), ("p2", "p2"), ("p2", "p3")}


def test_a_condition_on_each_is_asked_of_every_element() -> None:
    def announce(step: Step) -> None:
        everyone = step.each(Party)
        step.insert(seen(everyone), when=~corrupt(everyone))

    assert _fired(announce).relations["seen"] == {("p1",), ("p2",)}


def test_two_each_stand_for_every_pair() -> None:
    def cross(step: Step) -> None:
        one, other = step.each(Party), step.each(Party)
        step.insert(ahead(one, other), when=corrupt(one) & ~corrupt(other))

    assert _fired(cross).relations["ahead"] == {("p3", "p1"), ("p3", "p2")}


def test_set_changes_a_variable() -> None:
    def move(step: Step, a: Party) -> None:
        step.set(last, a)

    assert _fired(move, a="p3").functions["last"] == {(): "p3"}


def test_set_changes_a_function_at_one_row_only() -> None:
    def befriend(step: Step, a: Party, b: Party) -> None:
        step.set(friend(a), b)

    assert _fired(befriend, a="p2", b="p3").functions["friend"] == {("p1",): "p1", ("p2",): "p3", ("p3",): "p1"}


def test_set_of_each_changes_a_function_everywhere_by_a_value_of_its_own() -> None:
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
