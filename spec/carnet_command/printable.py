"""Text from outside, made fit to be shown: a terminal would act on some characters instead."""

from __future__ import annotations

from typing import Any


def printable(text: str) -> str:
    """Return ``text`` with every character that is not for printing written as an escape, as in Python source.

    Those are control characters, marks that turn the direction of text, and everything else that Unicode calls no
    graphic character, or a space other than the usual one.

    Source: Unicode 15.0, section 4.5, general categories Other and Separator, as `str.isprintable` reads them.
    """
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def printable_lines(text: str) -> str:
    """Return ``text`` as `printable` does, with its line breaks kept."""
    return "\n".join(map(printable, text.split("\n")))


def printable_values(value: Any) -> Any:
    """Return a value of JSON with each text in it, names of members apart, as `printable_lines` gives it."""
    if isinstance(value, str):
        return printable_lines(value)
    if isinstance(value, dict):
        return {name: printable_values(member) for name, member in value.items()}
    if isinstance(value, list):
        return [printable_values(member) for member in value]
    return value
