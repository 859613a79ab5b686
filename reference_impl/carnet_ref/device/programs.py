"""Programs of the device: a few instructions that code memory, or a resident context, holds as text.

The training code is one instruction, ``train``. What an attacker plants is code too, so it is made of the
same few instructions: it copies regions to where no scrub looks, or writes them to plain host memory, which code on a
real GPU can do without any key. A kernel that keeps running may also wait for words in plain host memory, and start
another kernel, have the GPU carry out an order, or send bytes home as they say: it has no key, and needs none to use
what has one.

Source: DEMY (arXiv 2507.02770): unprotected host memory is within a kernel's reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from carnet_ref.device.memory import BASE, Memory, Region
from carnet_ref.wire.reader import MalformedError


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


def parse(code: bytes) -> Program:
    """Return the program that ``code`` spells, one instruction a line.

    Raises:
        MalformedError: it spells none.
    """
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


def run(program: Program, memory: Memory, write_out: Callable[[bytes], None]) -> None:
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
