"""The firmware's end of a session: which orders it carries out, and where its reports go."""

from __future__ import annotations

from carnet_ref.device import CopyEngines
from carnet_ref.keys import H100KeySchedule
from carnet_ref.marks import enforces
from carnet_ref.systems.gpu_travelling.device.commands import Sent
from carnet_ref.systems.gpu_travelling.device.commands import encode as encode_reply
from carnet_ref.systems.gpu_travelling.device.orders import (
    ORDERS_LABEL,
    REPORTS_LABEL,
    Order,
    Place,
    Report,
    Rotate,
    Sealed,
    encode,
    parse_order,
)
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR as OWNER
from carnet_ref.transport.frames import FrameKind, ProtocolError


class Firmware:
    """Takes the orders of a session in their sequence, each once, and reports on each; it alone has the keys for that.

    ``heard`` counts the orders of each epoch.
    """

    __slots__ = ("_orders", "_reports", "checks", "engines", "heard")

    def __init__(self, session: H100KeySchedule, engines: CopyEngines, checks: Checks) -> None:
        self._orders = Sealed(session.key(ORDERS_LABEL))
        self._reports = Sealed(session.key(REPORTS_LABEL))
        self.engines = engines
        engines.ledger.own.update(orders=self._orders.usage, reports=self._reports.usage)
        self.checks = checks
        self.heard: dict[int, int] = {}

    def open(self, sealed: bytes) -> tuple[Place, Order]:
        """Return an order and its place.

        Raises:
            AuthenticationError: it was not made inside the session, or for another place.
            MalformedError: it is no order.
        """
        place, message = self.checks.verify(
            "session-orders", "REQ-SESSION-01", lambda: self._orders.open(sealed), saw=sealed, sender=lambda _: OWNER
        )
        return place, parse_order(message)

    def take(self, place: Place, order: Order) -> None:
        """Insist that an order is the next one of a live epoch, and count it; a rotation begins an epoch.

        Raises:
            ProtocolError: it is another one, or of another epoch.
        """
        begins = isinstance(order, Rotate)
        if not begins and place.epoch not in self.engines.live_epochs:
            raise ProtocolError(f"{place}, which is not live (REQ-SESSION-02)")
        due = 0 if begins else self.heard.get(place.epoch, 0)
        told = f"{place}, and number {due} has to come next"
        saw = (place.epoch, place.number, due)
        self.checks.require("session-sequence", "REQ-SESSION-02", place.number == due, saw=saw, otherwise=told)
        self.heard[place.epoch] = place.number + 1

    def submitted(self, order: bytes) -> tuple[Place, Order]:
        """Return an order that did not come inside the session, and the place that it takes.

        Raises:
            MalformedError: it is no order.
            ProtocolError: orders come inside the session, and nowhere else.
        """
        told = "an order came through the link"
        self.checks.require("session-orders", "REQ-SESSION-01", False, saw=order, otherwise=told)
        epoch = max(self.engines.live_epochs)
        return Place(epoch, self.heard.get(epoch, 0)), parse_order(order)

    def copied_home(self, data: bytes) -> bytes:
        """Return what the live engine makes of bytes that code on the GPU has it send home; code needs no key for it.

        Raises:
            KeysError: the key has protected as much as it may, or has no IV left.
        """
        return self.engines.seal(encode_reply(Sent(data))).ciphertext

    @enforces("REQ-SESSION-03", "session-acknowledgements")
    def report(self, place: Place, report: Report) -> tuple[FrameKind, bytes]:
        """Return a report on an order, sealed in the session, and the path that it takes."""
        return FrameKind.SESSION, self._reports.seal(place, encode(report))
