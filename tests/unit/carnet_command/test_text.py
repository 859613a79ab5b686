"""Lines that fit their terminal, and numbers of things."""

import io

import pytest

from carnet_command.text import RULE_WIDTH, counted, hanging, report_width, wrapped
from tests.unit.model_check.command import TOY, carnet


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


@pytest.mark.parametrize(("columns", "width"), [(20, 40), (40, 40), (60, 60), (80, 78), (200, 78)])
def test_a_report_is_as_wide_as_its_terminal_within_bounds(
    columns: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert report_width() == width
    assert max(map(len, wrapped("why", "word " * 100))) <= width
    assert max(map(len, hanging("word " * 100))) <= width


def test_without_a_terminal_it_is_as_wide_as_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", io.StringIO())
    assert report_width() == RULE_WIDTH


COMMANDS = [
    ["explain", "fence"],
    ["explain", "REQ-KEY-03"],
    ["verify", TOY, "--engine", "explicit"],
    ["attack", TOY, "--without", "fresh-key"],
    ["explore", TOY],
]


@pytest.mark.mends("N15")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_report_fits_a_narrow_terminal(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands alone may be longer, so that they can be copied."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = [line for line in carnet(*command).out.splitlines() if "carnet " not in line]
    assert [line for line in lines if len(line) > 60] == []
