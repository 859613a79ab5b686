"""Candidates: of elements that are alike, as many are looked at as arguments are chosen, and no other is lost."""

from __future__ import annotations

from carnet_check.conformance.choices import Candidates


def _keys() -> Candidates:
    return Candidates(["k0"], ["k0", "k1", "k2", "k3"])


def test_a_choice_of_so_many_arguments_looks_at_what_is_known_and_so_many_spare_elements() -> None:
    assert list(_keys().choosable(1)) == ["k0", "k1"]
    assert list(_keys().choosable(2)) == ["k0", "k1", "k2"]
    assert len(_keys().choosable(9)) == len(list(_keys().choosable(9))) == 4


def test_only_spare_elements_that_others_stand_for_are_skipped() -> None:
    choosable = _keys().choosable(1)
    assert [choosable.skips(key) for key in ("k0", "k1", "k2", "k3")] == [False, False, True, True]
    assert [key in choosable for key in ("k0", "k1", "k2", "k9")] == [True, True, False, False]


def test_an_element_that_was_chosen_is_known_and_the_next_one_is_looked_at() -> None:
    keys = _keys()
    assert keys.draw("k1") is not None
    assert list(keys.choosable(1)) == ["k0", "k1", "k2"]
    assert keys.draw("k1") is None, "it is known already"
    assert keys.draw("k0") is None


def test_elements_whose_choice_is_taken_back_are_spare_again() -> None:
    keys = _keys()
    undo = [keys.draw(key) for key in ("k2", "k1")]
    assert list(keys.choosable(1)) == ["k0", "k2", "k1", "k3"]
    for take_back in reversed(undo):
        assert take_back is not None
        take_back()
    assert list(keys.known) == ["k0"]
    assert sorted(keys.choosable(9)) == ["k0", "k1", "k2", "k3"]


def test_what_a_choice_looks_at_follows_what_becomes_known_later() -> None:
    keys = _keys()
    choosable = keys.choosable(1)
    keys.draw("k1")
    assert list(choosable) == ["k0", "k1", "k2"]
