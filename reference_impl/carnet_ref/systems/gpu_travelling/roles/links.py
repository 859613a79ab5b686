"""The orchestrator's end of a session with its GPU, and the ends of the link that send to the GPU.

The orchestrator has both halves of the link, and what orders are sealed with; a holder has what it borrowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from carnet_ref.crypto.primitives import Random
from carnet_ref.device import CAPACITY
from carnet_ref.keys import (
    BLOCK_BYTES,
    LAST_MESSAGE,
    Budget,
    Direction,
    H100KeySchedule,
    KeyLedger,
    KeySchedule,
    KeyUsage,
    KeyUsageRecord,
    LinkKeys,
    Opener,
    Sealer,
    UsageLimits,
    UsageSummary,
)
from carnet_ref.marks import enforces
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.keys import FIRST_CHANNEL
from carnet_ref.systems.gpu_travelling.roles.messages import LAUNCH_LABEL
from carnet_ref.transport.frames import ProtocolError
from carnet_ref.wire import number

FRAMING = orders.size_of(orders.Write(0, 0, b""))  #: What a chunk grows by before it is sealed.
#: The most that one turn is lent of a key: enough to fill the buffer sixteen bytes at a time.
TURN = Budget(messages=CAPACITY // 16, units=CAPACITY // 4)


@dataclass(slots=True)
class Outgoing:
    """The host-to-device half of the link, with its counter."""

    keys: LinkKeys
    sealer: Sealer


@dataclass(slots=True)
class Incoming:
    """The device-to-host half of the link, with its counter."""

    keys: LinkKeys
    opener: Opener


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """The keys of a session for orders, reports and submitted work; they belong to no epoch."""

    orders: bytes = field(repr=False)
    reports: bytes = field(repr=False)
    launch: bytes = field(repr=False)

    @classmethod
    def of(cls, session: H100KeySchedule) -> SessionKeys:
        """Derive these keys from a session's secret."""
        return cls(session.key(orders.ORDERS_LABEL), session.key(orders.REPORTS_LABEL), session.key(LAUNCH_LABEL))


