"""Orders to the firmware, and its reports: what travels inside the session, out of reach of whatever runs on the GPU.

An order names the epoch that it is about and has a number in it, and the report on it has the same. Both stand in the
clear, and the IV is made of them: so no two messages of a session share one, and what is repeated or put in another
order is opened and seen for what it is.

Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h (keys of the calls between driver and firmware, which hang on
the session's secret); DEMY (arXiv 2507.02770): the queue of such calls is not protected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from carnet_ref.crypto.primitives import SHA384_BYTES, TAG_BYTES, AesGcm
from carnet_ref.keys import KeyUsage, UsageLimits
from carnet_ref.wire import MalformedError, Reader, join, number, split, to_number

ORDERS_LABEL: Final = "cpu_gsp_locked_rpc"
"""The label of the key for orders. Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h."""
REPORTS_LABEL: Final = "gsp_cpu_locked_rpc"
"""The label of the key for reports. Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h."""
LIMITS: Final = UsageLimits.for_advantage()
"""What either key may protect; a session whose keys have no room left is renewed like any other."""
_EPOCH_BYTES: Final = 8
_NUMBER_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Rotate:
    """Take a key: what the schedule says of it."""

    key: bytes


@dataclass(frozen=True, slots=True)
class Fence:
    """Stop every resident context."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Digest code and model as they lie in memory, and tell the receive counter of an epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Train:
    """Run the code in code memory on the dataset buffer."""


@dataclass(frozen=True, slots=True)
class Save:
    """Send the model home."""


@dataclass(frozen=True, slots=True)
class Scrub:
    """Clear the dataset buffer and all that was derived from it, the model excepted."""


Order = Rotate | Fence | ReadBack | Train | Save | Scrub


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
    """What the firmware finds at one instant, and how many messages of the epoch asked for were received.

    That is digests of code and model as they lie in memory, and how many ``contexts`` run besides the firmware.
    """

    code: bytes
    model: bytes
    received: int
    contexts: int


@dataclass(frozen=True, slots=True)
class Trained:
    """Training is over, and this is the digest of the model that it ended with."""

    model: bytes


@dataclass(frozen=True, slots=True)
class Saved:
    """The model went home, and this is its digest."""

    model: bytes


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """Buffer and workspace are clear: the firmware finds ``left`` bytes in them."""

    left: int


Report = Rotated | Fenced | MemoryRead | Trained | Saved | Scrubbed


def encode(message: Order | Report) -> bytes:
    """Return the bytes of an order or a report."""
    parts: tuple[bytes, ...] = ()
    match message:
        case Rotate(content) | Trained(content) | Saved(content):
            parts = (content,)
        case ReadBack(counter) | Scrubbed(counter):
            parts = (number(counter),)
        case Rotated(epoch, live):
            parts = (number(epoch), number(live))
        case MemoryRead(code, model, received, contexts):
            parts = (code, model, number(received), number(contexts))
    return bytes([_TAGS[type(message)]]) + join(*parts)


def parse_order(data: bytes) -> Order:
    """Return the order that ``data`` encodes.

    Raises:
        MalformedError: it encodes none.
    """
    what, body = "order", data[1:]
    match data[:1]:
        case b"\x01":
            (key,) = split(body, what, "key")
            return Rotate(key)
        case b"\x03":
            (epoch,) = split(body, what, "epoch")
            return ReadBack(to_number(epoch, what, "epoch"))
        case b"\x02" | b"\x04" | b"\x05" | b"\x06" as tag:
            split(body, what)
            return _PLAIN[tag]
    raise MalformedError(what, "a known order", data[:1].hex() or "nothing", 0)


def parse_report(data: bytes) -> Report:
    """Return the report that ``data`` encodes.

    Raises:
        MalformedError: it encodes none.
    """
    what, body = "report", data[1:]
    match data[:1]:
        case b"\x11":
            epoch, live = split(body, what, "epoch", "live")
            return Rotated(to_number(epoch, what, "epoch"), to_number(live, what, "live"))
        case b"\x12":
            split(body, what)
            return Fenced()
        case b"\x13":
            code, model, received, contexts = split(body, what, "code", "model", "received", "contexts")
            counted = to_number(received, what, "received"), to_number(contexts, what, "contexts")
            return MemoryRead(_digest(code), _digest(model), *counted)
        case b"\x14" | b"\x15" as tag:
            (model,) = split(body, what, "model")
            return Trained(_digest(model)) if tag == b"\x14" else Saved(_digest(model))
        case b"\x16":
            (left,) = split(body, what, "left")
            return Scrubbed(to_number(left, what, "left"))
    raise MalformedError(what, "a known report", data[:1].hex() or "nothing", 0)


def _digest(data: bytes) -> bytes:
    if len(data) != SHA384_BYTES:
        raise MalformedError("report", f"a digest of {SHA384_BYTES} bytes", str(len(data)))
    return data


_PLAIN: Final[dict[bytes, Order]] = {b"\x02": Fence(), b"\x04": Train(), b"\x05": Save(), b"\x06": Scrub()}
_TAGS: Final[dict[type[Order | Report], int]] = {
    Rotate: 0x01,
    Fence: 0x02,
    ReadBack: 0x03,
    Train: 0x04,
    Save: 0x05,
    Scrub: 0x06,
    Rotated: 0x11,
    Fenced: 0x12,
    MemoryRead: 0x13,
    Trained: 0x14,
    Saved: 0x15,
    Scrubbed: 0x16,
}


@dataclass(frozen=True, slots=True)
class Place:
    """What an order, and the report on it, is about: the epoch, and the order's number in it."""

    epoch: int
    number: int

    def __str__(self) -> str:
        return f"order {self.number} of epoch {self.epoch}"

    def encode(self) -> bytes:
        """Return its bytes, which are the IV of what is said there, once in each direction."""
        return self.epoch.to_bytes(_EPOCH_BYTES, "little") + self.number.to_bytes(_NUMBER_BYTES, "little")


class Sealed:
    """One direction of a session between orchestrator and firmware: messages with their places, each sealed for it.

    Both ends count what the key protects, alike.
    """

    __slots__ = ("_cipher", "usage")

    def __init__(self, key: bytes) -> None:
        self._cipher = AesGcm(key)
        self.usage = KeyUsage(LIMITS)

    def seal(self, place: Place, message: bytes) -> bytes:
        """Return a message sealed, with its place before it.

        Raises:
            KeyExhaustedError: the key has protected as much as it may.
        """
        self.usage.count(len(message))
        return with_place(place, self._cipher.encrypt(place.encode(), message))

    def open(self, sealed: bytes) -> tuple[Place, bytes]:
        """Return a message and its place.

        Raises:
            AuthenticationError: it was not sealed for this place, or by somebody else.
            KeyExhaustedError: the key has protected as much as it may.
            MalformedError: it is too short.
        """
        place, rest = placed(sealed)
        self.usage.count(max(0, len(rest) - TAG_BYTES))
        return place, self._cipher.decrypt(place.encode(), rest)


def with_place(place: Place, rest: bytes) -> bytes:
    """Return a message with its place before it."""
    return place.encode() + rest


def placed(message: bytes) -> tuple[Place, bytes]:
    """Return what `with_place` put together.

    Raises:
        MalformedError: it is too short.
    """
    reader = Reader(message, "message in the session")
    place = Place(reader.number(_EPOCH_BYTES, "epoch"), reader.number(_NUMBER_BYTES, "number"))
    return place, message[reader.position :]
