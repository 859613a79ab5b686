"""The GPU: one session at a time, obedient to any party that has the link; anything that does not verify is its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from carnet_ref.crypto.primitives import SHA384_BYTES, CryptoError, verify_hmac_sha384
from carnet_ref.device.engines import CopyEngines, Opened, Sealed
from carnet_ref.device.mode import Mode, mode_asked
from carnet_ref.keys import H100KeySchedule, KeySchedule, KeysError, LinkKeys, UsageLimits
from carnet_ref.recorder import step
from carnet_ref.spdm import SpdmError
from carnet_ref.systems.gpu_travelling.device.commands import (
    Fence,
    ReadBack,
    Reply,
    Rotated,
    Scrub,
    Start,
    Train,
    Upload,
    Write,
    encode,
    parse_command,
)
from carnet_ref.systems.gpu_travelling.device.device import Device
from carnet_ref.systems.gpu_travelling.enforcement import Checks, enforces
from carnet_ref.systems.gpu_travelling.keys.schedules import key_schedule
from carnet_ref.systems.gpu_travelling.names import FOR_JOURNEY, GPU, ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.ports import Responder
from carnet_ref.systems.gpu_travelling.roles.session_frames import LAUNCH_LABEL, tagged, untagged
from carnet_ref.training import Trainer
from carnet_ref.transport.frames import (
    PLATFORM,
    Frame,
    FrameKind,
    Note,
    ProtocolError,
    Remark,
    RoleEffect,
    RoleEvent,
    Send,
)
from carnet_ref.wire.fields import split, to_number
from carnet_ref.wire.reader import MalformedError

Failure = (CryptoError, KeysError, MalformedError, ProtocolError, SpdmError)
_HEAD = 9


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a GPU is made of: its device, its copy engines, and what they check before they follow an order."""

    device: type[Device] = Device
    engines: type[CopyEngines] = CopyEngines
    checks: Checks = field(default_factory=Checks)


class GpuState:
    """One state of the GPU, named by what it awaits."""

    __slots__ = ("gpu",)

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu

    def on_session(self, orders: bool, message: bytes) -> Transition:
        """Take a message of the session."""
        return self, []

    def on_link(self, body: bytes) -> Transition:
        """Take a message for a copy engine: there is none with a key."""
        return self, []

    def on_work(self, body: bytes) -> Transition:
        """Take work: there is nothing to run it in."""
        return self, []


Transition = tuple[GpuState, list[RoleEffect]]


class AwaitsSession(GpuState):
    """No session, or one whose handshake is under way."""

    __slots__ = ("noted", "responder")

    def __init__(self, gpu: Gpu) -> None:
        super().__init__(gpu)
        self.responder = gpu.new_responder()
        self.noted = False

    def on_session(self, orders: bool, message: bytes) -> Transition:
        """Go on with the handshake; once it is done, take the first keys from the session."""
        if orders:
            raise ProtocolError("an order without a session")
        effects = [self.gpu.answer(each) for each in self.responder.receive(message)]
        session = self.responder.label
        if session and not self.noted:
            self.noted = True
            effects.insert(0, Note(step("answer_session", GPU, g=self.gpu.name, s=session, k=f"{session}/0")))
        if not self.responder.established:
            return self, effects
        return InSession(self.gpu, self.responder), effects


