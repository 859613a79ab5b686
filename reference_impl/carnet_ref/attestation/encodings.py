"""The encodings in which evidence is passed around: raw bytes, hexadecimal or base64 text, and PEM.

Recognising an encoding decides nothing about the evidence; whatever comes out is read and appraised like raw bytes.
"""

from __future__ import annotations

import base64
import binascii
import string
from typing import Final

from carnet_ref.wire.reader import MalformedError

LARGEST: Final = 16 << 20
PEM: Final = b"-----BEGIN "
PREFIX: Final = "0x"
PRINTABLE: Final = frozenset(string.printable.encode())
URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


def decode(data: bytes, what: str, *, padded: bool = True) -> bytes:
    """Return raw bytes out of raw bytes, hexadecimal text or base64 text.

    Hexadecimal text may begin with ``0x``. Base64 may be of either alphabet, and without its padding if ``padded`` is
    false, as in documents that say that a field is base64.

    Raises:
        MalformedError: ``data`` is text of another kind, or too long.

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


def from_hexadecimal(text: str) -> bytes:
    """Return the bytes that hexadecimal digits stand for; ``0x`` may stand before them.

    Raises:
        ValueError: ``text`` is something else.
    """
    return bytes.fromhex(text.removeprefix(PREFIX))


def _from_base64(text: bytes) -> bytes:
    standard = text if b"+" in text or b"/" in text else text.translate(URL_SAFE)
    try:
        return base64.b64decode(standard, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def decode_pem(data: bytes, what: str) -> bytes:
    """Return PEM out of PEM or of base64 text that holds PEM.

    Raises:
        MalformedError: it is neither.
    """
    pem = data if PEM in data else decode(data, what)
    if PEM not in pem:
        raise MalformedError(what, "PEM, or base64 of PEM", "something else")
    return pem
