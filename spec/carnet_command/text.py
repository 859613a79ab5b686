"""Text for people: lines that fit their terminal, and numbers of things."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

RULE_WIDTH = 78
"""The most columns that a command's report takes, and what it takes where there is no terminal."""
NARROWEST = 40
"""The fewest: fewer would break formulas and names to pieces."""
LABEL_WIDTH = 13
"""Columns of the labels to the left of it."""


def report_width() -> int:
    """Return the columns of a report: those of the terminal or of ``COLUMNS``, and no more than are read at ease."""
    if "COLUMNS" not in os.environ and not sys.stdout.isatty():
        return RULE_WIDTH
    import shutil

    return max(NARROWEST, min(shutil.get_terminal_size((RULE_WIDTH, 24)).columns, RULE_WIDTH))


def wrapped(label: str, text: str, indent: int = LABEL_WIDTH, width: int | None = None) -> list[str]:
    """Write ``text`` beside ``label``, wrapped at the width of the report and never inside a word."""
    lines = _broken(text, (width or report_width()) - indent) or [""]
    return [f"{label if not number else '':<{indent}}{line}" for number, line in enumerate(lines)]


def hanging(text: str, indent: int = 2, width: int | None = None) -> list[str]:
    """Wrap ``text``, with every line after the first ``indent`` columns further to the right."""
    said = text.lstrip()
    margin = " " * (len(text) - len(said))
    return [margin + line for line in _broken(said, (width or report_width()) - len(margin), " " * indent)] or [""]


def _broken(text: str, width: int, further: str = "") -> list[str]:
    """Break ``text`` between words, with ``further`` in front of every line but the first."""
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


def counted(number: int, what: str) -> str:
    """Write a number of things."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def listed(words: Iterable[str]) -> str:
    """Join words as in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
