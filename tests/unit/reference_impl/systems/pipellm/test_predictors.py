"""Predictors: cycles, queues and stacks are guessed, and nothing else is."""

from __future__ import annotations

import pytest

from carnet_ref.systems.pipellm.runtime import Fifo, Lifo, Predictor, Repeat


def seen(predictor: Predictor, left: str, returned: str = "") -> Predictor:
    """Let pages leave, and then return."""
    for page in left:
        predictor.left(int(page))
    for page in returned:
        predictor.returned(int(page))
    return predictor


@pytest.mark.parametrize(
    ("returned", "guess"),
    [("", ""), ("012", ""), ("012012", "01201"), ("00", "00000"), ("3012012", "01201"), ("0120121", "")],
)
def test_a_cycle_is_what_was_seen_twice(returned: str, guess: str) -> None:
    assert seen(Repeat(), "789", returned).guess(5) == [int(page) for page in guess]


def test_a_cycle_is_forgotten_where_it_is_too_long() -> None:
    assert seen(Repeat(longest=2), "", "012012").guess(3) == []
    assert seen(Repeat(longest=3), "", "012012").guess(3) == [0, 1, 2]


@pytest.mark.parametrize(
    ("left", "returned", "queue", "stack"),
    [
        ("", "", "", ""),
        ("012", "", "01", "21"),
        ("012", "0", "12", "21"),
        ("010", "", "10", "01"),
        ("0", "5", "0", "0"),
    ],
)
def test_a_queue_and_a_stack(left: str, returned: str, queue: str, stack: str) -> None:
    assert seen(Fifo(), left, returned).guess(2) == [int(page) for page in queue]
    assert seen(Lifo(), left, returned).guess(2) == [int(page) for page in stack]
