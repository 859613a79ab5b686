"""Guesses at lemmas: what visited states falsify is not plausible, and nothing is made before it is asked for."""

import pytest

from carnet_check.engines import registry
from carnet_check.engines.exploration import Walks
from carnet_check.engines.interface import Explores
from carnet_check.loading.families import load
from carnet_check.suggestion.guesses import ReadGuesses, Visit
from carnet_spec.language import Invariant
from carnet_spec.language.notation import ASCII, show
from tests.unit.model_check.command import FIXTURES

BADGES = load(str(FIXTURES / "badges.py"))
PROTOCOL = BADGES.protocol()
INSTANCE = BADGES.instance(PROTOCOL, "anyone", BADGES.profile("tiny"))
CARRIED = [each for each in PROTOCOL.symbols if each.name == "carried"]


def _words(guesses: list[Invariant]) -> set[str]:
    return {show(each.body, ASCII) for each in guesses}


@pytest.mark.parametrize("explorer", [registry.explorer(), registry.walker(Walks(50, 20))], ids=["all", "walks"])
def test_what_a_visited_state_falsifies_is_not_plausible(explorer: Explores) -> None:
    guesses = ReadGuesses(PROTOCOL, [Visit(explorer, INSTANCE)])
    every = list(guesses.about(CARRIED))
    plausible = guesses.plausible(every)
    assert "carried(p, b) -> staff(p)" in _words(plausible)
    assert "carried(p, b) & carried(p, b2) -> b = b2" in _words(every)
    assert "carried(p, b) & carried(p, b2) -> b = b2" not in _words(plausible)


def test_without_a_visit_everything_is_plausible() -> None:
    guesses = ReadGuesses(PROTOCOL, [])
    every = list(guesses.about(CARRIED))
    assert guesses.plausible(every) == every


def test_what_is_asked_again_is_the_same() -> None:
    guesses = ReadGuesses(PROTOCOL, [Visit(registry.explorer(), INSTANCE)])
    again = ReadGuesses(PROTOCOL, [Visit(registry.explorer(), INSTANCE)])
    assert list(guesses.about(CARRIED)) == list(guesses.about(CARRIED)) == list(again.about(CARRIED))


def test_the_simplest_come_first() -> None:
    guesses = ReadGuesses(PROTOCOL, [])
    (first, *_) = guesses.about(CARRIED)
    assert len(first.params) == 2
    assert show(first.body, ASCII).startswith("carried(p, b) -> ")


def test_what_holds_where_one_fact_is_written_is_used_for_the_next() -> None:
    """Who carries a badge is staff only because it was printed for staff, and printed because it was ordered."""
    guesses = ReadGuesses(PROTOCOL, [Visit(registry.explorer(), INSTANCE)])
    assert {"carried(p, b) -> staff(p)", "carried(p, b) -> used_badge(b)"} <= _words(list(guesses.about(CARRIED)))
