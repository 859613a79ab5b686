"""The device without its session, and its firmware: memory, programs, and the execution of orders."""

from collections.abc import Callable

from carnet_ref import device
from carnet_ref.crypto.primitives import sha384
from carnet_ref.keys import H100KeySchedule
from carnet_ref.marks import enforces
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.names import DATA, MODEL
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR as OWNER
from carnet_ref.training import Trainer, TrainingResult
from carnet_ref.training.private import attested_code
from carnet_ref.transport.frames import FrameKind, ProtocolError
from carnet_ref.wire import MalformedError


class Device:
    """The memory, code and resident contexts of one GPU, from boot to boot."""

    def __init__(self, mode: device.Mode, trainer: Trainer, write_out: Callable[[bytes], None]) -> None:
        self.memory = device.Memory()
        self.mode = mode
        self._trainer = trainer
        self._write_out = write_out
        self._contexts: list[device.Program] = []

    @property
    def contexts(self) -> int:
        """The number of resident contexts."""
        return len(self._contexts)

    def store(self, command: orders.Write | orders.Start | orders.Upload) -> None:
        """Execute a copy command, then let resident contexts run.

        Raises MalformedError if it makes no sense; nothing was changed by it.
        """
        match command:
            case orders.Write(address, _, data):
                self.memory.write(address, data)
            case orders.Start(program):
                self._contexts.append(device.parse_program(program))
            case orders.Upload():
                self.upload(command)
        self.run_resident()

    def clear(self, order: orders.Fence | orders.Scrub) -> orders.Fenced | orders.Scrubbed:
        """Execute a fence or scrub, then let resident contexts run; return the report."""
        report: orders.Fenced | orders.Scrubbed
        match order:
            case orders.Fence():
                self._contexts.clear()
                report = orders.Fenced()
            case orders.Scrub():
                self.scrub()
                left = (device.Region.BUFFER, device.Region.WORKSPACE)
                report = orders.Scrubbed(sum(len(self.memory.content(region)) for region in left))
        self.run_resident()
        return report

    def upload(self, command: orders.Upload) -> None:
        """Overwrite the code, and the model if one came."""
        self.replace_code(command.code)
        if command.model:
            self.memory.replace(device.Region.MODEL, command.model)

    @enforces("REQ-HOME-03", "code-reupload")
    def replace_code(self, code: bytes) -> None:
        """Overwrite the code, whatever code is there."""
        self.memory.replace(device.Region.CODE, code)

    def scrub(self) -> None:
        """Clear the buffer and everything that was derived from it; model and code stay."""
        self.clear_buffer()
        self.clear_workspace()

    @enforces("REQ-SCRUB-02", "scrub-buffer")
    def clear_buffer(self) -> None:
        """Clear the dataset buffer."""
        self.memory.clear(device.Region.BUFFER)

    @enforces("REQ-SCRUB-02", "scrub-workspace")
    def clear_workspace(self) -> None:
        """Clear what training derived from the dataset."""
        self.memory.clear(device.Region.WORKSPACE)

    @property
    def listens(self) -> bool:
        """Whether foreign code on the device reads commands from plain host memory."""
        programs = (*self._contexts, self._planted(self.memory.content(device.Region.CODE)))
        return any(each.verb is device.Verb.LISTEN for program in programs for each in program)

    def execute_command(self, words: bytes) -> device.Program:
        """Execute a command from plain host memory, if code on the device listens, and return it.

        Raises MalformedError if what stands there makes no sense.
        """
        program = device.parse_program(words) if self.listens else ()
        device.run_program(program, self.memory, self._write_out)
        self._contexts += [
            device.parse_program(bytes.fromhex(each.text)) for each in program if each.verb is device.Verb.START
        ]
        return program

    @property
    def model(self) -> bytes:
        """The model in memory."""
        return self.memory.content(device.Region.MODEL)

    @property
    def digests(self) -> tuple[bytes, tuple[tuple[str, bytes], ...]]:
        """The digest of the code that would train, and the digests of its inputs: model and data."""
        code = attested_code(self.memory.content(device.Region.CODE), self._trainer)
        data = sha384(self.memory.content(device.Region.BUFFER))
        return sha384(code), ((MODEL, sha384(self.model)), (DATA, data))

    @property
    def remains(self) -> bytes:
        """The digest of the buffer and of derived data after a scrub."""
        return sha384(b"".join(map(self.memory.content, (device.Region.BUFFER, device.Region.WORKSPACE))))

    @enforces("REQ-SESSION-04")
    def read_back(self, received: int) -> orders.MemoryRead:
        """Return digests of memory as it is now, and what runs; no weights leave the GPU."""
        return orders.MemoryRead(
            sha384(self.memory.content(device.Region.CODE)), sha384(self.model), received, self.contexts
        )

    def run_resident(self) -> None:
        """Let resident contexts run, and code memory if it holds foreign code."""
        for program in self._contexts:
            device.run_program(program, self.memory, self._write_out)
        code = self.memory.content(device.Region.CODE)
        if code not in {b"", device.TRAINING_CODE}:
            device.run_program(self._planted(code), self.memory, self._write_out)

    def _planted(self, code: bytes) -> device.Program:
        try:
            return device.parse_program(code)
        except MalformedError:
            return ()

    @enforces("REQ-TRAIN-02")
    def train(self) -> TrainingResult:
        """Train; data derived from the dataset, except the model, goes to memory that a scrub clears.

        Whatever else is in code memory runs too, and goes on running. Raises MalformedError if there is no code that
        trains.
        """
        program = device.parse_program(self.memory.content(device.Region.CODE))
        if all(instruction.verb is not device.Verb.TRAIN for instruction in program):
            raise MalformedError("code memory", "code that trains", "none that does")
        outcome = self._trainer.train(self.model, self.memory.content(device.Region.BUFFER))
        if planted := tuple(each for each in program if each.verb is not device.Verb.TRAIN):
            self._contexts.append(planted)
        self.memory.replace(device.Region.MODEL, outcome.model)
        self.memory.replace(device.Region.WORKSPACE, outcome.residue)
        self.run_resident()
        return outcome


