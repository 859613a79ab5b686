"""Roles, factories of roles, and nodes, each of which is a role with its recorder and journal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from carnet_ref.crypto.primitives import Random
from carnet_ref.journal import Journal
from carnet_ref.recorder import Recorder
from carnet_ref.transport.frames import (
    Ended,
    Frame,
    Note,
    Persist,
    Proceed,
    RecordChecks,
    Remark,
    RoleEffect,
    RoleEvent,
    Send,
    Transformed,
)
from carnet_spec.trace import TraceCheck


class Role(Protocol):
    """A state machine without input or output of its own."""

    def handle(self, event: RoleEvent) -> tuple[object, list[RoleEffect]]:
        """Return the new state and the effects of an event."""


class Party(Role, Protocol):
    """A role that starts by itself, and has an outcome."""

    def begin(self, now: float) -> list[RoleEffect]:
        """Return the first effects."""

    def outcome(self) -> Mapping[str, Any]:
        """Return the role's outcome as JSON values."""


@runtime_checkable
class ReportsOutcome(Protocol):
    """A device with an outcome."""

    def outcome(self) -> Mapping[str, Any]:
        """Return the outcome as JSON values."""


class RoleFactory(Protocol):
    """Makes the roles of a run; equal settings give equal roles in every process.

    ``maker`` names, as ``module:name``, what makes such a factory of its ``settings``. ``leader`` is the party whose
    end is the end of the run; it owns the ``device``, which is plugged into the platform.
    """

    @property
    def maker(self) -> str:
        """The function that makes this factory from its settings, as ``module:name``."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the factory, as JSON values."""

    @property
    def leader(self) -> str:
        """The name of the party whose end is the end of the run."""

    @property
    def device(self) -> str:
        """The name of the device."""

    @property
    def design(self) -> str:
        """The digest of the design, the first entry of every party's log."""

    @property
    def parties(self) -> tuple[str, ...]:
        """The names of all parties, the leader's first."""

    @property
    def largest_frame(self) -> int:
        """The largest size of a frame in bytes."""

    def device_role(self, random: Random) -> Role:
        """Return the device just after power-on."""

    def party(self, name: str, journal: Journal, random: Random) -> Party:
        """Return a party that continues from its journal.

        Raises MalformedError if the journal says something that no such party wrote.
        """

    def journal_owner(self, name: str) -> bytes:
        """Return the context that a party's journal is bound to."""


class Store(Protocol):
    """The interface of durable storage."""

    def append(self, kind: str, payload: bytes) -> None:
        """Write an entry durably before returning."""


class NoStore:
    """The store of a role without a journal, which discards everything."""

    def append(self, kind: str, payload: bytes) -> None:
        """Discard the entry."""


@dataclass(slots=True)
class Node:
    """Runs a role: delivers events, and carries out effects in order.

    ``remark`` gets every line for people, and ``attest`` every transformation of data, with the name of the node.
    """

    name: str
    role: Role
    recorder: Recorder
    store: Store = field(default_factory=NoStore)
    remark: Callable[[str], None] = lambda _: None
    attest: Callable[[str, Transformed], None] = lambda *_: None
    ended: Ended | None = None
    proceeds: bool = False

    def deliver(self, event: RoleEvent) -> list[Frame]:
        """Deliver an event to the role, and return the frames that it sends."""
        if isinstance(event, Frame):
            self.recorder.witness(event.clock)
        _, effects = self.role.handle(event)
        return self.perform(effects)

    def perform(self, effects: list[RoleEffect]) -> list[Frame]:
        """Carry out effects in order, each durably before the next, and return the frames to send."""
        frames: list[Frame] = []
        for effect in effects:
            match effect:
                case Persist(kind, payload):
                    self.store.append(kind, payload)
                case Note(step, checks, sent, at):
                    self._record(checks)
                    self.recorder.record(step, self.name, sent, at)
                case RecordChecks(checks):
                    self._record(checks)
                case Send(target, kind, body):
                    frames.append(Frame(self.name, target, kind, body, self.recorder.clock))
                case Transformed():
                    self.attest(self.name, effect)
                case Remark(text):
                    self.remark(f"{self.name}: {text}")
                case Ended():
                    self.ended = effect
                case Proceed():
                    self.proceeds = True
        return frames

    def _record(self, checks: Iterable[TraceCheck]) -> None:
        for check in checks:
            self.recorder.record(check, self.name)

    def proceed(self) -> list[Frame]:
        """Let the role continue, if it requested to."""
        if not self.proceeds:
            return []
        self.proceeds = False
        return self.deliver(Proceed())
