"""ERROR, what some of its codes add, and RESPOND_IF_READY, which asks again after one of them.

Source: DMTF DSP0274 1.3.2, sections "ERROR response message" and "RESPOND_IF_READY request message".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final, Self

from carnet_ref.spdm.messages.common import Layout, Message, Version
from carnet_ref.wire.reader import MalformedError, Reader

LONGEST_EXTENSION: Final = 32
"""The most that an ERROR adds after its parameters."""


class ErrorCode(IntEnum):
    """The codes of ERROR that Carnet sends or acts on; others are kept as numbers."""

    INVALID_REQUEST = 0x01
    BUSY = 0x03
    UNEXPECTED_REQUEST = 0x04
    UNSPECIFIED = 0x05
    DECRYPT_ERROR = 0x06
    UNSUPPORTED_REQUEST = 0x07
    LARGE_RESPONSE = 0x0F
    VERSION_MISMATCH = 0x41
    RESPONSE_NOT_READY = 0x42


@dataclass(frozen=True, slots=True)
class Error(Message):
    """ERROR."""

    CODE: ClassVar[int] = 0x7F

    code: int
    data: int = 0
    extended: bytes = b""

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read what follows the header."""
        del layout
        if reader.remaining > LONGEST_EXTENSION:
            raise reader.malformed(f"{LONGEST_EXTENSION} bytes at most", str(reader.remaining))
        return cls(version, *params, reader.rest())

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.code, self.data

    def body(self) -> bytes:
        """Return what follows the header."""
        return self.extended


@dataclass(frozen=True, slots=True)
class NotReady:
    """What an ERROR of code ResponseNotReady adds.

    The response takes about 2 to the power ``exponent`` microseconds, and is dropped after ``multiplier`` times that.
    """

    exponent: int
    request_code: int
    token: int
    multiplier: int

    @classmethod
    def of(cls, error: Error) -> NotReady:
        """Read it.

        Raises:
            MalformedError: the ERROR adds something else.
        """
        if len(error.extended) != 4:
            raise MalformedError("ResponseNotReady", "four bytes", str(len(error.extended)), 4)
        return cls(*error.extended)

    def encode(self) -> bytes:
        """Return its bytes."""
        return bytes([self.exponent, self.request_code, self.token, self.multiplier])


@dataclass(frozen=True, slots=True)
class RespondIfReady(Message):
    """RESPOND_IF_READY: asks for the response to the request that ``token`` names."""

    CODE: ClassVar[int] = 0xFF

    request_code: int
    token: int

    @classmethod
    def read(cls, reader: Reader, version: Version, params: tuple[int, int], layout: Layout) -> Self:
        """Read nothing."""
        del reader, layout
        return cls(version, *params)

    def params(self) -> tuple[int, int]:
        """Return Param1 and Param2."""
        return self.request_code, self.token
