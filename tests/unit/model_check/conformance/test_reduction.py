"""Reduction: only what no step depends on is left out, and only what cannot be told from a number is kept as one."""

from __future__ import annotations

import pytest

from carnet_check.conformance.effects import (
    FollowedRelation,
    followed_relations,
    only_prefixes_inserted,
    read_by,
    relevant_symbols,
)
from carnet_spec.language import Draft, Formula, Protocol, Step, exists, true
from tests.unit.model_check.small import (
    Body,
    Party,
    ahead,
    corrupt,
    drafted,
    first,
    known,
    last,
    paired,
    second,
    seen,
    third,
)


def _relevant(*bodies: Body) -> set[str]:
    return {symbol.name for symbol in relevant_symbols(drafted(*bodies).protocol())}


def need(step: Step) -> None:
    step.require("third", third)


def carry(step: Step) -> None:
    step.insert(third, when=second)


def light(step: Step, a: Party) -> None:
    step.insert(second, when=seen(last) & corrupt(a))


def remember(step: Step, a: Party) -> None:
    step.insert(known(a), when=first)


def test_what_no_guard_depends_on_is_left_out() -> None:
    assert _relevant(remember, carry) == set()
    assert _relevant(need, remember) == {"third"}


def test_what_decides_about_what_a_guard_reads_is_kept_by_whatever_way() -> None:
    assert _relevant(need, carry, light, remember) == {"third", "second", "seen", "last"}
    assert _relevant(light, remember, carry, need) == {"third", "second", "seen", "last"}


def test_an_update_reads_its_arguments_condition_and_value() -> None:
    (update,) = drafted(light).protocol().action("light").updates
    assert {symbol.name for symbol in read_by(update)} == {"seen", "last", "corrupt"}


# -- what is kept as a number ----------------------------------------------------------------------


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def note(step: Step, a: Party) -> None:
    """Note everybody who was seen so far."""
    other = step.each(Party)
    step.insert(ahead(a, other), when=seen(other))


def ask(step: Step, a: Party, b: Party) -> None:
    step.require("noted", ahead(a, b))
    step.insert(second)


def _followed(*bodies: Body, draft: Draft | None = None) -> dict[str, tuple[str, int]]:
    protocol: Protocol = (draft or drafted(see, note, *bodies)).protocol()
    found = followed_relations(protocol, relevant_symbols(protocol))
    return {symbol.name: (how.base.name, how.at) for symbol, how in found.items()}


def test_noting_every_row_so_far_is_kept_as_their_number() -> None:
    assert _followed(ask) == {"ahead": ("seen", 1)}


def test_what_nothing_asks_for_is_not_kept_at_all() -> None:
    assert _followed() == {}


def lose(step: Step, a: Party) -> None:
    step.remove(seen(a))


def lose_note(step: Step, a: Party, b: Party) -> None:
    step.remove(ahead(a, b))


def lose_notes(step: Step, a: Party) -> None:
    step.remove(ahead(a, step.each(Party)))


def lose_some_notes(step: Step, a: Party) -> None:
    other = step.each(Party)
    step.remove(ahead(a, other), when=corrupt(other))


def search(step: Step, a: Party) -> None:
    step.require("somebody", exists(lambda b: ahead(a, b), Party))
    step.insert(second)


def note_others(step: Step, a: Party) -> None:
    other = step.each(Party)
    step.insert(ahead(other, a), when=seen(other))


def swap_notes(step: Step, a: Party, b: Party) -> None:
    step.insert(ahead(a, b))
    step.remove(ahead(b, step.each(Party)), name="forget")


@pytest.mark.parametrize("body", [lose, lose_note, lose_some_notes, search, note_others, swap_notes])
def test_a_number_is_not_enough_where(body: Body) -> None:
    """The rows noted are not a prefix any more, or more is asked than whether one row is among them."""
    assert _followed(ask, body) == {}


def test_forgetting_all_notes_of_one_leaves_a_number() -> None:
    assert _followed(ask, lose_notes) == {"ahead": ("seen", 1)}


def test_what_holds_at_first_is_in_no_prefix() -> None:
    def seen_at_first(a: Party) -> Formula:
        return true

    draft = drafted(see, note, ask)
    draft.initially(seen, seen_at_first)
    assert _followed(draft=draft) == {}


def test_a_relation_that_holds_at_first_is_not_kept_as_a_number() -> None:
    def ahead_at_first(a: Party, b: Party) -> Formula:
        return true

    draft = drafted(see, note, ask)
    draft.initially(ahead, ahead_at_first)
    assert _followed(draft=draft) == {}


def test_a_relation_is_pure_if_it_is_only_inserted_into_for_all() -> None:
    updates = [update for action in drafted(see, note).protocol().actions for update in action.updates]
    assert only_prefixes_inserted(ahead.symbol, updates)
    assert not only_prefixes_inserted(seen.symbol, updates)
    assert FollowedRelation(seen.symbol, 1) == FollowedRelation(seen.symbol, 1)
    assert paired.symbol not in {update.symbol for update in updates}
