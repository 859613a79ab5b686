"""The device: GPU memory in regions, programs that run on it, copy engines with implicit IVs, and its modes.

Source: deck, Outlook (confining a data provider to its buffer is future firmware); DEMY (arXiv 2507.02770): unprotected
host memory is within a kernel's reach. Of copy engines, open-gpu-kernel-modules 595.45.04: uvm_hopper_ce.c (the IV is
not sent on the way to the device), conf_compute_key_rotation.c (channels are idled, then the key changes),
conf_compute_keystore_gh100.c (a key pair for each engine).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.keys import Direction, KeyLedger, KeySchedule, LinkKeys, Opener, Sealer, UsageLimits, UsageSummary
from carnet_ref.wire import MalformedError


class Mode(Enum):
    """How the device was booted: as it should be, out of confidential mode, with debugging on, or with old firmware."""

    CONFIDENTIAL = "CONFIDENTIAL"
    OPEN = "OPEN"
    DEBUG = "DEBUG"
    OUTDATED = "OUTDATED"


def requested_mode(body: bytes, before: Mode) -> Mode:
    """Return the mode that a request to reset asks for; a device boots as it did ``before`` unless one is named."""
    return next((mode for mode in Mode if body == mode.value.encode("ascii")), before)


class Region(Enum):
    """What memory is for. ``STASH`` is all that no scrub, upload or read-back names."""

    CODE = "code"
    MODEL = "model"
    BUFFER = "buffer"
    WORKSPACE = "workspace"
    STASH = "stash"


CAPACITY = 1 << 28
"""Bytes in each region."""

BASE = {region: index * CAPACITY for index, region in enumerate(Region)}
"""The address at which each region begins."""


class Memory:
    """The bytes in every region; a region is as long as what was written to it."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = {region: bytearray() for region in Region}

    def write(self, address: int, data: bytes) -> Region:
        """Write ``data`` at ``address`` and return the region it lies in.

        Raises MalformedError if the bytes do not fit into one region.
        """
        region, offset = self._locate(address, len(data))
        held = self._bytes[region]
        if len(held) < offset:
            held.extend(bytes(offset - len(held)))
        held[offset : offset + len(data)] = data
        return region

    def read(self, address: int, length: int) -> bytes:
        """Return the bytes from ``address`` on, as many as were written of the ``length`` asked for.

        Raises MalformedError if the bytes do not lie in one region.
        """
        region, offset = self._locate(address, length)
        return bytes(self._bytes[region][offset : offset + length])

    def content(self, region: Region) -> bytes:
        """Return all that was written to ``region``."""
        return bytes(self._bytes[region])

    def replace(self, region: Region, data: bytes) -> None:
        """Make ``data`` all that ``region`` holds."""
        if len(data) > CAPACITY:
            raise MalformedError("GPU memory", f"at most {CAPACITY} bytes of {region.value}", f"{len(data)}")
        self._bytes[region] = bytearray(data)

    def append(self, region: Region, data: bytes) -> None:
        """Write ``data`` behind what ``region`` holds."""
        self.write(BASE[region] + len(self._bytes[region]), data)

    def clear(self, region: Region) -> None:
        """Overwrite ``region`` with nothing."""
        self._bytes[region] = bytearray()

    def _locate(self, address: int, length: int) -> tuple[Region, int]:
        index, offset = divmod(address, CAPACITY)
        if index >= len(BASE) or offset + length > CAPACITY:
            raise MalformedError("GPU address", f"{length} bytes inside one region", hex(address))
        return list(Region)[index], offset


class Verb(Enum):
    """What an instruction does."""

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
    """One instruction; ``region`` is what it reads, ``text`` what it writes, starts or sends (all but code as hex)."""

    verb: Verb
    region: Region = Region.BUFFER
    text: str = ""


Program = tuple[Instruction, ...]

TRAINING_CODE = b"train\n".ljust(4096, b"\n")
"""The code that trains: a page of it, as text that everybody knows."""


def parse_program(code: bytes) -> Program:
    """Return the program that ``code`` spells, one instruction a line. Raises MalformedError if it spells none."""
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
    """Carry out what touches memory; ``train``, and what a kernel is told to do with the engines, the device does."""
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
    """What came through the link: the plaintext, and the keys and counter value it came under."""

    plaintext: bytes
    keys: LinkKeys
    slot: int


@dataclass(frozen=True, slots=True)
class SealedMessage:
    """What goes back through the link, and the keys and counter value it goes under."""

    ciphertext: bytes
    keys: LinkKeys
    slot: int


class CopyEngines:
    """The keys that a session's device takes traffic under, how far each epoch's counters are, and each key's use.

    What comes in and what goes out is counted for each key, across its epochs; past a limit nothing is done with it.
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
        """How much each key protected, by what came in or went out."""
        return self._ledger

    @property
    def live(self) -> int:
        """How many engines take traffic."""
        return len(self._receiving)

    @property
    def live_epochs(self) -> frozenset[int]:
        """The epochs that traffic is taken in."""
        return frozenset(receiving.keys.epoch for receiving in self._receiving.values())

    def accept(self, order: bytes) -> LinkKeys:
        """Take the key that an order of this session carries, and return it; one that stays keeps its counters.

        Raises MalformedError if it is no order; OrderRefusedError if the schedule refuses it.
        """
        before, keys = self._schedule.keys, self._schedule.follow(order)
        if keys is not before:
            self.install(keys)
        return keys

    def install(self, keys: LinkKeys) -> None:
        """Retire what was in use, and take traffic under ``keys``, counted from the start."""
        self.receive_under(keys)
        self.send_under(keys)

    def receive_under(self, keys: LinkKeys) -> None:
        """Retire every engine, and take traffic to the device under ``keys`` alone."""
        self.retire()
        self._load(keys)

    def retire(self) -> None:
        """Take no more traffic under any key."""
        self._receiving.clear()

    def send_under(self, keys: LinkKeys) -> None:
        """Protect what goes back under ``keys``, counted from the start."""
        self._sending = keys
        self._sealer = self._sealer_of(keys)

    def open(self, engine: int, ciphertext: bytes, claimed: int) -> OpenedMessage:
        """Decrypt under the engine's live key, at the device's own next IV.

        ``claimed`` is the counter value that the sender says it used; nothing is made of it.

        Raises:
            AuthenticationError: this is not the next message under a live key.
            KeysError: the engine has no IV left or failed before, or its key has protected as much as it may.
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
    def taken(self) -> LinkKeys:
        """The keys that were taken last."""
        return self._schedule.keys

    @property
    def sending(self) -> LinkKeys:
        """The keys that what goes back is protected under."""
        return self._sending

    @property
    def standing(self) -> UsageSummary:
        """How much the key of what goes back protected."""
        return self._sealer.usage.standing

    def received(self, epoch: int) -> int:
        """Return how many messages of ``epoch`` were received."""
        return self._received.get(epoch, 0)

    def restart_counters(self) -> None:
        """Refuse to do half a rotation: to start the counters again and keep the keys.

        Raises:
            PermissionError: always; counters restart together with a key change only.
        """
        raise PermissionError("counters restart together with a key change only")

    def reload(self, keys: LinkKeys) -> None:
        """Refuse to load an engine again with keys that were in use before.

        Raises:
            PermissionError: always; an engine is loaded once in a session.
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