class Firmware:
    """Executes the orders of a session in sequence, each once, and reports on each; only it has the session's keys.

    ``heard`` counts the orders of each epoch.
    """

    def __init__(self, session: H100KeySchedule, engines: device.CopyEngines, checks: Checks) -> None:
        self._orders = orders.Sealed(session.key(orders.ORDERS_LABEL))
        self._reports = orders.Sealed(session.key(orders.REPORTS_LABEL))
        self.engines = engines
        engines.ledger.own.update(orders=self._orders.usage, reports=self._reports.usage)
        self.checks = checks
        self.heard: dict[int, int] = {}

    def open(self, sealed: bytes) -> tuple[orders.Place, orders.Order]:
        """Return an order and its place.

        Raises AuthenticationError if it was not made inside the session, or for another place; MalformedError if it is
        no order.
        """
        place, message = self.checks.verify(
            "session-orders", "REQ-SESSION-01", lambda: self._orders.open(sealed), saw=sealed, sender=lambda _: OWNER
        )
        return place, orders.parse_order(message)

    def take(self, place: orders.Place, order: orders.Order) -> None:
        """Check that an order is the next one of a live epoch, and count it; a rotation begins an epoch.

        Raises ProtocolError if it is another one, or of another epoch.
        """
        begins = isinstance(order, orders.Rotate)
        if not begins and place.epoch not in self.engines.live_epochs:
            raise ProtocolError(f"{place}, which is not live (REQ-SESSION-02)")
        due = 0 if begins else self.heard.get(place.epoch, 0)
        told = f"{place}, and number {due} has to come next"
        saw = (place.epoch, place.number, due)
        self.checks.require("session-sequence", "REQ-SESSION-02", place.number == due, saw=saw, otherwise=told)
        self.heard[place.epoch] = place.number + 1

    def refuse_outside_session(self, order: bytes) -> tuple[orders.Place, orders.Order]:
        """Refuse an order that came through the link; return it with its place only where this check is removed.

        Raises ProtocolError if it is refused; MalformedError if it is no order.
        """
        told = "an order came through the link"
        self.checks.require("session-orders", "REQ-SESSION-01", False, saw=order, otherwise=told)
        epoch = max(self.engines.live_epochs)
        return orders.Place(epoch, self.heard.get(epoch, 0)), orders.parse_order(order)

    def seal_for_home(self, data: bytes) -> bytes:
        """Return bytes that code on the GPU sends home, sealed by the live engine; code needs no key.

        Raises KeysError if the key has protected as much as it may, or has no IV left.
        """
        return self.engines.seal(orders.encode_copy(orders.Sent(data))).ciphertext

    @enforces("REQ-SESSION-03", "session-acknowledgements")
    def report(self, place: orders.Place, report: orders.Report) -> tuple[FrameKind, bytes]:
        """Return a report on an order, sealed in the session, and the kind of frame for it."""
        return FrameKind.SESSION, self._reports.seal(place, orders.encode(report))
