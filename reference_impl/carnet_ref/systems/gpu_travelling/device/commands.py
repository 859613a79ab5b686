"""What goes through the link: copies to the device, and what it sends home.

Whoever has the host-to-device half can send every one of the copies; nothing in one says who made it. Nothing is
decided by what comes over the link: orders, and reports on them, travel inside the session (module `orders`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from carnet_ref.wire import MalformedError, join, number, split, to_number


@dataclass(frozen=True, slots=True)
class Write:
    """Store ``data`` at ``address``; ``chunk`` numbers the chunks of a dataset from 1, 0 for anything else."""

    address: int
    chunk: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Start:
    """Start a kernel that keeps running: a resident context."""

    program: bytes


@dataclass(frozen=True, slots=True)
class Upload:
    """Replace the code, and the model if one is given."""

    code: bytes
    model: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Submit:
    """Carry out an order that did not come inside the session."""

    order: bytes


Command = Write | Start | Upload | Submit


@dataclass(frozen=True, slots=True)
class Logged:
    """What training writes down on the way: the mean loss."""

    loss: float


@dataclass(frozen=True, slots=True)
class Model:
    """The model, on its way home."""

    model: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """Anything else that code on the GPU sends home."""

    data: bytes = field(repr=False)


Reply = Logged | Model | Sent

_LOSS = struct.Struct("<d")


def size_of(message: Command | Reply) -> int:
    """Return how many bytes a command or a reply takes."""
    return len(encode(message))


def encode(message: Command | Reply) -> bytes:
    """Return the bytes of a command or a reply."""
    parts: tuple[bytes, ...]
    match message:
        case Write(address, chunk, data):
            parts = (number(address), number(chunk), data)
        case Start(content) | Submit(content) | Model(content) | Sent(content):
            parts = (content,)
        case Upload(code, model):
            parts = (code, model)
        case Logged(loss):
            parts = (_LOSS.pack(loss),)
    return bytes([_TAGS[type(message)]]) + join(*parts)


def parse_command(data: bytes) -> Command:
    """Return the command that ``data`` encodes.

    Raises:
        MalformedError: it encodes none.
    """
    what, body = "command", data[1:]
    match data[:1]:
        case b"\x01":
            address, chunk, content = split(body, what, "address", "chunk", "data")
            return Write(to_number(address, what, "address"), to_number(chunk, what, "chunk"), content)
        case b"\x02":
            (program,) = split(body, what, "program")
            return Start(program)
        case b"\x03":
            code, model = split(body, what, "code", "model")
            return Upload(code, model)
        case b"\x04":
            (order,) = split(body, what, "order")
            return Submit(order)
    raise MalformedError(what, "a known command", data[:1].hex() or "nothing", 0)


def parse_reply(data: bytes) -> Reply:
    """Return the reply that ``data`` encodes.

    Raises:
        MalformedError: it encodes none.
    """
    what, body = "reply", data[1:]
    match data[:1]:
        case b"\x11":
            (loss,) = split(body, what, "loss")
            if len(loss) != _LOSS.size:
                raise MalformedError(what, f"{_LOSS.size} bytes of loss", str(len(loss)))
            return Logged(float(_LOSS.unpack(loss)[0]))
        case b"\x12":
            (model,) = split(body, what, "model")
            return Model(model)
        case b"\x13":
            (content,) = split(body, what, "data")
            return Sent(content)
    raise MalformedError(what, "a known reply", data[:1].hex() or "nothing", 0)


_TAGS: dict[type[Command | Reply], int] = {
    Write: 0x01,
    Start: 0x02,
    Upload: 0x03,
    Submit: 0x04,
    Logged: 0x11,
    Model: 0x12,
    Sent: 0x13,
}
