"""Messages in the JSON form of protocol buffers, read field by field.

A field is called by its name in camelCase, or by that of the schema; names here are those of the schema. A field that
has its default value may be left out. Whole numbers of 64 bits are text, and bytes are base64 of either alphabet.

Source: protocol buffers, "ProtoJSON Format", field names, representation of each type, and absent fields.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

from carnet_ref.attestation.documents import URL_SAFE
from carnet_ref.wire import MalformedError

DIGITS: Final = re.compile(r"[0-9]{1,20}")


class Message:
    """One message; each method reads a field as one type. ``what`` names the message in errors."""

    __slots__ = ("_fields", "_what")

    def __init__(self, fields: Mapping[str, object], what: str) -> None:
        self._fields = fields
        self._what = what

    def has(self, name: str) -> bool:
        """Return whether the message has a field that is not null."""
        return self._value(name) is not None

    def number(self, name: str, width: int) -> bytes:
        """Return a whole number as ``width`` bytes, little-endian; zero if the field is absent."""
        value = self._value(name)
        if isinstance(value, str) and DIGITS.fullmatch(value):
            value = int(value)
        value = 0 if value is None else value
        if type(value) is not int or not 0 <= value < 1 << 8 * width:
            raise self._malformed(name, f"a whole number of {width} bytes", value)
        return value.to_bytes(width, "little")

    def octets(self, name: str, size: int | None = None) -> bytes:
        """Return bytes, which have to be ``size`` long if that is given; empty if the field is absent."""
        return self._octets(name, self._value(name), size)

    def word(self, name: str) -> str | int:
        """Return the name or number of an enumeration's value; 0 if the field is absent."""
        value = self._value(name)
        value = 0 if value is None else value
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self._malformed(name, "a word or a number", value)
        return value

    def octet_lists(self, name: str, size: int | None = None) -> tuple[bytes, ...]:
        """Return the values of a repeated field, each ``size`` bytes long if that is given; empty if it is absent."""
        value = self._value(name)
        if value is not None and not isinstance(value, list):
            raise self._malformed(name, "a list", value)
        return tuple(self._octets(name, each, size) for each in value or [])

    def message(self, name: str) -> Message:
        """Return the message in a field of this one."""
        value = self._value(name)
        if not isinstance(value, Mapping):
            raise self._malformed(name, "a message", value)
        return Message(value, f"{self._what}: {name}")

    def messages(self, name: str) -> tuple[Message, ...]:
        """Return the messages in a repeated field; empty if it is absent."""
        value = self._value(name)
        if value is not None and not (isinstance(value, list) and all(isinstance(each, Mapping) for each in value)):
            raise self._malformed(name, "a list of messages", value)
        return tuple(Message(each, f"{self._what}: {name}") for each in value or [])

    def _value(self, name: str) -> object:
        first, *rest = name.split("_")
        camel = first + "".join(word.capitalize() for word in rest)
        if camel != name and camel in self._fields and name in self._fields:
            raise MalformedError(self._what, f"{name} or {camel}", "both: readers may differ in which counts")
        return self._fields.get(camel, self._fields.get(name))

    def _octets(self, name: str, value: object, size: int | None) -> bytes:
        text = "" if value is None else value
        if not isinstance(text, str):
            raise self._malformed(name, "base64", text)
        try:
            standard = text.encode("ascii").translate(URL_SAFE).rstrip(b"=")
            octets = base64.b64decode(standard + b"=" * (-len(standard) % 4), validate=True)
        except (UnicodeEncodeError, binascii.Error):
            raise self._malformed(name, "base64", text) from None
        if size is not None and len(octets) != size:
            raise self._malformed(name, f"{size} bytes", f"{len(octets)} bytes")
        return octets

    def _malformed(self, name: str, expected: str, found: object) -> MalformedError:
        return MalformedError(f"{self._what}: {name}", expected, ascii(found)[:80])
