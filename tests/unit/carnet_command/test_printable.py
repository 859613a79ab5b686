"""Text that others wrote is shown, never acted on: every character that is not for printing becomes an escape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_command.printable import printable

ANY = st.text(st.characters())
"""Every character there is, halves of characters included."""


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
