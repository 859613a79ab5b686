"""What claims alone may read before it is written is found, whatever actions are called."""

from __future__ import annotations

import pytest

from carnet_spec.language import Step, false
from carnet_spec.language.analysis.initialisation import claims_that_read_early
from tests.unit.spec.language.analysis.steps_and_items import PARTY, Item, Phase, drafted, item, phase, ready, write


@pytest.mark.parametrize(
    ("waits", "early"),
    [(Phase.START, [("in-the-end", "item")]), (Phase.MIDDLE, [])],
    ids=["before it is written", "after it is written"],
)
def test_what_is_given_of_a_fair_step_may_be_read_too_early(waits: Phase, early: list[tuple[str, str]]) -> None:
    def take(step: Step, i: Item) -> None:
        step.insert(ready)

    draft = drafted(write, take)
    given = {"take": {"i": item}}
    draft.eventually("in-the-end", phase == waits, phase != waits, sentence="It comes.", fair=("take",), given=given)
    assert [(read.action, read.symbol.name) for read in claims_that_read_early(draft.protocol())] == early


def test_no_action_is_taken_for_what_judges() -> None:
    def take(step: Step, i: Item) -> None:
        step.insert(ready)

    def never(step: Step) -> None:
        step.require("at no time", false)

    draft = drafted(write, take)
    starts, given = phase == Phase.START, {"take": {"i": item}}
    draft.eventually("in-the-end", starts, ~starts, sentence="It comes.", fair=("take",), given=given)
    for number in range(4):
        never.__name__ = f"judge {number}"
        draft.action(by=PARTY, says="x", source="y")(never)
    assert [(read.action, read.symbol.name) for read in claims_that_read_early(draft.protocol())] == [
        ("in-the-end", "item")
    ]
