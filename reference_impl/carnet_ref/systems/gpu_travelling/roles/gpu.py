"""The GPU's state machine: one session at a time, whose firmware takes orders, and copies over the link.

Anything that does not verify is its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from carnet_ref.crypto.primitives import SHA384_BYTES, CryptoError, sha384, verify_hmac_sha384
from carnet_ref.device import CopyEngines, Mode, OpenedMessage, SealedMessage, Verb, requested_mode
from carnet_ref.keys import H100KeySchedule, KeyLedger, KeySchedule, KeysError, LinkKeys, UsageLimits
from carnet_ref.marks import enforces
from carnet_ref.recorder import step
from carnet_ref.spdm.errors import SpdmError
from carnet_ref.systems.gpu_travelling import names, orders
from carnet_ref.systems.gpu_travelling.device import Device, Firmware
from carnet_ref.systems.gpu_travelling.enforcement import Checks, checking, log_step, unattributed_checks
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.roles.attestation import Responder
from carnet_ref.systems.gpu_travelling.roles.messages import LAUNCH_LABEL, add_tag, split_tag
from carnet_ref.training import Trainer
from carnet_ref.transport import frames
from carnet_ref.wire import MalformedError, split, to_number
from carnet_spec.trace import TraceStep

Failure = (CryptoError, KeysError, MalformedError, frames.ProtocolError, SpdmError)
_HEAD = 9
#: What the firmware runs when it scrubs, as the code that it names when it says so.
SCRUB_CODE = b"clear buffer\nclear workspace\n"


@dataclass(frozen=True, slots=True)
class Hardware:
    """The parts of a GPU: device, copy engines, firmware, and the checks before orders."""

    device: type[Device] = Device
    engines: type[CopyEngines] = CopyEngines
    firmware: type[Firmware] = Firmware
    checks: Checks = field(default_factory=Checks)


class GpuState:
    """Base class of the GPU's states."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu

    def on_session(self, orders: bool, message: bytes) -> Transition:
        """Handle a message of the session."""
        return self, []

    def on_link(self, body: bytes) -> Transition:
        """Ignore a message for a copy engine: none has a key."""
        return self, []

    def on_work(self, body: bytes) -> Transition:
        """Ignore submitted work: there is no context for it."""
        return self, []

    def on_host_memory(self, words: bytes) -> Transition:
        """Ignore data in plain host memory."""
        return self, []


Transition = tuple[GpuState, list[frames.RoleEffect]]


