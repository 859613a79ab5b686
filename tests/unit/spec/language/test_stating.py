"""What a liveness property wants taken fairly is written down once, in order, of elements, or refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from carnet_spec.language import Eventually, Given, MisuseError, SpecificationError
from tests.unit.spec.language.vocabulary import boss, drafted, ready


def test_nothing_is_given_of_what_is_not_taken_fairly() -> None:
    with pytest.raises(MisuseError, match="live says what is given of 'pass_on', which it does not name in 'fair'"):
        drafted().eventually("live", ready, ready, sentence="It comes.", given={"pass_on": {"a": boss}})


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"fair": "pass_on"}, "live: 'fair' must be a tuple of names, not 'pass_on'"),
        ({"fair": ("pass_on",), "given": {"pass_on": {"a": "boss"}}}, "gives 'boss' for 'a' of pass_on, which is no"),
        ({"fair": ("pass_on",), "given": {"pass_on": {"a": ready}}}, "for 'a' of pass_on, which is no element"),
    ],
    ids=["a name alone", "a string for an element", "a formula for an element"],
)
def test_what_is_fair_is_a_tuple_and_what_is_given_an_element(words: Any, why: str) -> None:
    with pytest.raises(MisuseError, match=re.escape(why)):
        drafted().eventually("live", ready, ready, sentence="It comes.", **words)


OUT_OF_ORDER = {
    "twice": (("a",), (("a", "x"), ("a", "x"))),
    "of what is not fair": (("a",), (("b", "x"),)),
    "in another order": (("a", "b"), (("b", "x"), ("a", "x"))),
}


@pytest.mark.parametrize("name", OUT_OF_ORDER)
def test_what_is_given_stands_once_and_in_order(name: str) -> None:
    fair, places = OUT_OF_ORDER[name]
    given = tuple(Given(action, parameter, boss.term) for action, parameter in places)
    with pytest.raises(SpecificationError, match="live gives a value twice, of what is not fair, or in another order"):
        Eventually("live", ready.term, ready.term, "It comes.", fair, given)
