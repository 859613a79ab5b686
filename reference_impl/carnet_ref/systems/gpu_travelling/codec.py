"""A binary encoding of messages: a tag for the kind, then the fields of a dataclass, each encoded by its type."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

from carnet_ref.crypto.primitives import SHA384_BYTES
from carnet_ref.wire import MalformedError, join, number, split, to_number, to_text

Digest = Annotated[bytes, SHA384_BYTES]  #: The type of a field that has as many bytes as a SHA-384.
_FLOAT = struct.Struct("<d")
_Message = TypeVar("_Message")


class Codec(Generic[_Message]):
    """Encodes and parses messages of some kinds.

    A whole number takes eight bytes, a text is UTF-8, and the fields of a dataclass stand in the place of it.

    Args:
        what: what such a message is called in errors.
        kinds: the kinds, by their tags.
        names: what messages of a kind are called in errors, if not ``what``.
    """

    def __init__(self, what: str, kinds: Mapping[int, type], names: Mapping[type, str] | None = None) -> None:
        self._what, self._kinds, self._names = what, kinds, names or {}
        self._tags = {kind: tag for tag, kind in kinds.items()}

    def encode(self, message: _Message) -> bytes:
        """Return the bytes of a message."""
        return bytes([self._tags[type(message)]]) + join(*_encoded(message))

    def parse(self, data: bytes) -> _Message:
        """Return the message that ``data`` encodes. Raises MalformedError if it encodes none."""
        kind = self._kinds.get(data[0]) if data else None
        if kind is None:
            raise MalformedError(self._what, f"a known {self._what}", data[:1].hex() or "nothing", 0)
        what, names = self._names.get(kind, self._what), tuple(_leaves(kind))
        parts = zip(names, split(data[1:], what, *names), strict=True)
        message: _Message = _parsed(kind, what, parts)
        return message


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """Return the types of the fields of a dataclass, in the order in which they are encoded."""
    return get_type_hints(kind, include_extras=True)


def _is_nested(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


def _leaves(kind: type) -> Iterator[str]:
    for name, hint in _hints(kind).items():
        yield from _leaves(hint) if _is_nested(hint) else (name,)


def _encoded(message: Any) -> Iterator[bytes]:
    kind: Any = type(message)
    for name in _hints(kind):
        match getattr(message, name):
            case bytes() as value:
                yield value
            case str() as value:
                yield value.encode("utf-8")
            case int() as value:
                yield number(value)
            case float() as value:
                yield _FLOAT.pack(value)
            case value:
                yield from _encoded(value)


def _parsed(kind: type, what: str, parts: Iterator[tuple[str, bytes]]) -> Any:
    values: dict[str, object] = {}
    for name, hint in _hints(kind).items():
        values[name] = _parsed(hint, what, parts) if _is_nested(hint) else _value(hint, what, *next(parts))
    return kind(**values)


def _value(hint: Any, what: str, name: str, part: bytes) -> object:
    if hint is int:
        return to_number(part, what, name)
    if hint is str:
        return to_text(part, what, name)
    if hint is float:
        if len(part) != _FLOAT.size:
            raise MalformedError(what, f"{_FLOAT.size} bytes of {name}", str(len(part)))
        return _FLOAT.unpack(part)[0]
    if hint is not bytes and len(part) != SHA384_BYTES:
        raise MalformedError(what, f"a digest of {SHA384_BYTES} bytes", str(len(part)))
    return part
