"""Escaping of foreign text before a terminal shows it, since terminals execute some characters."""

from typing import Any


def printable(text: str) -> str:
    """Return ``text`` with every unprintable character replaced by its escape sequence in Python source.

    Unprintable are control characters, marks of text direction, all other characters that are not graphic by Unicode,
    and every space other than U+0020.

    Source: Unicode 15.0, section 4.5, general categories Other and Separator, as `str.isprintable` reads them.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def printable_lines(text: str) -> str:
    """Return ``text`` escaped as `printable` does, except for its line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def printable_values(value: Any) -> Any:
    """Return a JSON value with each text in it, except names of members, escaped as `printable_lines` does."""
    if isinstance(value, str):
        return printable_lines(value)
    if isinstance(value, dict):
        return {name: printable_values(member) for name, member in value.items()}
    if isinstance(value, list):
        return [printable_values(member) for member in value]
    return value
