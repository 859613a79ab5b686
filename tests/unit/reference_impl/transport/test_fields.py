"""Fields of messages: a counter has eight bytes, no fewer and no more."""

from __future__ import annotations

import pytest

from carnet_ref.wire import MalformedError, number, to_number


def test_a_counter_is_read_as_it_was_written() -> None:
    assert to_number(number(7), "a message", "count") == 7


@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_counter_of_another_size_is_malformed(size: int) -> None:
    with pytest.raises(MalformedError, match="a message"):
        to_number(bytes(size), "a message", "count")
