"""Text for people: lines that fit a terminal of eighty columns, and numbers of things."""

from __future__ import annotations

RULE_WIDTH = 78
"""Columns that a command's report takes."""
LABEL_WIDTH = 13
"""Columns of the labels to the left of it."""


def wrapped(label: str, text: str, indent: int = LABEL_WIDTH, width: int = RULE_WIDTH) -> list[str]:
    """Write ``text`` beside ``label``, wrapped at the width of the report and never inside a word."""
    import textwrap

    lines = textwrap.wrap(
        text, width - indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [""]
    return [f"{label if not number else '':<{indent}}{line}" for number, line in enumerate(lines)]


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
