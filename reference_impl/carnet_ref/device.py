"""The device: GPU memory in regions, programs that run on it, copy engines with implicit IVs, and its modes.

Source: deck, Outlook (confining a data provider to its buffer is future firmware); DEMY (arXiv 2507.02770): unprotected
host memory is within a kernel's reach. Of copy engines, open-gpu-kernel-modules 595.45.04: uvm_hopper_ce.c (the IV is
not sent on the way to the device), conf_compute_key_rotation.c (channels are idled, then the key changes),
conf_compute_keystore_gh100.c (a key pair for each engine).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.keys import Direction, KeyLedger, KeySchedule, LinkKeys, Opener, Sealer, UsageLimits, UsageSummary
from carnet_ref.wire import MalformedError


class Mode(Enum):
    """How the device was booted: in confidential mode, without it, with debugging enabled, or with old firmware."""

    CONFIDENTIAL = "CONFIDENTIAL"
    OPEN = "OPEN"
    DEBUG = "DEBUG"
    OUTDATED = "OUTDATED"


def requested_mode(body: bytes, before: Mode) -> Mode:
    """Return the mode that a reset request names; if it names none, the mode ``before`` the reset."""
    return next((mode for mode in Mode if body == mode.value.encode("ascii")), before)


class Region(Enum):
    """The regions of memory by their use. ``STASH`` is all memory that no scrub, upload or read-back addresses."""

    CODE = "code"
    MODEL = "model"
    BUFFER = "buffer"
    WORKSPACE = "workspace"
    STASH = "stash"


CAPACITY = 1 << 28  #: Bytes in each region.

BASE = {region: index * CAPACITY for index, region in enumerate(Region)}  #: The address at which each region begins.


class Memory:
    """The bytes of every region; a region is as long as the data written to it."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = {region: bytearray() for region in Region}

    def write(self, address: int, data: bytes) -> Region:
        """Write ``data`` at ``address`` and return the region of the address.

        Raises MalformedError if the bytes do not fit into one region.
        """
        region, offset = self._locate(address, len(data))
        held = self._bytes[region]
        if len(held) < offset:
            held.extend(bytes(offset - len(held)))
        held[offset : offset + len(data)] = data
        return region

    def read(self, address: int, length: int) -> bytes:
        """Return the bytes from ``address`` on: those of the requested ``length`` that were written.

        Raises MalformedError if the bytes do not lie in one region.
        """
        region, offset = self._locate(address, length)
        return bytes(self._bytes[region][offset : offset + length])

    def content(self, region: Region) -> bytes:
        """Return all bytes of ``region``."""
        return bytes(self._bytes[region])

    def replace(self, region: Region, data: bytes) -> None:
        """Replace all bytes of ``region`` by ``data``."""
        if len(data) > CAPACITY:
            raise MalformedError("GPU memory", f"at most {CAPACITY} bytes of {region.value}", f"{len(data)}")
        self._bytes[region] = bytearray(data)

    def append(self, region: Region, data: bytes) -> None:
        """Append ``data`` to ``region``."""
        self.write(BASE[region] + len(self._bytes[region]), data)

    def clear(self, region: Region) -> None:
        """Remove all bytes of ``region``."""
        self._bytes[region] = bytearray()

    def _locate(self, address: int, length: int) -> tuple[Region, int]:
        index, offset = divmod(address, CAPACITY)
        if index >= len(BASE) or offset + length > CAPACITY:
            raise MalformedError("GPU address", f"{length} bytes inside one region", hex(address))
        return list(Region)[index], offset


