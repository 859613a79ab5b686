"""Roles that take events, what makes them by name, and nodes: a role with its recorder and its journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from carnet_ref.crypto.primitives import Random
from carnet_ref.journal import Journal
from carnet_ref.recorder import Recorder
from carnet_ref.transport.frames import (
    Checked,
    Ended,
    Frame,
    Note,
    Persist,
    Proceed,
    Remark,
    RoleEffect,
    RoleEvent,
    Send,
    Transformed,
)
from carnet_spec.trace import TraceCheck


class Role(Protocol):
    """A state machine that reads and writes nothing itself."""

    def handle(self, event: RoleEvent) -> tuple[object, list[RoleEffect]]:
        """Take an event, and return the new state and what is to be done."""


class Party(Role, Protocol):
    """A role that begins by itself, and has something to say in the end."""

    def begin(self, now: float) -> list[RoleEffect]:
        """Return what is to be done first."""

    def outcome(self) -> Mapping[str, Any]:
        """Return what the role says when it is done, as JSON values."""


@runtime_checkable
class ReportsOutcome(Protocol):
    """A device that has something to say in the end."""

    def outcome(self) -> Mapping[str, Any]:
        """Return what it says, as JSON values."""


class RoleFactory(Protocol):
    """Makes the roles of a run: the same ones in every process that is given the same settings.

    ``maker`` names, as ``module:name``, what makes such a factory of its ``settings``. ``leader`` is the party whose
    end is the end of the run; it owns the ``device``, which is plugged into the platform.
    """

    @property
    def maker(self) -> str:
        """What makes this factory of its settings."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the factory is made of, as JSON values."""

    @property
    def leader(self) -> str:
        """The name of the party that leads the run."""

    @property
    def device(self) -> str:
        """The name of the device."""

    @property
    def design(self) -> str:
        """The digest of the design, which every party's log begins with."""

    @property
    def parties(self) -> tuple[str, ...]:
        """The names of all parties, the leader's first."""

    @property
    def largest_frame(self) -> int:
        """Bytes of a frame at most."""

    def device_role(self, random: Random) -> Role:
        """Return the device, just switched on."""

    def party(self, name: str, journal: Journal, random: Random) -> Party:
        """Return a party that goes on from what its journal says.

        Raises MalformedError if the journal says something that no such party wrote.
        """

    def journal_owner(self, name: str) -> bytes:
        """Return what a party's journal is bound to."""


class Store(Protocol):
    """Where what is persisted goes."""

    def append(self, kind: str, payload: bytes) -> None:
        """Write durably, before returning."""


class NoStore:
    """Keeps nothing: for a role that has no journal."""

    def append(self, kind: str, payload: bytes) -> None:
        """Forget it."""


@dataclass(slots=True)
class Node:
    """Feeds a role and carries out what it asks for, in the order it asks.

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
        """Give an event to the role and return the frames it sends."""
        if isinstance(event, Frame):
            self.recorder.witness(event.clock)
        _, effects = self.role.handle(event)
        return self.perform(effects)

    def perform(self, effects: list[RoleEffect]) -> list[Frame]:
        """Carry out effects; what is persisted is on disk before anything after it happens."""
        frames: list[Frame] = []
        for effect in effects:
            match effect:
                case Persist(kind, payload):
                    self.store.append(kind, payload)
                case Note(step, checks, sent, at):
                    self._record(checks)
                    self.recorder.record(step, self.name, sent, at)
                case Checked(checks):
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
        """Let the role go on, if it asked to."""
        if not self.proceeds:
            return []
        self.proceeds = False
        return self.deliver(Proceed())
