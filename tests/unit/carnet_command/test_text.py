"""Lines that fit eighty columns, and numbers of things."""

import pytest

from carnet_command.text import counted, hanging, wrapped


def test_a_label_stands_beside_the_first_line_alone() -> None:
    assert wrapped("why", "one two three", 5, 13) == ["why  one two", "     three"]


def test_what_is_left_over_hangs_under_the_line() -> None:
    assert hanging("one two three", 2, 8) == ["one two", "  three"]


def test_a_line_keeps_its_margin() -> None:
    assert hanging("    one two three", 2, 11) == ["    one two", "      three"]


def test_a_word_is_never_broken() -> None:
    assert hanging("a digest-of-many-digits", 2, 8) == ["a", "  digest-of-many-digits"]


def test_nothing_is_one_empty_line() -> None:
    assert hanging("") == [""]
    assert wrapped("why", "", 5) == ["why  "]


@pytest.mark.parametrize(("number", "said"), [(0, "0 moves"), (1, "1 move"), (2, "2 moves"), (1234, "1,234 moves")])
def test_one_thing_is_counted_as_one(number: int, said: str) -> None:
    assert counted(number, "move") == said
