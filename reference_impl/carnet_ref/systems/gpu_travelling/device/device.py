"""The device without its session: memory, what runs on it, and what copies and orders do to it."""

from __future__ import annotations

from collections.abc import Callable

from carnet_ref.crypto.primitives import sha384
from carnet_ref.device import TRAINING_CODE, Memory, Mode, Program, Region, Verb, parse_program, run_program
from carnet_ref.marks import enforces
from carnet_ref.systems.gpu_travelling.device.commands import Start, Upload, Write
from carnet_ref.systems.gpu_travelling.device.orders import Fence, Fenced, MemoryRead, Scrub, Scrubbed
from carnet_ref.training import Outcome, Trainer
from carnet_ref.wire import MalformedError


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

    def store(self, command: Write | Start | Upload) -> None:
        """Do what came through the link says, and let whatever is resident run.

        Raises:
            MalformedError: it makes no sense; nothing was changed by it.
        """
        match command:
            case Write(address, _, data):
                self.memory.write(address, data)
            case Start(program):
                self._contexts.append(parse_program(program))
            case Upload():
                self.upload(command)
        self.run_resident()

    def clear(self, order: Fence | Scrub) -> Fenced | Scrubbed:
        """Stop what is resident, or clear what is left of data, let whatever is still resident run, and report."""
        report: Fenced | Scrubbed
        match order:
            case Fence():
                self._contexts.clear()
                report = Fenced()
            case Scrub():
                self.scrub()
                left = (Region.BUFFER, Region.WORKSPACE)
                report = Scrubbed(sum(len(self.memory.content(region)) for region in left))
        self.run_resident()
        return report

    def upload(self, command: Upload) -> None:
        """Overwrite the code, and the model if one came."""
        self.replace_code(command.code)
        if command.model:
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

    @property
    def listens(self) -> bool:
        """Whether code that is not the orchestrator's looks into plain host memory for what to do."""
        programs = (*self._contexts, self._planted(self.memory.content(Region.CODE)))
        return any(each.verb is Verb.LISTEN for program in programs for each in program)

    def told(self, words: bytes) -> Program:
        """Do in memory what stands in plain host memory, if code here listens, and return it.

        Raises:
            MalformedError: what stands there makes no sense.
        """
        program = parse_program(words) if self.listens else ()
        run_program(program, self.memory, self._write_out)
        self._contexts += [parse_program(bytes.fromhex(each.text)) for each in program if each.verb is Verb.START]
        return program

    @property
    def model(self) -> bytes:
        """The model, as it lies in memory."""
        return self.memory.content(Region.MODEL)

    @enforces("REQ-SESSION-04")
    def read_back(self, received: int) -> MemoryRead:
        """Return digests of memory as it is now, and what runs: firmware finds out, and no weights leave the GPU."""
        return MemoryRead(sha384(self.memory.content(Region.CODE)), sha384(self.model), received, self.contexts)

    def run_resident(self) -> None:
        """Let contexts run, and code memory if it holds anything but the orchestrator's code."""
        for program in self._contexts:
            run_program(program, self.memory, self._write_out)
        code = self.memory.content(Region.CODE)
        if code not in {b"", TRAINING_CODE}:
            run_program(self._planted(code), self.memory, self._write_out)

    def _planted(self, code: bytes) -> Program:
        try:
            return parse_program(code)
        except MalformedError:
            return ()

    @enforces("REQ-TRAIN-02")
    def train(self) -> Outcome:
        """Train; what is derived from the data, the model excepted, goes where every scrub reaches it.

        Whatever else is in code memory runs too, and goes on running.

        Raises:
            MalformedError: there is no code that trains.
        """
        program = parse_program(self.memory.content(Region.CODE))
        if all(instruction.verb is not Verb.TRAIN for instruction in program):
            raise MalformedError("code memory", "code that trains", "none that does")
        outcome = self._trainer.train(self.model, self.memory.content(Region.BUFFER))
        if planted := tuple(each for each in program if each.verb is not Verb.TRAIN):
            self._contexts.append(planted)
        self.memory.replace(Region.MODEL, outcome.model)
        self.memory.replace(Region.WORKSPACE, outcome.residue)
        self.run_resident()
        return outcome
