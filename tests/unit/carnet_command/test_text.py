"""Text for terminals: it fits, nothing in it is acted on, and progress is shown as long as it matters."""

from __future__ import annotations

import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_command.printable import printable
from carnet_command.progress import ERASE, Heartbeat, LiveLine, Pace
from carnet_command.text import RULE_WIDTH, hanging, plural, report_width, wrap_text
from tests.unit.model_check.command import TOY, carnet


def test_words_are_wrapped_within_their_margin_and_never_broken() -> None:
    assert wrap_text("why", "one two three", 5, 13) == ["why  one two", "     three"]
    assert hanging("one two three", 2, 8) == ["one two", "  three"]
    assert hanging("    one two three", 2, 11) == ["    one two", "      three"]
    assert hanging("a digest-of-many-digits", 2, 8) == ["a", "  digest-of-many-digits"]
    assert hanging("") == [""]
    assert wrap_text("why", "", 5) == ["why  "]


@pytest.mark.parametrize(("number", "said"), [(0, "0 moves"), (1, "1 move"), (2, "2 moves"), (1234, "1,234 moves")])
def test_one_thing_is_counted_as_one(number: int, said: str) -> None:
    assert plural(number, "move") == said


@pytest.mark.parametrize(("columns", "width"), [(20, 40), (40, 40), (60, 60), (80, 78), (200, 78)])
def test_a_report_is_as_wide_as_its_terminal(columns: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert report_width() == width
    assert max(map(len, wrap_text("why", "word " * 100))) <= width
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


ANY = st.text(st.characters())  #: Every character there is, halves of characters included.


@given(ANY)
def test_whatever_was_written_can_be_printed(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert shown.encode("utf-8").decode("utf-8") == shown


@given(ANY.filter(str.isprintable))
def test_what_can_be_printed_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b31m", r"\x9b31m"),
        ("two\nlines\r", r"two\nlines\r"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\ud800", r"\ud800"),
        ("\x7f\u2028\u00a0", r"\x7f\u2028\xa0"),
        ("Zoë 東京", "Zoë 東京"),
    ],
    ids=["escape", "C1", "lines", "override", "isolates", "half a character", "separators", "letters"],
)
def test_what_a_terminal_would_act_on_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_progress_breaks_silence_and_its_long_lines_hang(capsys: pytest.CaptureFixture[str]) -> None:
    with Heartbeat(every=0.1) as shown:
        shown.status("counting states")
        time.sleep(0.5)
    spoken = capsys.readouterr()
    assert "counting states" in spoken.err
    assert spoken.out == ""
    Heartbeat().line("engine-per-holder · collusion: " + "1,234 states, depth 40, " * 4 + "in 1.0 s")
    first, second = capsys.readouterr().err.splitlines()
    assert len(first) <= 80
    assert second.startswith("  ")


def test_the_time_left_is_guessed_once_there_is_something_to_go_by() -> None:
    times = iter([0.0, 10.0, 12.0, 20.0, 30.0, 40.0, 41.0])
    pace = Pace(clock=lambda: next(times))
    assert pace.left(1, 100) == ""  # the clock starts here, at 10 s
    assert pace.left(2, 100) == "", "two seconds are too few"
    assert pace.left(11, 100) == ", about 89 s left"
    assert pace.left(21, 1000) == ", about 16 min left"
    assert pace.left(1, 50) == "", "another count, another clock"
    assert pace.left(50, 50) == ""


def on_screen(written: str) -> list[str]:
    """Return the lines that a terminal shows once all of this was written to it."""
    return [line.rpartition(ERASE)[2] for line in written.split("\n")]


def test_a_live_line_is_written_over_cut_at_the_edge_and_taken_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with LiveLine() as shown:
        shown.status("1,234 states, of a name that ends \x1b[2J")
        time.sleep(1.0)
        seen = capsys.readouterr().err
        shown.line("all of it in 1.0 s")
        shown.status("the next")
        time.sleep(1.0)
    after = capsys.readouterr().err
    (last,) = on_screen(seen)
    assert "] 1,234 states, of a name" in last
    assert "\x1b" not in last
    assert len(last) < 40
    assert "] the next" in after
    assert on_screen(after) == ["all of it in 1.0 s", ""]


def test_other_output_finds_no_live_line(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine() as shown:
        shown.status("counting")
        time.sleep(1.0)
        shown.status("")
        time.sleep(0.5)
        assert on_screen(capsys.readouterr().err) == [""]
