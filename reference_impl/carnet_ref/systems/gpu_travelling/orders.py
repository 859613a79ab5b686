"""Orders to the firmware and its reports, inside the session, and copies over the link.

An order names the epoch that it is about and has a number in it, and the report on it has the same. Both stand in the
clear, and the IV is made of them: so no two messages of a session share one, and what is repeated or put in another
order is opened and seen for what it is. A party with the host-to-device half of the link can send every one of the
copies; nothing in one says who made it. Nothing is decided by what comes over the link.

Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h (keys of the calls between driver and firmware, which hang on
the session's secret); DEMY (arXiv 2507.02770): the queue of such calls is not protected.
"""

from dataclasses import dataclass, field
from typing import Final

from carnet_ref.crypto.primitives import TAG_BYTES, AesGcm
from carnet_ref.keys import KeyUsage, UsageLimits
from carnet_ref.systems.gpu_travelling.codec import Codec, Digest
from carnet_ref.wire import Reader


@dataclass(frozen=True, slots=True)
class Write:
    """A copy of ``data`` to ``address``; ``chunk`` counts the chunks of a dataset from 1, and is 0 for other data."""

    address: int
    chunk: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Start:
    """The command to start a kernel that keeps running: a resident context."""

    program: bytes


@dataclass(frozen=True, slots=True)
class Upload:
    """The command to replace the code and, if one is given, the model."""

    code: bytes
    model: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Submit:
    """An order that did not come inside the session."""

    order: bytes


Command = Write | Start | Upload | Submit


@dataclass(frozen=True, slots=True)
class Logged:
    """A reply during training: the mean loss."""

    loss: float


@dataclass(frozen=True, slots=True)
class Model:
    """A reply with the model."""

    model: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """A reply with other data that code on the GPU sends home."""

    data: bytes = field(repr=False)


Reply = Logged | Model | Sent

_COMMANDS: Final = {0x01: Write, 0x02: Start, 0x03: Upload, 0x04: Submit}
_REPLIES: Final = {0x11: Logged, 0x12: Model, 0x13: Sent}
encode_copy: Final = Codec[Command | Reply]("copy", {**_COMMANDS, **_REPLIES}).encode
parse_command: Final = Codec[Command]("command", _COMMANDS).parse
parse_reply: Final = Codec[Reply]("reply", _REPLIES).parse


def size_of(message: Command | Reply) -> int:
    """Return the size of a command or a reply in bytes."""
    return len(encode_copy(message))


#: The label of the key for orders. Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h.
ORDERS_LABEL: Final = "cpu_gsp_locked_rpc"
#: The label of the key for reports. Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h.
REPORTS_LABEL: Final = "gsp_cpu_locked_rpc"
#: What either key may protect; a session whose keys have no room left is renewed like any other.
LIMITS: Final = UsageLimits.for_advantage()
_EPOCH_BYTES: Final = 8
_NUMBER_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Rotate:
    """The order to take a new key; it carries the key schedule's data."""

    key: bytes


@dataclass(frozen=True, slots=True)
class Fence:
    """The order to stop every resident context."""


@dataclass(frozen=True, slots=True)
class ReadBack:
    """The order to digest code and model in memory, and to report the receive counter of an epoch."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Train:
    """The order to run the code in code memory on the dataset buffer."""


@dataclass(frozen=True, slots=True)
class Save:
    """The order to send the model home."""


@dataclass(frozen=True, slots=True)
class Scrub:
    """The order to clear the dataset buffer and derived data, except the model."""


Order = Rotate | Fence | ReadBack | Train | Save | Scrub


@dataclass(frozen=True, slots=True)
class Rotated:
    """The report that the device took the key of this epoch; ``live`` engines now accept traffic."""

    epoch: int
    live: int


@dataclass(frozen=True, slots=True)
class Fenced:
    """The report that no context runs any more."""


@dataclass(frozen=True, slots=True)
class MemoryRead:
    """The report of a read-back: memory at one instant, and the messages received in the epoch.

    That is digests of code and model as they lie in memory, and how many ``contexts`` run besides the firmware.
    """

    code: Digest
    model: Digest
    received: int
    contexts: int


@dataclass(frozen=True, slots=True)
class Trained:
    """The report that training is over, with the digest of the resulting model."""

    model: Digest


@dataclass(frozen=True, slots=True)
class Saved:
    """The report that the model was sent home, with its digest."""

    model: Digest


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """The report that buffer and workspace are clear; ``left`` counts the bytes that are not."""

    left: int


Report = Rotated | Fenced | MemoryRead | Trained | Saved | Scrubbed


_ORDERS: Final = {0x01: Rotate, 0x02: Fence, 0x03: ReadBack, 0x04: Train, 0x05: Save, 0x06: Scrub}
_REPORTS: Final = {0x11: Rotated, 0x12: Fenced, 0x13: MemoryRead, 0x14: Trained, 0x15: Saved, 0x16: Scrubbed}
encode: Final = Codec[Order | Report]("order", {**_ORDERS, **_REPORTS}).encode
parse_order: Final = Codec[Order]("order", _ORDERS).parse
parse_report: Final = Codec[Report]("report", _REPORTS).parse


@dataclass(frozen=True, slots=True)
class Place:
    """The position of an order and of its report: the epoch, and the order's number in it."""

    epoch: int
    number: int

    def __str__(self) -> str:
        return f"order {self.number} of epoch {self.epoch}"

    def encode(self) -> bytes:
        """Return the 12 bytes that serve as IV for the order and, in the other direction, the report."""
        return self.epoch.to_bytes(_EPOCH_BYTES, "little") + self.number.to_bytes(_NUMBER_BYTES, "little")


class Sealed:
    """One direction of the order channel between orchestrator and firmware: sealed messages with their places.

    Both ends count what the key protects, alike.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AesGcm(key)
        self.usage = KeyUsage(LIMITS)

    def seal(self, place: Place, message: bytes) -> bytes:
        """Return the sealed message, preceded by its place.

        Raises KeyExhaustedError if the key has protected as much as it may.
        """
        self.usage.count(len(message))
        return with_place(place, self._cipher.encrypt(place.encode(), message))

    def open(self, sealed: bytes) -> tuple[Place, bytes]:
        """Return a message and its place.

        Raises AuthenticationError if it was not sealed for this place, or by somebody else; KeyExhaustedError if the
        key has protected as much as it may; MalformedError if it is too short.
        """
        place, rest = split_place(sealed)
        self.usage.count(max(0, len(rest) - TAG_BYTES))
        return place, self._cipher.decrypt(place.encode(), rest)


def with_place(place: Place, rest: bytes) -> bytes:
    """Return ``rest`` preceded by an encoded place."""
    return place.encode() + rest


def split_place(message: bytes) -> tuple[Place, bytes]:
    """Return the place and the rest of a message. Raises MalformedError if it is too short."""
    reader = Reader(message, "message in the session")
    place = Place(reader.number(_EPOCH_BYTES, "epoch"), reader.number(_NUMBER_BYTES, "number"))
    return place, message[reader.position :]
