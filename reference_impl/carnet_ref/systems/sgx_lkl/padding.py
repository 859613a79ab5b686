"""Padding: content of any length becomes one length, with the length inside, where encryption hides it."""

from __future__ import annotations

from carnet_ref.systems.sgx_lkl.errors import PaddingError, ShapeError

_LENGTH = 4


def room(size: int) -> int:
    """Return how many bytes of content fit what is padded to ``size``."""
    return size - _LENGTH


def padded(content: bytes, size: int) -> bytes:
    """Return the content with its length before it, and zeros up to ``size``.

    Raises:
        ShapeError: it does not fit.
    """
    if len(content) > room(size):
        raise ShapeError(f"{len(content)} bytes do not fit {room(size)}")
    return (len(content).to_bytes(_LENGTH, "big") + content).ljust(size, b"\0")


def unpadded(block: bytes) -> bytes:
    """Return the content of what was padded.

    Raises:
        PaddingError: the length is longer than what is there, or the padding is not zeros.
    """
    length = int.from_bytes(block[:_LENGTH], "big")
    content, rest = block[_LENGTH : _LENGTH + length], block[_LENGTH + length :]
    if len(block) < _LENGTH or len(content) < length or any(rest):
        raise PaddingError(f"{len(block)} bytes hold no content of {length}")
    return content


def cut(content: bytes, size: int) -> tuple[bytes, ...]:
    """Return the content in pieces of at most ``size`` bytes; no content is one empty piece."""
    return tuple(content[at : at + size] for at in range(0, max(1, len(content)), size))
