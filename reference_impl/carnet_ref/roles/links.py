"""The orchestrator's end of the link: both halves, and the key that a rotation is under way to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from carnet_ref.crypto import AuthenticationError, Random
from carnet_ref.defences import Defences
from carnet_ref.device.commands import Command, Reply, encode, parse_reply
from carnet_ref.fields import number
from carnet_ref.keys import Direction, KeySchedule, KeyUsage, LinkKeys, Opener, Sealer, UsageLimits

_UNLIMITED = 1 << 62


@dataclass(slots=True)
class _Outgoing:
    keys: LinkKeys
    sealer: Sealer


@dataclass(slots=True)
class _Incoming:
    keys: LinkKeys
    opener: Opener


class Link:
    """The link of one session.

    Epochs are named ``session/epoch`` wherever a name is needed.
    """

    __slots__ = (
        "_defences",
        "_disregarded",
        "_home",
        "_incoming",
        "_lent",
        "_limits",
        "_outgoing",
        "_pending",
        "_schedule",
        "launch_key",
        "session",
    )

    def __init__(
        self, session: str, schedule: KeySchedule, launch_key: bytes, defences: Defences, limits: UsageLimits
    ) -> None:
        self.session = session
        self.launch_key = launch_key
        self._disregarded: list[type[Reply]] = []
        self._home = schedule.keys.owner
        self._lent: tuple[bytes, LinkKeys] | None = None
        self._schedule = schedule
        self._defences = defences
        self._limits = limits if defences.stands("key-usage-limit") else UsageLimits(_UNLIMITED, _UNLIMITED)
        self._pending: _Incoming | None = None
        self._incoming = self._receiving(schedule.keys)
        self._outgoing = self._sending(schedule.keys)

    @property
    def keys(self) -> LinkKeys:
        """The keys of the host-to-device half."""
        return self._outgoing.keys

    @property
    def next_slot(self) -> int:
        """The first counter value that is not used under the host-to-device half."""
        return self._outgoing.sealer.ivs.message

    @property
    def pending(self) -> LinkKeys | None:
        """The keys that a rotation is under way to."""
        return None if self._pending is None else self._pending.keys

    @property
    def pending_name(self) -> str:
        """The name of the epoch that a rotation is under way to."""
        return "" if self._pending is None else self.name(self._pending.keys)

    def name(self, keys: LinkKeys) -> str:
        """Return the name of an epoch."""
        return f"{self.session}/{keys.epoch}"

    def draw(self, owner: str, random: Random) -> bytes:
        """Return the order that rotates to a key of ``owner``, never used before, and expect its acknowledgement.

        Raises:
            KeysError: the schedule has no key for ``owner`` in this session.
        """
        lent = self._lent if owner != self._home and not self._defences.stands("fresh-key") else None
        order = lent[0] if lent else self._schedule.order(owner, random)
        keys = replace(lent[1], owner=owner) if lent else self._schedule.follow(order)
        if owner != self._home:
            self._lent = order, keys
        self._pending = self._receiving(keys)
        return order

    def acknowledge(self, sealed: bytes) -> Reply:
        """Return the acknowledgement of the rotation under way; it has to verify under the new key.

        Raises:
            AuthenticationError: it does not.
            MalformedError: it says nothing that is known.
        """
        if self._pending is None:
            raise AuthenticationError("acknowledgement of a rotation that was never ordered")
        reply = parse_reply(self._pending.opener.open(sealed))
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

    def take(self, inward: bool) -> None:
        """Go on under the pending key, in both directions."""
        if self._pending is None:
            return
        if not inward or self._defences.stands("rotation-in-h2d"):
            self._outgoing = self._sending(self._pending.keys)
        if not inward or self._defences.stands("rotation-in-d2h"):
            self._incoming = self._pending
        self._pending = None

    def seal(self, command: Command) -> tuple[int, bytes]:
        """Return the counter value a command goes under and the frame body that carries it.

        Raises:
            KeysError: the key has protected as much as it may, or has no IV left.
        """
        if not self._defences.stands("sender-iv-monotonic"):
            self._outgoing = self._sending(self.keys)
        sealer = self._outgoing.sealer
        slot = sealer.ivs.message
        return slot, h2d_body(self.keys.engine, slot, sealer.seal(encode(command)))

    def open(self, sealed: bytes) -> Reply:
        """Return the next reply under the device-to-host half.

        Raises:
            AuthenticationError: it is not the next reply.
            MalformedError: it says nothing that is known.
        """
        return parse_reply(self._incoming.opener.open(sealed))

    def count_borrowed(self, count: int, size: int) -> None:
        """Learn how far a holder counted, and charge what it encrypted to the key; a count never goes back.

        Raises:
            KeysError: the key would have protected more than it may, or has no IV left.
        """
        sealer = self._outgoing.sealer
        sealer.usage.count(size, max(0, count - sealer.ivs.message))
        sealer.ivs.skip_to(max(count, sealer.ivs.message))

    def _receiving(self, keys: LinkKeys) -> _Incoming:
        return _Incoming(keys, Opener(keys.d2h, keys.ivs(Direction.D2H)))

    def _sending(self, keys: LinkKeys) -> _Outgoing:
        return _Outgoing(keys, Sealer(keys.h2d, keys.ivs(Direction.H2D), KeyUsage(self._limits)))


def _verifies(incoming: _Incoming, sealed: bytes) -> bool:
    """Whether a message is the next one under these keys; nothing is counted."""
    at = incoming.opener.ivs.message
    try:
        Opener(incoming.keys.d2h, incoming.keys.ivs(Direction.D2H, at)).open(sealed)
    except AuthenticationError:
        return False
    return True


def h2d_body(engine: int, slot: int, sealed: bytes) -> bytes:
    """Return the body of a frame to a copy engine; the counter value in it is a claim that no device believes."""
    return bytes([engine]) + number(slot) + sealed