class AwaitsSession(GpuState):
    """State: there is no session, or its handshake is under way."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu)
        self.responder = gpu.new_responder()
        self.noted = False

    def on_session(self, orders: bool, message: bytes) -> Transition:
        """Continue the handshake; after it, derive the first keys from the session."""
        if orders:
            raise frames.ProtocolError("an order without a session")
        effects = [self.gpu.answer(each) for each in self.responder.receive(message)]
        session = self.responder.label
        if session and not self.noted:
            self.noted = True
            effects.insert(0, log_step(step("answer_session", names.GPU, g=self.gpu.name, s=session, k=f"{session}/0")))
        if not self.responder.is_established:
            return self, effects
        return InSession(self.gpu, self.responder), effects


class InSession(GpuState):
    """State: a session with its keys; orders come inside it, and copies over the link."""

    def __init__(self, gpu: Gpu, responder: Responder) -> None:
        super().__init__(gpu)
        self.responder = responder
        keys = H100KeySchedule.of_session(responder.exported_master_secret())
        self.launch_key = keys.key(LAUNCH_LABEL)
        self.submitted = 0
        self.engines = self._engines(key_schedule(gpu.schedule, keys, names.ORCHESTRATOR, gpu.hardware.checks))
        self.firmware = gpu.hardware.firmware(keys, self.engines, gpu.hardware.checks)
        gpu.ledgers.append(self.engines.ledger)

    @enforces("REQ-SETUP-02")
    def on_session(self, orders: bool, message: bytes) -> Transition:
        """Answer a request for evidence, or execute an order."""
        if not orders:
            return self, self._answered(self.responder.receive(message))
        return self, self.obey(*self.firmware.open(message))

    def _answered(self, answers: list[bytes]) -> list[frames.RoleEffect]:
        """Return the answers to a request for evidence, which state the mode that the GPU was booted in."""
        if not answers:
            return []
        given = step("give_report", names.GPU, g=self.gpu.name, s=self.responder.label, mode=self.gpu.device.mode.value)
        return [log_step(given, *answers), *map(self.gpu.answer, answers)]

    @enforces("REQ-DATA-02")
    def on_link(self, body: bytes) -> Transition:
        """Open the next message under the live key, and execute it."""
        if len(body) < _HEAD:
            raise MalformedError("message for a copy engine", f"at least {_HEAD} bytes", str(len(body)))
        counter = to_number(body[1:_HEAD], "message", "counter")
        opened = self.gpu.hardware.checks.verify(
            "gpu-implicit-iv",
            "REQ-IV-02",
            lambda: self.engines.open(body[0], body[_HEAD:], counter),
            saw=body,
            sender=lambda found: found.keys.owner,
        )
        command = orders.parse_command(opened.plaintext)
        if isinstance(command, orders.Submit):
            return self, self.obey(*self.firmware.refuse_outside_session(command.order))
        self.gpu.device.store(command)
        return self, [*self._stored(opened, command), *self.gpu.leak_effects()]

    def obey(self, place: orders.Place, order: orders.Order) -> list[frames.RoleEffect]:
        """Execute an order if it is the next one, and report on it."""
        self.firmware.take(place, order)
        taken, report, home = self._carry_out(place, order)
        target, body = self.firmware.report(place, report)
        sent = self.gpu.answer(body, reports=True) if target is frames.FrameKind.SESSION else _home(body)
        return [log_step(taken, body), *home, *self.gpu.leak_effects(), *_semaphore(report), sent]

    def _carry_out(
        self, place: orders.Place, order: orders.Order
    ) -> tuple[TraceStep, orders.Report, list[frames.RoleEffect]]:
        """Return the step that was taken, what is to be reported, and what goes home on the link before that."""
        device, about = self.gpu.device, {"g": self.gpu.name, "k": self._epoch(place.epoch)}
        match order:
            case orders.Rotate(key):
                return self._rotate(place, key)
            case orders.Fence():
                return step(_CLEARED[type(order)], names.GPU, **about, v=place.number), device.clear(order), []
            case orders.Scrub():
                report = device.clear(order)
                model, remains = (names.MODEL, sha384(device.model)), (names.REMAINS, device.remains)
                done = frames.Transformed("scrub", about["k"], sha384(SCRUB_CODE), (model,), (remains,))
                return step(_CLEARED[type(order)], names.GPU, **about, v=place.number), report, [done]
            case orders.ReadBack(epoch):
                received = self.engines.received_count(epoch)
                taken = step("exec_read_back", names.GPU, **about, v=place.number, c=self._epoch(epoch), n=received)
                return taken, device.read_back(received), []
            case orders.Train():
                code, reads = device.digests
                outcome = device.train()
                digest = sha384(outcome.model)
                done = frames.Transformed("train", about["k"], code, reads, ((names.MODEL, digest),))
                sealed, frame = self._send_home(orders.Logged(outcome.loss))
                way = {"v": place.number, "j": self._name(sealed.keys), "w": sealed.slot}
                made = names.version_name(digest, about["k"])
                return step("exec_train", names.GPU, **about, **way, n=made), orders.Trained(digest), [done, frame]
            case orders.Save():
                sealed, frame = self._send_home(orders.Model(device.model))
                way = {"v": place.number, "j": self._name(sealed.keys), "w": sealed.slot}
                return step("exec_save", names.GPU, **about, **way), orders.Saved(sha384(device.model)), [frame]

    def _rotate(self, place: orders.Place, key: bytes) -> tuple[TraceStep, orders.Report, list[frames.RoleEffect]]:
        """Take a key as ordered. Raises ProtocolError if the order is about another epoch than the key's."""
        keys = self.engines.accept(key)
        if keys.epoch != place.epoch:
            raise frames.ProtocolError(f"{place} has the key of epoch {keys.epoch}")
        action = "gpu_rotate_in" if keys.owner == names.ORCHESTRATOR else "gpu_rotate_out"
        taken = step(action, names.GPU, g=self.gpu.name, s=self.responder.label, k=self._name(keys))
        return taken, orders.Rotated(keys.epoch, self.engines.live), []

    def on_work(self, body: bytes) -> Transition:
        """Start a kernel that was submitted with the launch key."""
        tag, signed = body[:SHA384_BYTES], body[SHA384_BYTES:]
        verify_hmac_sha384(self.launch_key, signed, tag, "submitted work")
        count, program = split(signed, "submitted work", "number", "program")
        if to_number(count, "submitted work", "number") != self.submitted:
            raise frames.ProtocolError("work submitted again, or out of order")
        self.submitted += 1
        self.gpu.device.store(orders.Start(program))
        return self, self.gpu.leak_effects()

    def on_host_memory(self, words: bytes) -> Transition:
        """Let a listening kernel execute a command; it uses the engine without knowing its key."""
        effects: list[frames.RoleEffect] = []
        for told in self.gpu.device.execute_command(words):
            if told.verb is Verb.ORDER:
                effects += self.obey(*self.firmware.refuse_outside_session(bytes.fromhex(told.text)))
            elif told.verb is Verb.SEND:
                effects.append(_home(self.firmware.seal_for_home(bytes.fromhex(told.text))))
        return self, effects

    @enforces("REQ-KEY-04", "engine-retirement", "no-engine-reload", "atomic-rotation")
    @enforces("REQ-KEY-07", "key-usage-limit")
    def _engines(self, schedule: KeySchedule) -> CopyEngines:
        """Return the engines that take the session's keys, each once and in order, and use none past its limit."""
        return self.gpu.hardware.engines(schedule, self.gpu.limits)

    def _stored(
        self, opened: OpenedMessage, command: orders.Write | orders.Start | orders.Upload
    ) -> list[frames.RoleEffect]:
        """Return what is recorded of a copy: which chunk went where, or that code was uploaded."""
        about = {"g": self.gpu.name, "k": self._name(opened.keys), "v": opened.slot}
        match command:
            case orders.Upload():
                return [log_step(step("exec_upload", names.GPU, **about))]
            case orders.Write(address, chunk, _) if chunk:
                owner = opened.keys.owner
                known = {} if owner == names.ORCHESTRATOR else {"a": owner, "m": f"{owner}'s chunk {chunk}"}
                return [log_step(step("gpu_receive", names.GPU, **about, **known, b=names.address_name(address)))]
        return []

    def _send_home(self, reply: orders.Reply) -> tuple[SealedMessage, frames.Send]:
        sealed = self.engines.seal(orders.encode_copy(reply))
        checks, use = self.gpu.hardware.checks, self.engines.summary
        told = "the key of what goes home is used past its limit"
        checks.require("key-usage-limit", "REQ-KEY-07", use.within, saw=tuple(use), otherwise=told)
        return sealed, _home(sealed.ciphertext)

    def _name(self, keys: LinkKeys) -> str:
        return self._epoch(keys.epoch)

    def _epoch(self, epoch: int) -> str:
        return f"{self.responder.label}/{epoch}"


