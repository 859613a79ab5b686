"""A node: one role with its recorder and its journal, fed with events, giving frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

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
)
from carnet_ref.transport.roles import Role
from carnet_spec.trace import TraceCheck


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
    """Feeds a role and carries out what it asks for, in the order it asks; ``remark`` gets every line for people."""

    name: str
    role: Role
    recorder: Recorder
    store: Store = field(default_factory=NoStore)
    remark: Callable[[str], None] = lambda _: None
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
