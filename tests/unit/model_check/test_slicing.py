"""Steps are deleted as long as what is left can be taken and ends as it should."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from carnet_check.minimise import Slicer


def take(state: int, step: int) -> int | None:
    """Add a number, as long as the sum stays below 100 and does not fall below 0."""
    return state + step if 0 <= state + step < 100 else None


@given(st.lists(st.integers(-9, 9), max_size=40), st.integers(0, 30), st.integers(1, 3))
def test_what_is_left_serves_and_needs_every_step(steps: list[int], least: int, longest_run: int) -> None:
    slicer = Slicer(0, take, lambda state: state >= least)
    if not slicer.serves(steps):
        return
    left = slicer.without_superfluous(steps, longest_run)
    assert slicer.serves(left)
    assert len(left) <= len(steps)
    assert not any(slicer.serves(left[:place] + left[place + 1 :]) for place in range(len(left)))


def test_a_run_that_cannot_be_taken_does_not_serve() -> None:
    assert not Slicer(0, take, lambda _: True).serves([1, -2])
    assert not Slicer(0, take, lambda state: state == 1).serves([1, 1])
    assert Slicer(0, take, lambda state: state == 0).serves([])


def test_steps_that_only_make_sense_together_go_together() -> None:
    slicer = Slicer(0, take, lambda state: state == 5)
    steps = [5, 3, -3]
    assert slicer.without_superfluous(steps, 1) == steps
    assert slicer.without_superfluous(steps, 2) == [5]
