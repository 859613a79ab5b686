"""Replays: what a trace may end in, and why it is none."""

from __future__ import annotations

import pytest

from carnet_spec.language import Formula, Instance, Step, exists
from carnet_spec.trace import TraceStep as Taken
from tests.oracle.replay import NoSuchRunError, World, falsified, replay
from tests.oracle.toys import (
    Key,
    Party,
    boss,
    claim,
    corrupt,
    drafted,
    draw,
    enter,
    held,
    ready,
    turn,
)

TWO = Instance(
    {"Party": ("p1", "p2"), "Key": ("k1", "k2")},
    relations={"corrupt": frozenset({("p1",)})},
    functions={"boss": {(): "p2"}},
)


def step(action: str, **args: str) -> Taken:
    """A step of somebody."""
    return Taken(action, "somebody", tuple(args.items()))


def test_a_run_ends_in_the_state_after_its_steps() -> None:
    draft = drafted(enter, draw)
    claim(draft, lambda: ~ready(boss))
    [last] = replay(draft.protocol(), TWO, [step("enter", me="p2"), step("draw", me="p1", key="k2")])
    assert last.tables[held.symbol] == {(0, 0): False, (0, 1): True, (1, 0): False, (1, 1): False}
    assert falsified(draft.protocol().claim("claimed").checked.formula, [last])


def test_what_is_open_at_first_stays_open() -> None:
    def visit(step: Step, me: Party) -> None:
        step.require("its turn", turn == me)
        step.insert(ready(me))

    draft = drafted(visit)
    claim(draft, lambda: turn == boss)
    protocol = draft.protocol()
    formula = protocol.claim("claimed").checked.formula
    assert len(replay(protocol, TWO, [])) == 2
    assert falsified(formula, replay(protocol, TWO, [step("visit", me="p1")]))
    assert not falsified(formula, replay(protocol, TWO, [step("visit", me="p2")]))


def test_a_step_whose_guard_fails_is_no_run() -> None:
    with pytest.raises(NoSuchRunError, match=r"step 2.*guard 'not in'"):
        replay(drafted(enter).protocol(), TWO, [step("enter", me="p1"), step("enter", me="p1")])


def test_one_element_is_not_fresh_twice() -> None:
    def draw_two(step: Step, first: Key, second: Key) -> None:
        step.fresh(first)
        step.fresh(second)

    with pytest.raises(NoSuchRunError, match="two fresh values are the same"):
        replay(drafted(draw_two).protocol(), TWO, [step("draw_two", first="k1", second="k1")])


def test_updates_that_disagree_are_no_run() -> None:
    def both(step: Step, me: Party, other: Party) -> None:
        step.insert(ready(me))
        step.remove(ready(other))

    with pytest.raises(match="disagree about ready"):
        replay(drafted(both).protocol(), TWO, [step("both", me="p1", other="p1")])


def test_other_parameters_are_no_run() -> None:
    with pytest.raises(NoSuchRunError, match="does not name the parameters me"):
        replay(drafted(enter).protocol(), TWO, [step("enter", you="p1")])


def test_an_instance_has_to_satisfy_the_axioms() -> None:
    draft = drafted(enter)
    draft.threat("honest", "Nobody is corrupt", none=~exists(corrupt, Party))
    draft.threat("any", "Anybody may be")
    world = World(draft.protocol(), TWO)
    assert (world.allows("honest"), world.allows("any")) == (False, True)

    def nobody() -> Formula:
        return ~exists(corrupt, Party)

    draft.axiom("nobody", nobody())
    with pytest.raises(NoSuchRunError, match="breaks axiom nobody"):
        replay(draft.protocol(), TWO, [])
