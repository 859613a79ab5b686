"""Text for people: lines that fit a terminal of eighty columns, and numbers of things."""

from __future__ import annotations

RULE_WIDTH = 78
"""Columns that a command's report takes."""
LABEL_WIDTH = 13
"""Columns of the labels to the left of it."""


def wrapped(label: str, text: str, indent: int = LABEL_WIDTH, width: int = RULE_WIDTH) -> list[str]:
    """Write ``text`` beside ``label``, wrapped at the width of the report and never inside a word."""
    lines = _broken(text, width - indent) or [""]
    return [f"{label if not number else '':<{indent}}{line}" for number, line in enumerate(lines)]


def hanging(text: str, indent: int = 2, width: int = RULE_WIDTH) -> list[str]:
    """Wrap ``text``, with every line after the first ``indent`` columns further to the right."""
    said = text.lstrip()
    margin = " " * (len(text) - len(said))
    return [margin + line for line in _broken(said, width - len(margin), " " * indent)] or [""]


def _broken(text: str, width: int, further: str = "") -> list[str]:
    """Break ``text`` between words, with ``further`` in front of every line but the first."""
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")
