"""Frames on a stream: a length, and then the frame."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from carnet_ref.fields import join, number, split, to_number, to_text
from carnet_ref.roles.messages import Frame, Kind
from carnet_ref.wire import MalformedError, Reader

LARGEST: Final = 1 << 24
"""Bytes of a frame at most."""
_LENGTH: Final = 4


def encode_frame(frame: Frame) -> bytes:
    """Return the bytes of a frame, with their length before them."""
    names = frame.source.encode("utf-8"), frame.target.encode("utf-8")
    body = join(*names, bytes([frame.kind.value]), number(frame.clock), frame.body)
    return len(body).to_bytes(_LENGTH, "little") + body


def parse_frame(data: bytes) -> Frame:
    """Return the frame that ``data`` encodes, without the length.

    Raises:
        MalformedError: it encodes none.
    """
    source, target, kind, clock, body = split(data, "frame", "source", "target", "kind", "clock", "body")
    known = {bytes([each.value]): each for each in Kind}
    if kind not in known:
        raise MalformedError("frame", "a known kind", kind.hex() or "nothing")
    names = to_text(source, "frame", "source"), to_text(target, "frame", "target")
    return Frame(*names, known[kind], body, to_number(clock, "frame", "clock"))


def parse_frames(data: bytes) -> Iterator[Frame]:
    """Yield the frames that follow each other in ``data``; the last one may be cut short, and is left out then.

    Raises:
        MalformedError: one of them is no frame.
    """
    reader = Reader(data, "recorded frames")
    while reader.remaining >= _LENGTH:
        size = reader.number(_LENGTH, "length")
        if size > reader.remaining:
            return
        yield parse_frame(reader.take(size, "frame"))


async def read_frame(reader: asyncio.StreamReader) -> Frame | None:
    """Return the next frame, or ``None`` at the end of the stream.

    Raises:
        MalformedError: what comes is no frame, or too long.
    """
    try:
        size = int.from_bytes(await reader.readexactly(_LENGTH), "little")
        if size > LARGEST:
            raise MalformedError("frame", f"at most {LARGEST} bytes", str(size))
        return parse_frame(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
