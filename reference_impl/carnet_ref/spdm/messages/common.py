"""What every SPDM message has: a version, a code and two parameters; and what else decides how its bytes are laid out.

Source: DMTF DSP0274 1.1.3, 1.2.3, 1.3.2 and 1.4.0, section "Generic SPDM message format".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final, Self

from carnet_ref.wire.reader import Reader

HASH_BYTES: Final = 48
SIGNATURE_BYTES: Final = 96
"""The responder's signatures: ECDSA over P-384."""
REQUESTER_SIGNATURE_BYTES: Final = 384
"""The requester's signatures: RSA-PSS with 3072 bits."""
EXCHANGE_BYTES: Final = 96
RANDOM_BYTES: Final = 32
CONTEXT_BYTES: Final = 8
"""The requester context that SPDM 1.3 adds to signed messages."""


class Version(IntEnum):
    """SPDM versions as they stand in a message's first byte."""

    V1_0 = 0x10
    """Only GET_VERSION and VERSION carry it."""
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
    """What a message's bytes depend on, and do not say themselves.

    ``summary``: a measurement summary hash was requested. ``signed``: a signature was requested (MEASUREMENTS) or is
    there (FINISH). ``clear``: the handshake is in the clear. ``multi_key``: slots have key-pair descriptions (1.3).
    """

    version: Version = Version.V1_2
    summary: bool = False
    signed: bool = True
    clear: bool = False
    multi_key: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One SPDM message, as a typed value."""

    CODE: ClassVar[int]

    version: Version

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header.

        Raises:
            MalformedError: it is something else.
        """
        raise NotImplementedError

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return 0, 0

    def body(self) -> bytes:
        """Return what follows the header."""
        return b""

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        return bytes([self.version, self.CODE, *self.params()]) + self.body()


@dataclass(frozen=True, slots=True)
class Empty(Message):
    """A message that is a header, whose parameters mean nothing."""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read nothing."""
        del reader, params, layout
        return cls(version)


def u16(value: int) -> bytes:
    """Return two bytes, little-endian."""
    return value.to_bytes(2, "little")


def u32(value: int) -> bytes:
    """Return four bytes, little-endian."""
    return value.to_bytes(4, "little")


def sized(data: bytes) -> bytes:
    """Return bytes after their two-byte size."""
    return u16(len(data)) + data


def read_sized(reader: Reader, field: str) -> bytes:
    """Read bytes after their two-byte size."""
    return reader.take(reader.number(2, f"{field} size"), field)
