"""Messages as lists of byte fields, each with its length before it: one encoding for all that is Carnet's own."""

from __future__ import annotations

from carnet_ref.wire.reader import Reader

_LENGTH = 4


def join(*parts: bytes) -> bytes:
    """Return the fields as one message."""
    return b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)


def split(data: bytes, what: str, *names: str) -> list[bytes]:
    """Return the fields of a message, which are called ``names`` in errors.

    Raises:
        MalformedError: there are fewer or more fields, or one is cut short.
    """
    reader = Reader(data, what)
    parts = [reader.take(reader.number(_LENGTH, f"{name} length"), name) for name in names]
    reader.end()
    return parts


def number(value: int) -> bytes:
    """Return a counter as eight bytes."""
    return value.to_bytes(8, "little")


def to_number(part: bytes, what: str, field: str) -> int:
    """Return the counter in a field.

    Raises:
        MalformedError: it is not eight bytes.
    """
    reader = Reader(part, what)
    value = reader.number(8, field)
    reader.end()
    return value


def to_text(part: bytes, what: str, field: str) -> str:
    """Return the text in a field.

    Raises:
        MalformedError: it is not UTF-8.
    """
    try:
        return part.decode("utf-8")
    except UnicodeDecodeError:
        raise Reader(part, what).malformed(f"{field} in UTF-8", part[:16].hex()) from None