class Verb(Enum):
    """The operation of an instruction."""

    TRAIN = "train"
    COPY = "copy"
    WRITE_OUT = "write-out"
    PLANT = "plant"
    MODEL = "model"
    LISTEN = "listen"
    START = "start"
    ORDER = "order"
    SEND = "send"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; it reads ``region``, and writes, starts or sends ``text`` (in hex, unless it is code)."""

    verb: Verb
    region: Region = Region.BUFFER
    text: str = ""


Program = tuple[Instruction, ...]

TRAINING_CODE = b"train\n".ljust(4096, b"\n")  #: The training code: one page of public text.


def parse_program(code: bytes) -> Program:
    """Parse a program with one instruction on each line. Raises MalformedError if ``code`` is no program."""
    try:
        lines = code.decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise MalformedError("program", "ASCII text", hex(code[error.start]), error.start) from error
    return tuple(_instruction(line) for line in lines if line)


def _instruction(line: str) -> Instruction:
    word, _, rest = line.partition(" ")
    try:
        verb = Verb(word)
        if verb in {Verb.TRAIN, Verb.LISTEN} and not rest:
            return Instruction(verb)
        if verb is Verb.PLANT:
            return Instruction(verb, text=rest)
        if verb in {Verb.MODEL, Verb.START, Verb.ORDER, Verb.SEND}:
            return Instruction(verb, text=bytes.fromhex(rest).hex())
        return Instruction(verb, Region(rest))
    except ValueError as error:
        raise MalformedError("program", "an instruction", repr(line[:40])) from error


def run_program(program: Program, memory: Memory, write_out: Callable[[bytes], None]) -> None:
    """Execute the instructions on memory; the device executes ``train`` and the instructions for copy engines."""
    for instruction in program:
        match instruction.verb:
            case Verb.COPY:
                memory.append(Region.STASH, memory.content(instruction.region))
            case Verb.WRITE_OUT if memory.content(instruction.region):
                write_out(memory.content(instruction.region))
            case Verb.PLANT:
                memory.write(BASE[Region.CODE], (instruction.text + "\n").encode("ascii"))
            case Verb.MODEL:
                memory.replace(Region.MODEL, bytes.fromhex(instruction.text))


@dataclass(slots=True)
class _Receiving:
    keys: LinkKeys
    opener: Opener


@dataclass(frozen=True, slots=True)
class OpenedMessage:
    """A message received through the link: the plaintext, and the keys and counter value of its encryption."""

    plaintext: bytes
    keys: LinkKeys
    slot: int


@dataclass(frozen=True, slots=True)
class SealedMessage:
    """A message to send through the link, and the keys and counter value of its encryption."""

    ciphertext: bytes
    keys: LinkKeys
    slot: int


class CopyEngines:
    """The copy engines of a device in one session: their keys, the counters of each epoch, and the use of each key.

    The use of a key counts both directions, across its epochs; past its limit the key is refused.
    """

    __slots__ = ("_ledger", "_received", "_receiving", "_schedule", "_sealer", "_sending")

    def __init__(self, schedule: KeySchedule, limits: UsageLimits) -> None:
        self._schedule = schedule
        self._ledger = KeyLedger(limits)
        self._receiving: dict[int, _Receiving] = {}
        self._received: dict[int, int] = {}
        self.receive_under(schedule.keys)
        self.send_under(schedule.keys)

    @property
    def ledger(self) -> KeyLedger:
        """How much each key protected, in both directions."""
        return self._ledger

    @property
    def live(self) -> int:
        """The number of engines that accept traffic."""
        return len(self._receiving)

    @property
    def live_epochs(self) -> frozenset[int]:
        """The epochs in which traffic is accepted."""
        return frozenset(receiving.keys.epoch for receiving in self._receiving.values())

    def accept(self, order: bytes) -> LinkKeys:
        """Install the key of a rotation order and return it; a key that stays in use keeps its counters.

        Raises MalformedError if it is no order; OrderRefusedError if the schedule refuses it.
        """
        before, keys = self._schedule.keys, self._schedule.follow(order)
        if keys is not before:
            self.install(keys)
        return keys

    def install(self, keys: LinkKeys) -> None:
        """Retire all other keys, and accept traffic under ``keys``, with counters from the start."""
        self.receive_under(keys)
        self.send_under(keys)

    def receive_under(self, keys: LinkKeys) -> None:
        """Retire every engine, and accept traffic to the device under ``keys`` alone."""
        self.retire()
        self._load(keys)

    def retire(self) -> None:
        """Accept no more traffic under any key."""
        self._receiving.clear()

    def send_under(self, keys: LinkKeys) -> None:
        """Encrypt messages to the host under ``keys``, with counters from the start."""
        self._sending = keys
        self._sealer = self._sealer_of(keys)

    def open(self, engine: int, ciphertext: bytes, claimed: int) -> OpenedMessage:
        """Decrypt under the engine's live key, at the device's own next IV.

        ``claimed`` is the counter value that the sender says it used; it is ignored.

        Raises AuthenticationError if this is not the next message under a live key; KeysError if the engine has no IV
        left or failed before, or its key has protected as much as it may.
        """
        del claimed
        receiving = self._live(engine)
        slot = receiving.opener.ivs.message
        plaintext = receiving.opener.open(ciphertext)
        self._received[receiving.keys.epoch] = slot + 1
        return OpenedMessage(plaintext, receiving.keys, slot)

    def seal(self, plaintext: bytes) -> SealedMessage:
        """Encrypt for the host, at the next IV of that direction.

        Raises KeysError if the key has protected as much as it may, or has no IV left.
        """
        slot = self._sealer.ivs.message
        return SealedMessage(self._sealer.seal(plaintext), self._sending, slot)

    @property
    def latest_keys(self) -> LinkKeys:
        """The keys that were installed last."""
        return self._schedule.keys

    @property
    def sending(self) -> LinkKeys:
        """The keys for messages to the host."""
        return self._sending

    @property
    def summary(self) -> UsageSummary:
        """The use of the key for messages to the host."""
        return self._sealer.usage.summary

    def received_count(self, epoch: int) -> int:
        """Return how many messages of ``epoch`` were received."""
        return self._received.get(epoch, 0)

    def restart_counters(self) -> None:
        """Refuse to restart the counters without changing the keys.

        Raises PermissionError always; counters restart only when the key changes.
        """
        raise PermissionError("counters restart together with a key change only")

    def reload(self, keys: LinkKeys) -> None:
        """Refuse to load an engine with keys that were in use before.

        Raises PermissionError always; an engine is loaded once in a session.
        """
        raise PermissionError(f"a copy engine is loaded once in a session, not again for epoch {keys.epoch}")

    def _live(self, engine: int) -> _Receiving:
        receiving = self._receiving.get(engine)
        if receiving is None:
            raise AuthenticationError(f"message for copy engine {engine}, which has no live key")
        return receiving

    def _load(self, keys: LinkKeys) -> None:
        self._receiving[keys.engine] = _Receiving(keys, self._opener(keys))
        self._received[keys.epoch] = 0

    def _opener(self, keys: LinkKeys, after: int = 0) -> Opener:
        return Opener(keys.h2d, keys.ivs(Direction.H2D, after), self._ledger.usage(keys, Direction.H2D))

    def _sealer_of(self, keys: LinkKeys) -> Sealer:
        return Sealer(keys.d2h, keys.ivs(Direction.D2H), self._ledger.usage(keys, Direction.D2H))
