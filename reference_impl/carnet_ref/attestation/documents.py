"""Evidence as files: raw bytes, hexadecimal or base64 text, PEM, and JSON read field by field.

Recognising an encoding decides nothing about the evidence; whatever comes out is read and appraised like raw bytes. In
JSON, what is missing, doubled or of another type is malformed.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from carnet_ref.wire import MalformedError, json_value

LARGEST: Final = 16 << 20
PEM: Final = b"-----BEGIN "
PREFIX: Final = "0x"
PRINTABLE: Final = frozenset(string.printable.encode())
MOMENT: Final = re.compile(r"[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}Z")
URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


def decode(data: bytes, what: str, *, padded: bool = True) -> bytes:
    """Return raw bytes out of raw bytes, hexadecimal text or base64 text.

    Hexadecimal text may begin with ``0x``. Base64 may be of either alphabet, and without its padding if ``padded`` is
    false, as in documents that say that a field is base64.

    Raises MalformedError if ``data`` is text of another kind, or too long.

    Source: RFC 4648, sections 4, 5 and 8.
    """
    if len(data) > LARGEST:
        raise MalformedError(what, f"at most {LARGEST} bytes", f"{len(data)}")
    if not data or not PRINTABLE.issuperset(data):
        return data
    text = bytes(data).translate(None, string.whitespace.encode())
    try:
        return from_hexadecimal(text.decode())
    except ValueError:
        pass
    try:
        return _from_base64(text if padded else text + b"=" * (-len(text) % 4))
    except ValueError:
        raise MalformedError(what, "raw bytes, hexadecimal or base64", "other text") from None


def text_encoding(data: bytes) -> str | None:
    """Return the name of the encoding in which printable text represents bytes; empty for other text."""
    text = data.translate(None, string.whitespace.encode())
    try:
        from_hexadecimal(text.decode())
    except ValueError:
        pass
    else:
        return "hexadecimal"
    try:
        _from_base64(text)
    except ValueError:
        return None
    return "base64"


def from_hexadecimal(text: str) -> bytes:
    """Return the bytes that hexadecimal digits stand for; ``0x`` may stand before them.

    Raises ValueError if ``text`` is something else.
    """
    return bytes.fromhex(text.removeprefix(PREFIX))


def _from_base64(text: bytes) -> bytes:
    standard = text if b"+" in text or b"/" in text else text.translate(URL_SAFE)
    try:
        return base64.b64decode(standard, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def decode_pem(data: bytes, what: str) -> bytes:
    """Return PEM out of PEM or of base64 text that holds PEM. Raises MalformedError if it is neither."""
    pem = data if PEM in data else decode(data, what)
    if PEM not in pem:
        raise MalformedError(what, "PEM, or base64 of PEM", "something else")
    return pem


#: How many characters a text may have that is passed over beside evidence: too few for evidence.
LONGEST_BESIDE: Final = 128


def is_plain(value: object) -> bool:
    """Return whether a value of JSON is too short to be evidence."""
    return value is None or isinstance(value, bool | int | float) or is_short(value)


def is_short(value: object) -> bool:
    """Return whether a value is a text that is too short to be evidence."""
    return isinstance(value, str) and len(value) <= LONGEST_BESIDE


LARGEST_DOCUMENT: Final = 1 << 20


class Document:
    """One JSON object, whose fields are asked for with their type."""

    __slots__ = ("_fields", "_what")

    def __init__(self, fields: Mapping[str, object], what: str) -> None:
        self._fields = fields
        self._what = what

    @classmethod
    def parse(cls, data: bytes, what: str) -> Document:
        """Read an object; ``what`` names it in errors.

        Raises MalformedError if it is no JSON object, a name in it comes twice, or it is larger than a mebibyte.
        """
        value = _value(data, what)
        if not isinstance(value, dict):
            raise MalformedError(what, "a JSON object", type(value).__name__)
        return cls(value, what)

    def has(self, name: str) -> bool:
        """Return whether the object has the field ``name``."""
        return name in self._fields

    def states(self, name: str) -> bool:
        """Return whether the object has the field ``name`` and it is not null."""
        return self._fields.get(name) is not None

    def holds_object(self, name: str) -> bool:
        """Return whether the field ``name`` is an object."""
        return isinstance(self._fields.get(name), dict)

    @property
    def fields(self) -> Mapping[str, object]:
        """The parsed fields."""
        return self._fields

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        return tuple(self._fields)

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        """Return a Boolean field, or ``default`` if it is missing."""
        value = self._field(name) if default is None else self._fields.get(name, default)
        if not isinstance(value, bool):
            raise self._malformed(name, "true or false", value)
        return value

    def text(self, name: str) -> str:
        """Return a string field without lone surrogates."""
        value = self._field(name)
        if not isinstance(value, str):
            raise self._malformed(name, "a string", value)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self._malformed(name, "a string of characters", "half a character") from None
        return value

    def number(self, name: str) -> int:
        """Return a field that is a non-negative integer."""
        value = self._field(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._malformed(name, "a whole number", value)
        return value

    def number_or_none(self, name: str) -> int | None:
        """Return a field that is a non-negative integer, or None if it is null or missing."""
        return self.number(name) if self.states(name) else None

    def byte_list(self, name: str, size: int | None = None) -> bytes:
        """Return the bytes of a field that is a list of numbers, ``size`` of them if given."""
        value = self._field(name)
        if not isinstance(value, list) or not all(type(byte) is int and 0 <= byte <= 0xFF for byte in value):
            raise self._malformed(name, "a list of bytes", value)
        if size is not None and len(value) != size:
            raise self._malformed(name, f"a list of {size} bytes", f"{len(value)} bytes")
        return bytes(value)

    def octets(self, name: str, size: int | None = None) -> bytes:
        """Return the bytes of a field in hexadecimal, ``size`` of them if given."""
        text = self.text(name)
        try:
            value = bytes.fromhex(text)
        except ValueError:
            raise self._malformed(name, "hexadecimal digits", text) from None
        if len(text) != 2 * len(value) or (size is not None and len(value) != size):
            raise self._malformed(name, f"{size} bytes in hexadecimal", text)
        return value

    def time(self, name: str) -> datetime:
        """Return the time in a field, written as ``2026-01-31T12:00:00Z``."""
        text = self.text(name)
        try:
            moment = datetime.fromisoformat(text) if MOMENT.fullmatch(text) else None
        except ValueError:
            moment = None
        if moment is None:
            raise self._malformed(name, "a moment such as 2026-01-31T12:00:00Z", text)
        return moment

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list of strings; empty if it is missing."""
        value = self._fields.get(name, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self._malformed(name, "a list of strings", value)
        return tuple(value)

    def document(self, name: str) -> Document:
        """Return a field that is an object."""
        value = self._field(name)
        if not isinstance(value, dict):
            raise self._malformed(name, "an object", value)
        return Document(value, f"{self._what}: {name}")

    def documents(self, name: str) -> tuple[Document, ...]:
        """Return a field that is a list of objects; empty if it is missing."""
        value = self._fields.get(name, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self._malformed(name, "a list of objects", value)
        return tuple(Document(entry, f"{self._what}: {name}") for entry in value)

    def _field(self, name: str) -> object:
        if name not in self._fields:
            raise MalformedError(self._what, f"a field {name!r}", "none")
        return self._fields[name]

    def _malformed(self, name: str, expected: str, found: object) -> MalformedError:
        return MalformedError(f"{self._what}: {name}", expected, repr(found)[:80])


def at_pointer(document: Mapping[str, object], pointer: str) -> object:
    """Return the value at a JSON pointer. Raises LookupError if there is none. Source: RFC 6901, section 4."""
    value: object = document
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            raise LookupError(pointer)
    return value


def parse_documents(data: bytes, what: str) -> tuple[Document, ...]:
    """Read a list of objects; ``what`` names it in errors.

    Raises MalformedError if it is no JSON list of objects, a name in one comes twice, or it is larger than a mebibyte.
    """
    value = _value(data, what)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise MalformedError(what, "a JSON list of objects", type(value).__name__)
    return tuple(Document(entry, what) for entry in value)


def _value(data: bytes, what: str) -> object:
    if len(data) > LARGEST_DOCUMENT:
        raise MalformedError(what, f"at most {LARGEST_DOCUMENT} bytes", f"{len(data)}")
    try:
        return json_value(data.decode("utf-8"))
    except ValueError as error:
        raise MalformedError(what, "JSON", " ".join(str(error).split())[:200]) from None
