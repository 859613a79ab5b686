"""Layout of TLA+: comments, lists and definitions, one part to a line, each part with its name beside it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

WIDTH = 110
GLUE = "\0"
"""Stands for a space that no line is broken at."""


def comment(*paragraphs: str) -> Iterator[str]:
    """Write paragraphs as comments."""
    for paragraph in paragraphs:
        plain = "".join(letter if letter.isprintable() else " " for letter in paragraph)
        yield from (f"\\* {line}" for line in textwrap.wrap(plain, WIDTH))


def title(text: str) -> Iterator[str]:
    """Begin a part of the module."""
    yield ""
    yield "-" * 40
    yield from comment(text)
    yield ""


def aside(name: str) -> str:
    """Return a name as a comment at the end of a line; nothing for no name."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    return f"  \\* {plain}" if plain else ""


def conjuncts(head: str, parts: Sequence[str]) -> Iterator[str]:
    """Write a definition as conjuncts under each other."""
    yield head
    yield from (f"  /\\ {part}" for part in parts or ("TRUE",))


def named_conjuncts(parts: Sequence[tuple[str, str]], margin: str, last: str = "") -> Iterator[str]:
    """Write conjuncts under each other, each with its name; ``last`` ends them."""
    for place, (part, name) in enumerate(parts, 1):
        yield f"{margin}/\\ {part}{last if place == len(parts) else ''}{aside(name)}"


def listed(head: str, parts: Sequence[str], end: str) -> Iterator[str]:
    """Write parts under each other, with commas between them."""
    yield head
    yield from (f"  {part}{',' if place < len(parts) else end}" for place, part in enumerate(parts, 1))


def changed(margin: str, record: str, changes: Sequence[tuple[str, str]], after: str = "") -> Iterator[str]:
    """Write a record with changes, one to a line, each with its name."""
    if not changes:
        yield f"{margin}{record}{after}"
        return
    yield f"{margin}[{record} EXCEPT"
    for place, (written, name) in enumerate(changes, 1):
        end = "," if place < len(changes) else f"]{after}"
        yield f"{margin}   {written}{end}{aside(name)}"


def wrapped(head: str, text: str) -> Iterator[str]:
    """Write a definition over several lines, broken between words but never inside a string."""
    yield head
    joined = re.sub(r'"[^"]*"', lambda found: found[0].replace(" ", GLUE), text)
    lines = textwrap.wrap(joined, WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (f"  {line}".replace(GLUE, " ") for line in lines)
