"""Bounded parsing of untrusted bytes; malformed input raises one typed error.

Carnet's own messages are lists of byte fields, each preceded by its length.
"""

import json
import math
from typing import Literal

ByteOrder = Literal["little", "big"]


class MalformedError(ValueError):
    """Bytes do not have the expected format."""

    def __init__(self, what: str, expected: str, found: str, offset: int | None = None) -> None:
        place = "" if offset is None else f" at byte {offset}"
        super().__init__(f"{what}{place}: expected {expected}, found {found}")
        self.what = what  #: the structure being read, such as ``"TDX quote"``.
        self.expected = expected  #: the expected content.
        self.found = found  #: the actual content.
        #: the place, in bytes from the start of the structure; ``None`` if a place has no meaning.
        self.offset = offset


class Reader:
    """A cursor over bytes that never reads past their end."""

    __slots__ = ("_data", "_field", "_order", "_position", "_what")

    def __init__(self, data: bytes, what: str, order: ByteOrder = "little") -> None:
        self._data = data
        self._what = what
        self._order: ByteOrder = order
        self._position = 0
        self._field = 0

    @property
    def position(self) -> int:
        """The number of bytes read so far."""
        return self._position

    @property
    def remaining(self) -> int:
        """The number of bytes left."""
        return len(self._data) - self._position

    def take(self, count: int, field: str) -> bytes:
        """Return the next ``count`` bytes, which are called ``field`` in errors.

        Raises MalformedError if fewer are left.
        """
        start = self._position
        end = start + count
        if end > len(self._data):
            raise MalformedError(self._what, f"{count} bytes of {field}", f"{self.remaining}", start)
        self._field, self._position = start, end
        return self._data[start:end]

    def number(self, width: int, field: str) -> int:
        """Return the next ``width`` bytes as an unsigned integer in this reader's byte order."""
        return int.from_bytes(self.take(width, field), self._order)

    def constant(self, value: bytes, field: str) -> None:
        """Read bytes that must be equal to ``value``."""
        offset = self._position
        found = self.take(len(value), field)
        if found != value:
            raise MalformedError(self._what, f"{field} {value.hex()}", found.hex(), offset)

    def rest(self) -> bytes:
        """Return all bytes that are left."""
        return self.take(self.remaining, "the rest")

    def end(self) -> None:
        """Require that no bytes are left."""
        if self.remaining:
            raise MalformedError(self._what, "nothing more", f"{self.remaining} further bytes", self._position)

    def malformed(self, expected: str, found: str) -> MalformedError:
        """Return an error at the field that was read last, for the caller to raise."""
        return MalformedError(self._what, expected, found, self._field)


def json_value(text: str | bytes) -> object:
    """Return the value of a JSON text; an object may not have a name twice, since parsers treat that differently.

    Raises ValueError if the text is malformed, has an invalid or too large number, or is nested too deeply; as
    DoubledNameError, if it has a name twice.

    Source: RFC 8259, sections 4 and 6.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def bounded_json(data: str | bytes, what: str, most: int, expected: str = "JSON") -> object:
    """Return the value of a JSON text of at most ``most`` bytes. Raises MalformedError if it is not one."""
    if len(data) > most:
        raise MalformedError(what, f"at most {most} bytes", f"{len(data)}")
    try:
        return json_value(data)
    except ValueError as error:
        raise MalformedError(what, expected, " ".join(str(error).split())[:200]) from None


def _finite(text: str) -> float:
    """Return a finite number; refuse NaN, infinities and values that overflow, which JSON does not have."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number that is none, or too large")
    return value


class DoubledNameError(ValueError):
    """An object of a JSON text has a name twice."""


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise DoubledNameError("a name comes twice in one object")
    return fields


_LENGTH = 4


def join(*parts: bytes) -> bytes:
    """Return the fields as one message."""
    return b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)


def split(data: bytes, what: str, *names: str) -> list[bytes]:
    """Return the fields of a message, which are called ``names`` in errors.

    Raises MalformedError if there are fewer or more fields, or one is cut short.
    """
    reader = Reader(data, what)
    parts = [reader.take(reader.number(_LENGTH, f"{name} length"), name) for name in names]
    reader.end()
    return parts


def number(value: int) -> bytes:
    """Return a counter as eight bytes."""
    return value.to_bytes(8, "little")


def to_number(part: bytes, what: str, field: str) -> int:
    """Return the counter in a field. Raises MalformedError if it is not eight bytes."""
    reader = Reader(part, what)
    value = reader.number(8, field)
    reader.end()
    return value


def to_text(part: bytes, what: str, field: str) -> str:
    """Return the text in a field. Raises MalformedError if it is not UTF-8."""
    try:
        return part.decode("utf-8")
    except UnicodeDecodeError:
        raise Reader(part, what).malformed(f"{field} in UTF-8", part[:16].hex()) from None
