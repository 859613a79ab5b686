"""Schemas of JSON from outside: each value is checked once, where it is read, and then trusted.

A shape is a function of a value and its place. It returns None, or raises an error with the expected and the actual
value. Fields that a shape does not name are accepted: a later version may have more fields.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

Shape = Callable[[Any, str], None]
MOST_COUNTED: Final = 1 << 63  #: The limit of whole numbers; numbers that Carnet writes are far below it.


class ShapeError(ValueError):
    """A JSON value does not have its shape; the message says where."""


def parse_json(text: str) -> Any:
    """Return the value of a JSON text that all parsers read alike.

    Raises ShapeError if it is not JSON, repeats a field, is nested too deeply, or has an invalid number or character.

    Source: RFC 8259, sections 4 (names that are not unique), 6 (numbers), 8.2 (halves of characters) and 9 (limits).
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        if r"\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ShapeError(f"line {error.lineno}: {error.msg}") from None
    except UnicodeEncodeError:
        raise ShapeError("half a character") from None
    except RecursionError:
        raise ShapeError("it nests too deep") from None
    except ShapeError:
        raise
    except ValueError:
        raise ShapeError("a number of too many digits") from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ShapeError("one object names a field twice")
    return fields


def _no_constant(word: str) -> NoReturn:
    raise ShapeError(f"{word} is no number")


# -- shapes ----------------------------------------------------------------------------------------


def text(value: Any, where: str) -> None:
    """Check that a value is a text."""
    if not isinstance(value, str):
        raise _unexpected("a text", value, where)


def flag(value: Any, where: str) -> None:
    """Check that a value is true or false."""
    if not isinstance(value, bool):
        raise _unexpected("true or false", value, where)


def count(value: Any, where: str) -> None:
    """Check that a value is a whole number, not below zero."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST_COUNTED:
        raise _unexpected("a whole number", value, where)


def number(value: Any, where: str) -> None:
    """Check that a value is a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < MOST_COUNTED:
        raise _unexpected("a number", value, where)


def maybe(shape: Shape) -> Shape:
    """Return the shape of a value that may also be null."""

    def check(value: Any, where: str) -> None:
        if value is not None:
            shape(value, where)

    return check


def word(*known: str) -> Shape:
    """Return the shape of one of several words."""

    def check(value: Any, where: str) -> None:
        if value not in known if isinstance(value, str) else True:
            raise _unexpected(f"one of {', '.join(known)}", value, where)

    return check


def rows(shape: Shape, most: int = 1_000_000) -> Shape:
    """Return the shape of a list."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list):
            raise _unexpected("a list", value, where)
        if len(value) > most:
            raise ShapeError(f"{where}: expected at most {most:,} entries, not {len(value):,}")
        for place, entry in enumerate(value):
            shape(entry, f"{where}[{place}]")

    return check


def table(shape: Shape) -> Shape:
    """Return the shape of an object whose fields may have any names."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _unexpected("an object", value, where)
        for name, entry in value.items():
            shape(entry, f"{where}['{name}']")

    return check


def record(optional: Mapping[str, Shape] | None = None, /, **required: Shape) -> Shape:
    """Return the shape of an object with these fields."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _unexpected("an object", value, where)
        missing = [name for name in required if name.rstrip("_") not in value]
        if missing:
            raise ShapeError(f"{where}: expected '{missing[0].rstrip('_')}', and it is missing")
        for name, shape in {**(optional or {}), **required}.items():
            field = name.rstrip("_")
            if field in value:
                shape(value[field], f"{where}.{field}")

    return check


def _unexpected(expected: str, came: Any, where: str) -> ShapeError:
    kinds = {dict: "an object", list: "a list", bool: str(came).lower(), type(None): "null"}
    shown = f"'{came[:40]}'" if isinstance(came, str) else kinds.get(type(came)) or _number(came)
    return ShapeError(f"{where}: expected {expected}, not {shown}")


def _number(value: int | float) -> str:
    if isinstance(value, float):
        return f"{value}"
    digits = 1 + int(math.log10(abs(value))) if value else 1
    return f"{value}" if digits <= 20 else f"a number of {digits:,} digits"
