"""The device without its session: memory, what runs on it, and what the orders that come through the link do."""

from __future__ import annotations

from collections.abc import Callable

from carnet_ref.device.memory import Memory, Region
from carnet_ref.device.mode import Mode
from carnet_ref.device.programs import TRAINING_CODE, Program, Verb, parse, run
from carnet_ref.systems.gpu_travelling.device.commands import (
    Fence,
    Fenced,
    MemoryRead,
    Scrub,
    Scrubbed,
    Start,
    Train,
    Trained,
    Upload,
    Write,
)
from carnet_ref.systems.gpu_travelling.enforcement import enforces
from carnet_ref.training import Trainer
from carnet_ref.wire.reader import MalformedError


class Device:
    """Memory, code and resident contexts of one GPU, from one boot to the next."""

    __slots__ = ("_contexts", "_trainer", "_write_out", "memory", "mode")

    def __init__(self, mode: Mode, trainer: Trainer, write_out: Callable[[bytes], None]) -> None:
        self.memory = Memory()
        self.mode = mode
        self._trainer = trainer
        self._write_out = write_out
        self._contexts: list[Program] = []

    @property
    def contexts(self) -> int:
        """How many resident contexts there are."""
        return len(self._contexts)

    def carry_out(self, command: Write | Start | Fence | Upload | Train | Scrub) -> Fenced | Trained | Scrubbed | None:
        """Do what a command says, let whatever is resident run, and return the acknowledgement, if there is one.

        Raises:
            MalformedError: the command, or the code that it runs, makes no sense; nothing was changed by it.
        """
        reply: Fenced | Trained | Scrubbed | None = None
        match command:
            case Write(address, _, data):
                self.memory.write(address, data)
            case Start(program):
                self._contexts.append(parse(program))
            case Fence():
                self._contexts.clear()
                reply = Fenced()
            case Upload():
                self.upload(command)
            case Train():
                reply = self._train()
            case Scrub():
                self.scrub()
                reply = Scrubbed(len(self.memory.content(Region.BUFFER)) + len(self.memory.content(Region.WORKSPACE)))
        self.run_resident()
        return reply

    def upload(self, command: Upload) -> None:
        """Overwrite the code; write the model only where there is none."""
        self.replace_code(command.code)
        if command.model and not self.memory.content(Region.MODEL):
            self.memory.replace(Region.MODEL, command.model)

    @enforces("REQ-HOME-03", "code-reupload")
    def replace_code(self, code: bytes) -> None:
        """Overwrite the code, whatever code is there."""
        self.memory.replace(Region.CODE, code)

    def scrub(self) -> None:
        """Clear the buffer and everything that was derived from it; model and code stay."""
        self.clear_buffer()
        self.clear_workspace()

    @enforces("REQ-SCRUB-02", "scrub-buffer")
    def clear_buffer(self) -> None:
        """Clear the dataset buffer."""
        self.memory.clear(Region.BUFFER)

    @enforces("REQ-SCRUB-02", "scrub-workspace")
    def clear_workspace(self) -> None:
        """Clear what training derived from the dataset."""
        self.memory.clear(Region.WORKSPACE)

    def read_back(self, received: int) -> MemoryRead:
        """Return memory as it is now, read by the copy engine and not by code on the device."""
        return MemoryRead(self.memory.content(Region.CODE), self.memory.content(Region.MODEL), received)

    def run_resident(self) -> None:
        """Let contexts run, and code memory if it holds anything but the orchestrator's code."""
        for program in self._contexts:
            run(program, self.memory, self._write_out)
        code = self.memory.content(Region.CODE)
        if code not in {b"", TRAINING_CODE}:
            run(self._planted(code), self.memory, self._write_out)

    def _planted(self, code: bytes) -> Program:
        try:
            return parse(code)
        except MalformedError:
            return ()

    @enforces("REQ-TRAIN-02")
    def _train(self) -> Trained:
        """Train; what is derived from the data, the model excepted, goes where every scrub reaches it."""
        if all(instruction.verb is not Verb.TRAIN for instruction in parse(self.memory.content(Region.CODE))):
            raise MalformedError("code memory", "code that trains", "none that does")
        outcome = self._trainer.train(self.memory.content(Region.MODEL), self.memory.content(Region.BUFFER))
        self.memory.replace(Region.MODEL, outcome.model)
        self.memory.replace(Region.WORKSPACE, outcome.residue)
        return Trained(outcome.loss, outcome.model)