class Link:
    """The orchestrator's end of one session: the link, and the order channel to the firmware.

    Every key has one count of what it protected, in all its epochs and by holders too; past a limit nothing is done
    with it. Epochs are named ``session/epoch`` wherever a name is needed.
    """

    def __init__(self, session: str, schedule: KeySchedule, secrets: SessionKeys, limits: UsageLimits) -> None:
        self.session = session
        self.launch_key = secrets.launch
        self._orders = orders.Sealed(secrets.orders)
        self._reports = orders.Sealed(secrets.reports)
        self._told: dict[int, int] = {}
        self.awaited: orders.Place | None = None
        self._home = schedule.keys.owner
        self._schedule = schedule
        self._ledger = KeyLedger(limits)
        self._ledger.own.update(orders=self._orders.usage, reports=self._reports.usage)
        self._lent_out = Budget()
        self._pending: Incoming | None = None
        self._incoming = self._receiving(schedule.keys)
        self._outgoing = self._sending(schedule.keys)

    @property
    def keys(self) -> LinkKeys:
        """The keys of the host-to-device half."""
        return self._outgoing.keys

    @property
    def next_slot(self) -> int:
        """The first unused counter value of the host-to-device half."""
        return self._outgoing.sealer.ivs.message

    @property
    def summary(self) -> UsageSummary:
        """The usage of the host-to-device key, including that of holders."""
        return self._outgoing.sealer.usage.summary

    @property
    def incoming(self) -> LinkKeys:
        """The keys of the device-to-host half."""
        return self._incoming.keys

    @property
    def pending(self) -> LinkKeys | None:
        """The pending keys of a rotation, or None."""
        return None if self._pending is None else self._pending.keys

    @property
    def pending_name(self) -> str:
        """The name of the epoch that a pending rotation begins."""
        return "" if self._pending is None else self.name(self._pending.keys)

    @property
    def pending_channel(self) -> int:
        """The channel counter of the epoch that a pending rotation begins, counted from 0."""
        return 0 if self._pending is None else self._pending.keys.channel - FIRST_CHANNEL

    def channel_due(self, owner: str) -> int:
        """Return the channel counter for the next epoch of ``owner``, counted from 0."""
        before = self._schedule.used_again(owner)
        return 0 if before is None else before.channel + 1 - FIRST_CHANNEL

    def name(self, keys: LinkKeys) -> str:
        """Return the name of an epoch."""
        return f"{self.session}/{keys.epoch}"

    # -- orders and reports ------------------------------------------------------------------------

    @enforces("REQ-KEY-01", "fresh-key")
    def draw(self, owner: str, random: Random) -> orders.Rotate:
        """Return the order that rotates to a new key of ``owner``.

        Raises KeysError if the schedule has no key for ``owner`` in this session.
        """
        order = self._schedule.order(owner, random)
        self.expect(self._schedule.follow(order))
        return orders.Rotate(order)

    def expect(self, keys: LinkKeys) -> None:
        """Set ``keys`` as the pending keys of a rotation; the keys in use keep their counters."""
        self._pending = self._incoming if keys is self._incoming.keys else self._receiving(keys)

    @enforces("REQ-SESSION-01", "session-orders")
    def order(self, order: orders.Order) -> tuple[orders.Place, bytes]:
        """Return the place of an order, and the sealed order; its report is then awaited.

        A rotation is the first of the epoch that it begins, anything else the next one of the link's epoch.
        """
        begun = self.pending if isinstance(order, orders.Rotate) else None
        epoch = self.keys.epoch if begun is None else begun.epoch
        place = orders.Place(epoch, self._told.get(epoch, 0) if begun is None else 0)
        self._told[epoch] = max(self._told.get(epoch, 0), place.number + 1)
        self.awaited = place
        return place, self._orders.seal(place, orders.encode(order))

    @enforces("REQ-SESSION-03", "session-acknowledgements")
    def report(self, sealed: bytes) -> orders.Report:
        """Return the report on the last order.

        Raises AuthenticationError if the session's firmware did not seal it for the place that it states;
        ProtocolError if that place is not the last order's, or no order is open; MalformedError if it is no report.
        """
        place, message = self.open_report(sealed)
        if place != self.awaited:
            raise ProtocolError(f"a report on {place}, which is not awaited (REQ-SESSION-03)")
        self.awaited = None
        return orders.parse_report(message)

    def open_report(self, sealed: bytes) -> tuple[orders.Place, bytes]:
        """Return the place and the content of a report.

        Raises AuthenticationError if the firmware did not make it, or made it on another order.
        """
        return self._reports.open(sealed)

    @property
    def own_usage(self) -> Mapping[str, KeyUsage]:
        """The usage of the session's own keys, which belong to no epoch."""
        return self._ledger.own

    @property
    def uses(self) -> list[KeyUsageRecord]:
        """The usage of each key of the link and of the session."""
        return self._ledger.uses

    # -- rotation ----------------------------------------------------------------------------------

    @enforces("REQ-KEY-06", "rotation-in-h2d", "rotation-in-d2h")
    def take(self) -> None:
        """Use the pending keys in both directions; a key that stays keeps its counters."""
        pending, self._pending = self._pending, None
        if pending is not None and pending is not self._incoming:
            self.send_under(pending.keys)
            self.receive_under(pending)

    def send_under(self, keys: LinkKeys) -> None:
        """Use ``keys`` for messages to the device, with counters from the start."""
        self._outgoing = self._sending(keys)

    def receive_under(self, pending: Incoming) -> None:
        """Use a pending key for messages from the device."""
        self._incoming = pending

    # -- the link ----------------------------------------------------------------------------------

    @enforces("REQ-IV-01", "sender-iv-monotonic")
    @enforces("REQ-KEY-07", "key-usage-limit")
    def seal(self, command: orders.Command) -> tuple[int, bytes]:
        """Return the counter value of a command, and the frame body that carries it.

        Raises KeysError if the key has protected as much as it may, or has no IV left.
        """
        sealer = self._outgoing.sealer
        slot = sealer.ivs.message
        return slot, h2d_body(self.keys.engine, slot, sealer.seal(orders.encode_copy(command)))

    def open(self, sealed: bytes) -> orders.Reply:
        """Return the next reply under the device-to-host key.

        Raises AuthenticationError if it is not the next reply; MalformedError if it says nothing that is known.
        """
        return orders.parse_reply(self._incoming.opener.open(sealed))

    @enforces("REQ-IV-03")
    def count_borrowed(self, count: int, size: int) -> None:
        """Record the holder's message count, and charge its messages to the key; a count never decreases.

        ``size`` is that of the data; what chunks grow by before they are sealed comes on top. Raises KeysError if the
        holder used more of the key than it was lent, or the key has no IV left.
        """
        sealer = self._outgoing.sealer
        messages = max(0, count - sealer.ivs.message)
        sealer.usage.settle(self._lent_out, size + messages * FRAMING, messages)
        sealer.ivs.skip_to(max(count, sealer.ivs.message))
        self._lent_out = Budget()

    def lend(self) -> Budget:
        """Return the budget of the host-to-device key for a holder; it counts as used until the return."""
        self._lent_out = self._outgoing.sealer.usage.lend(TURN)
        return self._lent_out

    def forfeit(self) -> None:
        """Count everything as used that was lent, including IVs if the key stays in use."""
        ivs = self._outgoing.sealer.ivs
        if self._schedule.used_again(self._home) is self.keys:
            ivs.skip_to(min(ivs.message + self._lent_out.messages, LAST_MESSAGE))
        self._lent_out = Budget()

    def usage(self, owner: str, way: Direction) -> KeyUsage:
        """Return the usage so far of the key for the next epoch of ``owner``."""
        keys = self._schedule.used_again(owner)
        return self._ledger.new_usage() if keys is None else self._ledger.usage(keys, way)

    def _receiving(self, keys: LinkKeys) -> Incoming:
        return Incoming(keys, Opener(keys.d2h, keys.ivs(Direction.D2H), self._ledger.usage(keys, Direction.D2H)))

    def _sending(self, keys: LinkKeys) -> Outgoing:
        return Outgoing(keys, Sealer(keys.h2d, keys.ivs(Direction.H2D), self._ledger.usage(keys, Direction.H2D)))


