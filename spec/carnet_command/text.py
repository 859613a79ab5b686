"""Text for the terminal: lines wrapped at its width, counts and lists in words."""

import os
import sys
from collections.abc import Iterable

RULE_WIDTH = 78  #: The most columns of a command's report, and its width if there is no terminal.
NARROWEST = 40  #: The fewest columns of a report: fewer would break formulas and names.
LABEL_WIDTH = 13  #: Columns of the labels on the left.


def report_width() -> int:
    """Return the width of a report: that of the terminal or ``COLUMNS``, between `NARROWEST` and `RULE_WIDTH`."""
    if "COLUMNS" not in os.environ and not sys.stdout.isatty():
        return RULE_WIDTH
    import shutil

    return max(NARROWEST, min(shutil.get_terminal_size((RULE_WIDTH, 24)).columns, RULE_WIDTH))


def wrap_text(label: str, text: str, indent: int = LABEL_WIDTH, width: int | None = None) -> list[str]:
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


def plural(number: int, what: str) -> str:
    """Return a number with its noun, which is in the plural unless the number is 1."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def join_words(words: Iterable[str]) -> str:
    """Join words with commas and *and*, as in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
