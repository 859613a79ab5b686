"""The layout of SPDM messages: a version, a code, two parameters and a body.

The annotations of a message's class say how each attribute is laid out, in the order of the body. A message whose
layout depends on its own attributes reads and writes itself.

Source: DMTF DSP0274 1.1.3, 1.2.3, 1.3.2 and 1.4.0, section "Generic SPDM message format".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Final, Self, TypeVar, dataclass_transform, get_type_hints

from carnet_ref.wire import Reader

HASH_BYTES: Final = 48
SIGNATURE_BYTES: Final = 96  #: The responder's signatures: ECDSA over P-384.
REQUESTER_SIGNATURE_BYTES: Final = 384  #: The requester's signatures: RSA-PSS with 3072 bits.
EXCHANGE_BYTES: Final = 96
RANDOM_BYTES: Final = 32
CONTEXT_BYTES: Final = 8  #: The requester context that SPDM 1.3 adds to signed messages.


class Version(IntEnum):
    """SPDM versions, by the number in a message's first byte."""

    V1_0 = 0x10  #: Only GET_VERSION and VERSION carry it.
    V1_1 = 0x11
    V1_2 = 0x12
    V1_3 = 0x13
    V1_4 = 0x14

    @property
    def label(self) -> str:
        """The version as text, such as ``1.2``."""
        return f"{self >> 4}.{self & 15}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The circumstances that a message's layout depends on and that the message does not contain.

    ``summary``: a measurement summary hash was requested. ``signed``: a signature was requested (MEASUREMENTS) or is
    there (FINISH). ``clear``: the handshake is in the clear. ``multi_key``: slots have key-pair descriptions (1.3).
    """

    version: Version = Version.V1_2
    summary: bool = False
    signed: bool = True
    clear: bool = False
    multi_key: bool = False


def u16(value: int) -> bytes:
    """Return two bytes, little-endian."""
    return value.to_bytes(2, "little")


def u32(value: int) -> bytes:
    """Return four bytes, little-endian."""
    return value.to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class Param:
    """Param1 (0) or Param2 (1), converted by ``kind``; a ValueError of ``kind`` means that it is not ``expected``."""

    index: int
    kind: Callable[[int], int] = int
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The layout of one attribute: how to read it in a version and a layout, and how to write it in a version."""

    read: Callable[[Reader, Version, Layout], Any]
    write: Callable[[Any, Version], bytes]


def number(width: int, name: str, *, before: int = 0, after: int = 0, since: Version = Version.V1_0) -> Part:
    """Return the part for a number with reserved bytes before and after it; 0 in versions without it."""

    def read(reader: Reader, version: Version, _: Layout) -> int:
        if version < since:
            return 0
        if before:
            reader.take(before, "reserved")
        value = reader.number(width, name)
        if after:
            reader.take(after, "reserved")
        return value

    def write(value: int, version: Version) -> bytes:
        return bytes(before) + value.to_bytes(width, "little") + bytes(after) if version >= since else b""

    return Part(read, write)


def octets(
    size: int, name: str, when: Callable[[Layout], bool] = lambda _: True, since: Version = Version.V1_0
) -> Part:
    """Return the part for a fixed number of bytes, in versions ``since`` one and under a condition."""
    return Part(
        lambda reader, version, layout: reader.take(size, name) if version >= since and when(layout) else b"",
        lambda value, _: bytes(value),
    )


def sized(name: str, since: Version = Version.V1_0, width: int = 2, size_name: str = "") -> Part:
    """Return the part for bytes preceded by their size, in versions ``since`` one."""

    def read(reader: Reader, version: Version, _: Layout) -> bytes:
        return reader.take(reader.number(width, size_name or f"{name} size"), name) if version >= since else b""

    return Part(read, lambda value, version: len(value).to_bytes(width, "little") + value if version >= since else b"")


def rest(most: int | None = None, needed: str = "") -> Part:
    """Return the part for all remaining bytes: at most ``most``, and at least one if ``needed`` names them."""

    def read(reader: Reader, *_: object) -> bytes:
        if most is not None and reader.remaining > most:
            raise reader.malformed(f"{most} bytes at most", str(reader.remaining))
        if needed and not reader.remaining:
            raise reader.malformed(needed, "nothing")
        return reader.rest()

    return Part(read, lambda value, _: bytes(value))


@dataclass(frozen=True, slots=True)
class Message:
    """Base class of SPDM messages; without attributes of its own, a message's parameters have no meaning."""

    CODE: ClassVar[int]
    PARTS: ClassVar[Mapping[str, Param | Part]]  #: How attributes are laid out, as far as their annotations say.

    version: Version

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read parameters and body of the message. Raises MalformedError if they are malformed."""
        return cls(version, **cls.values(reader, version, params, layout))

    @classmethod
    def values(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> dict[str, Any]:
        """Read the attributes by the layouts in their annotations."""
        found: dict[str, Any] = {}
        for name, part in cls.PARTS.items():
            if isinstance(part, Part):
                found[name] = part.read(reader, version, layout)
                continue
            try:
                found[name] = part.kind(params[part.index])
            except ValueError:
                raise reader.malformed(part.expected, str(params[part.index])) from None
        return found

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        parts = self.PARTS.items()
        found = {part.index: int(getattr(self, name)) for name, part in parts if isinstance(part, Param)}
        return found.get(0, 0), found.get(1, 0)

    def body(self) -> bytes:
        """Return the body of the message."""
        parts = [(getattr(self, name), part) for name, part in self.PARTS.items()]
        return b"".join(part.write(value, self.version) for value, part in parts if isinstance(part, Part))

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        return bytes([self.version, self.CODE, *self.params()]) + self.body()


MESSAGES: Final[dict[int, type[Message]]] = {}  #: Every kind of message, by its code.
_Kind = TypeVar("_Kind", bound=Message)


@dataclass_transform(frozen_default=True)
def message(code: int) -> Callable[[type[_Kind]], type[_Kind]]:
    """Return a decorator that registers a class for the messages with ``code``."""

    def register(kind: type[_Kind]) -> type[_Kind]:
        made = dataclass(frozen=True, slots=True)(kind)
        made.CODE = code
        hints = get_type_hints(made, include_extras=True).items()
        made.PARTS = {name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}
        MESSAGES[code] = made
        return made

    return register