class InSession(GpuState):
    """A session, its keys, and orders that come through it or through the link."""

    __slots__ = ("engines", "launch_key", "responder", "submitted")

    def __init__(self, gpu: Gpu, responder: Responder) -> None:
        super().__init__(gpu)
        self.responder = responder
        keys = H100KeySchedule.of_session(responder.secret())
        self.launch_key = keys.key(LAUNCH_LABEL)
        self.submitted = 0
        self.engines = self._engines(key_schedule(gpu.schedule, keys, ORCHESTRATOR, gpu.hardware.checks))

    @enforces("REQ-SETUP-02")
    def on_session(self, orders: bool, message: bytes) -> Transition:
        """Answer a request for evidence, or take a key as ordered and acknowledge under it."""
        if not orders:
            return self, [self.gpu.answer(each) for each in self.responder.receive(message)]
        keys = self.engines.accept(self.responder.open(message))
        action = "gpu_rotate_in" if keys.owner == ORCHESTRATOR else "gpu_rotate_out"
        noted = step(action, GPU, g=self.gpu.name, s=self.responder.label, k=self._name(keys))
        sealed = self.engines.acknowledge(encode(Rotated(keys.epoch, self.engines.live)), keys)
        return self, [Note(noted), Send(ORCHESTRATOR, FrameKind.D2H, sealed.ciphertext)]

    @enforces("REQ-DATA-02", "REQ-IV-02", "gpu-implicit-iv")
    def on_link(self, body: bytes) -> Transition:
        """Open the next message under the live key, and do what it says."""
        if len(body) < _HEAD:
            raise MalformedError("message for a copy engine", f"at least {_HEAD} bytes", str(len(body)))
        opened = self.engines.open(body[0], body[_HEAD:], to_number(body[1:_HEAD], "message", "counter"))
        command = parse_command(opened.plaintext)
        k, v, g = self._name(opened.keys), opened.slot, self.gpu.name
        if isinstance(command, ReadBack):
            return self._read_back(opened, command.epoch)
        reply = self.gpu.device.carry_out(command)
        match command:
            case Write(chunk=chunk):
                return self, self._received(opened, chunk)
            case Upload():
                return self, [Note(step("exec_upload", GPU, g=g, k=k, v=v)), *self.gpu.leaked()]
        if reply is None:
            return self, self.gpu.leaked()
        sealed, frame = self._reply(reply)
        noted = step(_EXECUTED[type(command)], GPU, g=g, k=k, v=v, j=self._name(sealed.keys), w=sealed.slot)
        return self, [Note(noted), *self.gpu.leaked(), *_semaphore(reply), frame]

    def on_work(self, body: bytes) -> Transition:
        """Start a kernel that somebody with the launch key submitted."""
        tag, signed = body[:SHA384_BYTES], body[SHA384_BYTES:]
        verify_hmac_sha384(self.launch_key, signed, tag, "submitted work")
        count, program = split(signed, "submitted work", "number", "program")
        if to_number(count, "submitted work", "number") != self.submitted:
            raise ProtocolError("work submitted again, or out of order")
        self.submitted += 1
        self.gpu.device.carry_out(Start(program))
        return self, self.gpu.leaked()

    @enforces("REQ-KEY-04", "engine-retirement", "no-engine-reload", "atomic-rotation")
    @enforces("REQ-KEY-07", "key-usage-limit")
    def _engines(self, schedule: KeySchedule) -> CopyEngines:
        """Return the engines that take the session's keys, each once and in order, and use none past its limit."""
        return self.gpu.hardware.engines(schedule, self.gpu.limits)

    def _received(self, opened: Opened, chunk: int) -> list[RoleEffect]:
        if not chunk:
            return self.gpu.leaked()
        owner = opened.keys.owner
        known = {} if owner == ORCHESTRATOR else {"a": owner, "m": f"{owner}'s chunk {chunk}"}
        noted = step("gpu_receive", GPU, g=self.gpu.name, k=self._name(opened.keys), v=opened.slot, **known)
        return [Note(noted), *self.gpu.leaked()]

    def _read_back(self, opened: Opened, epoch: int) -> Transition:
        received = opened.slot if epoch == opened.keys.epoch else self.engines.received(epoch)
        sealed, frame = self._reply(self.gpu.device.read_back(received))
        noted = step(
            "exec_read_back",
            GPU,
            g=self.gpu.name,
            k=self._name(opened.keys),
            v=opened.slot,
            j=self._name(sealed.keys),
            w=sealed.slot,
            c=f"{self.responder.label}/{epoch}",
            n=received,
        )
        return self, [Note(noted), frame]

    def _reply(self, reply: Reply) -> tuple[Sealed, Send]:
        sealed = self.engines.seal(encode(reply))
        return sealed, Send(ORCHESTRATOR, FrameKind.D2H, sealed.ciphertext)

    def _name(self, keys: LinkKeys) -> str:
        return f"{self.responder.label}/{keys.epoch}"


class AwaitsReset(GpuState):
    """Something did not verify: session and keys are gone, and nothing works before a reset.

    Source: open-gpu-kernel-modules 595.45.04, conf_compute.c (confComputeSetErrorState).
    """

    __slots__ = ()


class Gpu:
    """A GPU's state machine, from power-on on; no key protects more there than ``limits`` say."""

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
        self._written_out: list[bytes] = []
        self.device = self._boot(mode)
        self.state: GpuState = AwaitsSession(self)

    def handle(self, event: RoleEvent) -> tuple[GpuState, list[RoleEffect]]:
        """Take an event, and return the new state and what is to be done; whatever does not verify is fatal."""
        if not isinstance(event, Frame):
            return self.state, []
        try:
            self.state, effects = self._on_frame(event)
        except Failure as error:
            self.state = AwaitsReset(self)
            effects = [
                Remark(f"{self.name} failed: {error}"),
                Send(ORCHESTRATOR, FrameKind.FAULT, tagged(False, self._attempt, b"")),
            ]
        return self.state, effects

    def answer(self, message: bytes) -> RoleEffect:
        """Return the frame that answers a message of the session."""
        return Send(ORCHESTRATOR, FrameKind.SESSION, tagged(False, self._attempt, message))

    def leaked(self) -> list[RoleEffect]:
        """Return what code on the GPU wrote to plain host memory since the last time."""
        written = list(self._written_out)
        self._written_out.clear()
        return [Send(PLATFORM, FrameKind.HOST_MEMORY, data) for data in written]

    def _on_frame(self, frame: Frame) -> Transition:
        match frame.kind:
            case FrameKind.RESET:
                return self._reset(frame.body)
            case FrameKind.SESSION:
                orders, self._attempt, message = untagged(frame.body)
                return self.state.on_session(orders, message)
            case FrameKind.H2D:
                return self.state.on_link(frame.body)
            case FrameKind.WORK:
                return self.state.on_work(frame.body)
        return self.state, [Remark(f"ignored: {frame.kind.name.lower()} from {frame.source}")]

    def _reset(self, body: bytes) -> Transition:
        """Lose session, keys and memory, and boot again; out of confidential mode only if that is what is asked."""
        mode = mode_asked(body)
        self.device = self._boot(mode)
        if body == FOR_JOURNEY:
            noted = step("reset_before_travel", GPU, g=self.name)
        else:
            noted = step("reset", "adversary", g=self.name, mode=mode.value)
        return AwaitsSession(self), [Note(noted)]

    def _boot(self, mode: Mode) -> Device:
        return self.hardware.device(mode, self._trainer, self._written_out.append)


_EXECUTED = {Fence: "exec_fence", Train: "exec_train", Scrub: "exec_scrub"}


def _semaphore(reply: Reply) -> list[RoleEffect]:
    return [Send(ORCHESTRATOR, FrameKind.SEMAPHORE, type(reply).__name__.encode("ascii"))]
