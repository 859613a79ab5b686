"""Ends of the link that a weaker design leaves as they were: a key drawn once, half a rotation, counters set back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from carnet_ref.crypto.primitives import AuthenticationError, Random
from carnet_ref.keys import Direction, KeySchedule, LinkKeys, Opener, UsageLimits
from carnet_ref.systems.gpu_travelling.device.commands import Command, Reply
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Incoming, Link


class ForgoesReplies(Link):
    """A reply may come that nobody waits for; it is told from the one that is awaited."""

    def __init__(self, session: str, schedule: KeySchedule, launch_key: bytes, limits: UsageLimits) -> None:
        super().__init__(session, schedule, launch_key, limits)
        self._disregarded: list[type[Reply]] = []

    def acknowledge(self, sealed: bytes) -> Reply:
        """Return the acknowledgement of the rotation under way; replies under the key before will not come."""
        reply = super().acknowledge(sealed)
        self._disregarded.clear()
        return reply

    def disregard(self, kind: type[Reply]) -> None:
        """Expect, and do not wait for, one reply of this kind."""
        self._disregarded.append(kind)

    def disregards(self, sealed: bytes) -> bool:
        """Return whether the next message is the reply that nobody waits for any more.

        Raises:
            AuthenticationError: it is not the next reply.
        """
        if not self._disregarded or (self._pending is not None and _verifies(self._pending, sealed)):
            return False
        return isinstance(self.open(sealed), self._disregarded.pop(0))


def _verifies(incoming: Incoming, sealed: bytes) -> bool:
    """Whether a message is the next one under these keys; no IV is counted."""
    at = incoming.opener.ivs.message
    try:
        Opener(incoming.keys.d2h, incoming.keys.ivs(Direction.D2H, at), incoming.opener.usage).open(sealed)
    except AuthenticationError:
        return False
    return True


class LendsOneKey(Link):
    """Every holder is lent the key that the first one was lent."""

    _lent: tuple[bytes, LinkKeys] | None = None

    def draw(self, owner: str, random: Random) -> bytes:
        """Return the first order again, for any holder but the first."""
        if owner == ORCHESTRATOR:
            return super().draw(owner, random)
        if self._lent is None:
            order = super().draw(owner, random)
            self._lent = None if self.pending is None else (order, self.pending)
            return order
        order, keys = self._lent
        self.expect(replace(keys, owner=owner))
        return order


class KeepsSending(Link):
    """A rotation at return leaves the half to the device as it was lent."""

    __slots__ = ()

    def send_under(self, keys: LinkKeys) -> None:
        """Take a new key only when the GPU travels."""
        if keys.owner != ORCHESTRATOR:
            super().send_under(keys)


class KeepsReceiving(Link):
    """A rotation at return leaves the half from the device as it was."""

    __slots__ = ()

    def receive_under(self, pending: Incoming) -> None:
        """Take a new key only when the GPU travels."""
        if pending.keys.owner != ORCHESTRATOR:
            super().receive_under(pending)


class SetsCounterBack(Link):
    """Every order goes under the first counter value, as after a snapshot was restored."""

    __slots__ = ()

    def seal(self, command: Command) -> tuple[int, bytes]:
        """Count from the start again, and seal."""
        self._outgoing = self._sending(self.keys)
        return super().seal(command)


class BorrowerSetsCounterBack(BorrowedLink):
    """Every chunk goes under the first counter value of the grant, as after a snapshot was restored."""

    __slots__ = ()

    def seal(self, command: Command) -> tuple[int, bytes]:
        """Count from the start again, and seal."""
        self.count_from_start()
        return super().seal(command)


ALTERNATIVES: Final[Mapping[str, type[Link]]] = {
    "fresh-key": LendsOneKey,
    "rotation-in-h2d": KeepsSending,
    "rotation-in-d2h": KeepsReceiving,
    "sender-iv-monotonic": SetsCounterBack,
    "rotation-ack": ForgoesReplies,
    "fence-ack": ForgoesReplies,
    "scrub-ack": ForgoesReplies,
}
"""What the orchestrator's end does without each defence."""

BORROWED: Final[Mapping[str, type[BorrowedLink]]] = {"sender-iv-monotonic": BorrowerSetsCounterBack}
"""What a holder's end does without each defence."""
