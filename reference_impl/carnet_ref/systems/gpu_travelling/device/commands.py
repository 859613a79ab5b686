"""What goes through the link: commands to the device, and what the device answers.

Whoever has the host-to-device half can send every one of them; nothing in a command says who made it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from carnet_ref.wire.fields import join, number, split, to_number
from carnet_ref.wire.reader import MalformedError


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
class Fence:
    """Stop every resident context."""


@dataclass(frozen=True, slots=True)
class Upload:
    """Replace the code, and the model if one is given and there is none yet."""

    code: bytes
    model: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Have the copy engine read out code and model, and the receive counter of an epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Train:
    """Run the code in code memory on the dataset buffer."""


@dataclass(frozen=True, slots=True)
class Scrub:
    """Clear the dataset buffer and all that was derived from it, the model excepted."""


Command = Write | Start | Fence | Upload | ReadBack | Train | Scrub


@dataclass(frozen=True, slots=True)
class Rotated:
    """The device took the key of this epoch; so many engines take traffic now."""

    epoch: int
    live: int


@dataclass(frozen=True, slots=True)
class Fenced:
    """No context runs any more."""


@dataclass(frozen=True, slots=True)
class MemoryRead:
    """Code and model as they lie in memory, and how many messages of the epoch asked for were received."""

    code: bytes
    model: bytes = field(repr=False)
    received: int


@dataclass(frozen=True, slots=True)
class Trained:
    """Training is over: its mean loss, and the model it left."""

    loss: float
    model: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """Buffer and workspace are clear: the copy engine finds ``left`` bytes in them."""

    left: int


Reply = Rotated | Fenced | MemoryRead | Trained | Scrubbed

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
        case Start(program):
            parts = (program,)
        case Upload(code, model):
            parts = (code, model)
        case ReadBack(counter) | Scrubbed(counter):
            parts = (number(counter),)
        case Rotated(epoch, live):
            parts = (number(epoch), number(live))
        case MemoryRead(code, model, received):
            parts = (code, model, number(received))
        case Trained(loss, model):
            parts = (_LOSS.pack(loss), model)
        case _:
            parts = ()
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
            split(body, what)
            return Fence()
        case b"\x04":
            code, model = split(body, what, "code", "model")
            return Upload(code, model)
        case b"\x05":
            (epoch,) = split(body, what, "epoch")
            return ReadBack(to_number(epoch, what, "epoch"))
        case b"\x06":
            split(body, what)
            return Train()
        case b"\x07":
            split(body, what)
            return Scrub()
    raise MalformedError(what, "a known command", data[:1].hex() or "nothing", 0)


def parse_reply(data: bytes) -> Reply:
    """Return the reply that ``data`` encodes.

    Raises:
        MalformedError: it encodes none.
    """
    what, body = "reply", data[1:]
    match data[:1]:
        case b"\x11":
            epoch, live = split(body, what, "epoch", "live")
            return Rotated(to_number(epoch, what, "epoch"), to_number(live, what, "live"))
        case b"\x12":
            split(body, what)
            return Fenced()
        case b"\x13":
            code, model, received = split(body, what, "code", "model", "received")
            return MemoryRead(code, model, to_number(received, what, "received"))
        case b"\x14":
            loss, model = split(body, what, "loss", "model")
            if len(loss) != _LOSS.size:
                raise MalformedError(what, f"{_LOSS.size} bytes of loss", str(len(loss)))
            return Trained(float(_LOSS.unpack(loss)[0]), model)
        case b"\x15":
            (left,) = split(body, what, "left")
            return Scrubbed(to_number(left, what, "left"))
    raise MalformedError(what, "a known reply", data[:1].hex() or "nothing", 0)


_TAGS: dict[type[Command | Reply], int] = {
    Write: 0x01,
    Start: 0x02,
    Fence: 0x03,
    Upload: 0x04,
    ReadBack: 0x05,
    Train: 0x06,
    Scrub: 0x07,
    Rotated: 0x11,
    Fenced: 0x12,
    MemoryRead: 0x13,
    Trained: 0x14,
    Scrubbed: 0x15,
}