class BorrowedLink:
    """A holder's end of the link: the granted half, from a given IV on, within a budget."""

    def __init__(self, keys: LinkKeys, start: int, budget: Budget) -> None:
        self._keys = keys
        self._start = start
        self._usage = KeyUsage(UsageLimits.within(budget))
        self.count_from_start()

    @property
    def count(self) -> int:
        """The counter value for the next message; equal to the number of used values of the epoch."""
        return self._sealer.ivs.message

    @property
    def summary(self) -> UsageSummary:
        """The usage of the budget."""
        return self._usage.summary

    def count_from_start(self) -> None:
        """Start at the counter value in the grant."""
        self._sealer = Sealer(self._keys.h2d, self._keys.ivs(Direction.H2D, self._start), self._usage)

    @enforces("REQ-IV-01", "sender-iv-monotonic")
    @enforces("REQ-KEY-07", "key-usage-limit")
    def seal(self, command: orders.Command) -> tuple[int, bytes]:
        """Return the counter value of a command, and the frame body that carries it.

        Raises KeysError if the budget is used up, or the key has no IV left.
        """
        slot = self.count
        return slot, h2d_body(self._keys.engine, slot, self._sealer.seal(orders.encode_copy(command)))


def least_usage(size: int, messages: int) -> Budget:
    """Return the least usage of a key for ``size`` bytes of data in ``messages`` messages."""
    messages = max(0, messages)
    return Budget(messages, (size + messages * FRAMING) // BLOCK_BYTES + messages)


def h2d_body(engine: int, slot: int, sealed: bytes) -> bytes:
    """Return the body of a frame to a copy engine; its counter value is unauthenticated, and devices ignore it."""
    return bytes([engine]) + number(slot) + sealed