class AwaitsReset(GpuState):
    """State: something did not verify; session and keys are erased, and only a reset helps.

    Source: open-gpu-kernel-modules 595.45.04, conf_compute.c (confComputeSetErrorState).
    """


class Gpu:
    """A GPU's state machine from power-on; ``limits`` bound the use of each key."""

    def __init__(
        self,
        name: str,
        schedule: str,
        new_responder: Callable[[], Responder],
        trainer: Trainer,
        mode: Mode = Mode.CONFIDENTIAL,
        limits: UsageLimits | None = None,
        hardware: Hardware = Hardware(),
    ) -> None:
        self.name = name
        self.schedule = schedule
        self.new_responder = new_responder
        self.hardware = hardware
        self.limits = limits or UsageLimits.for_advantage()
        self._trainer = trainer
        self._attempt = 0
        self.ledgers: list[KeyLedger] = []
        self._written_out: list[bytes] = []
        self.device = self._boot(mode)
        self.state: GpuState = AwaitsSession(self)

    def handle(self, event: frames.RoleEvent) -> tuple[GpuState, list[frames.RoleEffect]]:
        """Return the next state and the effects of an event; a verification failure is fatal."""
        if not isinstance(event, frames.Frame):
            return self.state, []
        with checking(names.GPU) as log:
            try:
                self.state, effects = self._on_frame(event)
            except Failure as error:
                effects = self._failed(error)
            return self.state, [*unattributed_checks(log), *effects]

    def _failed(self, error: Exception) -> list[frames.RoleEffect]:
        """Stop for good, until a reset."""
        self.state = AwaitsReset(self)
        return [
            frames.Remark(f"{self.name} failed: {error}"),
            frames.Send(names.ORCHESTRATOR, frames.FrameKind.FAULT, add_tag(False, self._attempt, b"")),
        ]

    def answer(self, message: bytes, reports: bool = False) -> frames.RoleEffect:
        """Return the frame with an answer of the session, or with a report (``reports``)."""
        return frames.Send(names.ORCHESTRATOR, frames.FrameKind.SESSION, add_tag(reports, self._attempt, message))

    def leak_effects(self) -> list[frames.RoleEffect]:
        """Return effects for what code on the GPU wrote to plain host memory since the last call."""
        written = list(self._written_out)
        self._written_out.clear()
        return [frames.Send(frames.PLATFORM, frames.FrameKind.HOST_MEMORY, data) for data in written]

    def _on_frame(self, frame: frames.Frame) -> Transition:
        match frame.kind:
            case frames.FrameKind.RESET:
                return self._reset(frame.body)
            case frames.FrameKind.SESSION:
                orders, self._attempt, message = split_tag(frame.body)
                return self.state.on_session(orders, message)
            case frames.FrameKind.H2D:
                return self.state.on_link(frame.body)
            case frames.FrameKind.WORK:
                return self.state.on_work(frame.body)
            case frames.FrameKind.HOST_MEMORY:
                return self.state.on_host_memory(frame.body)
        return self.state, [frames.Remark(f"ignored: {frame.kind.name.lower()} from {frame.source}")]

    def outcome(self) -> Mapping[str, object]:
        """Return the usage of each key."""
        return {"key_usage": [use.to_json() for ledger in self.ledgers for use in ledger.uses]}

    @enforces("REQ-STOP-02")
    def _reset(self, body: bytes) -> Transition:
        """Lose session, keys and memory, and boot again: in the mode that is asked for, or as before."""
        mode = requested_mode(body, self.device.mode)
        self.device = self._boot(mode)
        if body == names.FOR_JOURNEY:
            gone = step("reset_before_travel", names.GPU, g=self.name)
        elif body == names.FOR_NEW_SESSION:
            gone = step("lose_session", names.GPU, g=self.name)
        else:
            gone = step("reset", "adversary", g=self.name, mode=mode.value)
        return AwaitsSession(self), [log_step(gone)]

    def _boot(self, mode: Mode) -> Device:
        return self.hardware.device(mode, self._trainer, self._written_out.append)


_CLEARED = {orders.Fence: "exec_fence", orders.Scrub: "exec_scrub"}


def _home(body: bytes) -> frames.Send:
    """Return the frame that carries what a copy engine made to the orchestrator."""
    return frames.Send(names.ORCHESTRATOR, frames.FrameKind.D2H, body)


def _semaphore(report: orders.Report) -> list[frames.RoleEffect]:
    """Return the plain word, beside a report, that something is done; anybody could have written it."""
    if not isinstance(report, orders.Fenced | orders.Scrubbed):
        return []
    return [frames.Send(names.ORCHESTRATOR, frames.FrameKind.SEMAPHORE, type(report).__name__.encode("ascii"))]
