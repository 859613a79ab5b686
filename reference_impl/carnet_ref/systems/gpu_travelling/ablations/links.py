"""Ends of the link that a weaker design leaves as they were: a key drawn once, half a rotation, counters set back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from carnet_ref.crypto.primitives import Random
from carnet_ref.keys import LinkKeys
from carnet_ref.systems.gpu_travelling.ablations.reports import ON_LINK, open_on_link
from carnet_ref.systems.gpu_travelling.device.commands import Command
from carnet_ref.systems.gpu_travelling.device.orders import Place, Rotate, placed
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Incoming, Link


class HearsTheLink(Link):
    """Reports come over the link, under the half that the device sends with, in a channel of their own."""

    __slots__ = ()

    def open_report(self, sealed: bytes) -> tuple[Place, bytes]:
        """Open what came under the live key, or under the key that a rotation is under way to.

        Raises:
            AuthenticationError: it was made without that key.
        """
        place, rest = placed(sealed.removeprefix(ON_LINK))
        begun = self.pending if self.awaited is not None and self.awaited.number == 0 else None
        return place, open_on_link(begun or self.incoming, place, rest)


class LendsOneKey(Link):
    """Every holder is lent the key that the first one was lent."""

    _lent: tuple[Rotate, LinkKeys] | None = None

    def draw(self, owner: str, random: Random) -> Rotate:
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
    "session-acknowledgements": HearsTheLink,
}
"""What the orchestrator's end does without each defence."""

BORROWED: Final[Mapping[str, type[BorrowedLink]]] = {"sender-iv-monotonic": BorrowerSetsCounterBack}
"""What a holder's end does without each defence."""
