"""What the transport knows of a system: roles that take events, and a factory that makes them by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from carnet_ref.crypto.primitives import Random
from carnet_ref.journal.store import Journal
from carnet_ref.transport.frames import RoleEffect, RoleEvent


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
class Telling(Protocol):
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

        Raises:
            MalformedError: the journal says something that no such party wrote.
        """

    def journal_owner(self, name: str) -> bytes:
        """Return what a party's journal is bound to."""
