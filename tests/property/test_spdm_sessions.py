"""Whatever the network does to a session, what arrives is a beginning of what was sent, in order, and no more."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from carnet_ref.spdm import H100, Requester, Responder
from carnet_ref.spdm.machine import (
    REFUSALS,
    ApplicationData,
    Begin,
    Closed,
    Ended,
    Measure,
    Measured,
    Received,
    Send,
    UpdateKeys,
)
from carnet_ref.spdm.requester import Established
from tests.fixtures.spdm_ends import deliver, requester, responder

FORWARD, BACK = "to the device", "to the orchestrator"


class Network(RuleBasedStateMachine):
    """An open session whose every message the network carries, keeps, repeats, changes or drops."""

    recorded = Bundle("recorded")

    @initialize()
    def open(self) -> None:
        """Open a session undisturbed."""
        self.ends: dict[str, Requester | Responder] = {FORWARD: responder(H100), BACK: requester(H100)}
        deliver(self.ends[BACK], Begin(), self.ends[FORWARD])
        self.wire: dict[str, list[bytes]] = {FORWARD: [], BACK: []}
        self.sent: dict[str, list[bytes]] = {FORWARD: [], BACK: []}
        self.arrived: dict[str, list[bytes]] = {FORWARD: [], BACK: []}
        self.nonces: list[bytes] = []
        self.reports: list[bytes] = []
        self.dead: set[str] = set()

    def _sender(self, way: str) -> Requester | Responder:
        return self.ends[BACK if way == FORWARD else FORWARD]

    def _receive(self, way: str, message: bytes) -> None:
        end = self.ends[way]
        if isinstance(end.state, Ended):
            return
        for effect in end.handle(Received(message)):
            match effect:
                case Send(data):
                    self.wire[BACK if way == FORWARD else FORWARD].append(data)
                case ApplicationData(payload):
                    self.arrived[way].append(payload)
                case Measured(report):
                    self.reports.append(report.nonce)
                case Closed(error):
                    assert isinstance(error, REFUSALS)
                    self.dead.add(way)
                case _:
                    pass

    @rule(way=st.sampled_from([FORWARD, BACK]), payload=st.binary(max_size=8), target=recorded)
    def send(self, way: str, payload: bytes) -> bytes:
        """Send bytes of the application's own, if the end is able to."""
        sender = self._sender(way)
        if not getattr(sender.state, "carries_applications", False):
            return b""
        record = sender.seal(payload)
        self.sent[way].append(payload)
        self.wire[way].append(record)
        return record

    @precondition(lambda self: isinstance(self.ends[BACK].state, Established))
    @rule(nonce=st.binary(min_size=32, max_size=32))
    def measure(self, nonce: bytes) -> None:
        """Ask for a report."""
        self.nonces.append(nonce)
        self.wire[FORWARD] += [
            effect.data for effect in self.ends[BACK].handle(Measure(nonce)) if isinstance(effect, Send)
        ]

    @precondition(lambda self: isinstance(self.ends[BACK].state, Established))
    @rule(both=st.booleans())
    def update(self, both: bool) -> None:
        """Update the keys."""
        self.wire[FORWARD] += [
            effect.data for effect in self.ends[BACK].handle(UpdateKeys(both)) if isinstance(effect, Send)
        ]

    @rule(way=st.sampled_from([FORWARD, BACK]))
    def carry(self, way: str) -> None:
        """Carry the oldest message."""
        if self.wire[way]:
            self._receive(way, self.wire[way].pop(0))

    @rule(way=st.sampled_from([FORWARD, BACK]), place=st.integers(0, 5))
    def carry_out_of_order(self, way: str, place: int) -> None:
        """Carry another message than the oldest."""
        if place < len(self.wire[way]):
            self._receive(way, self.wire[way].pop(place))

    @rule(way=st.sampled_from([FORWARD, BACK]), message=recorded)
    def repeat(self, way: str, message: bytes) -> None:
        """Carry a recorded message, in either direction."""
        if message not in self.wire[way]:
            self._receive(way, message)

    @rule(way=st.sampled_from([FORWARD, BACK]), bit=st.integers(0, 400))
    def change(self, way: str, bit: int) -> None:
        """Flip a bit of the oldest message."""
        if self.wire[way]:
            message = bytearray(self.wire[way].pop(0))
            message[bit // 8 % len(message)] ^= 1 << bit % 8
            self._receive(way, bytes(message))
            assert way in self.dead or isinstance(self.ends[way].state, Ended)

    @invariant()
    def what_arrives_is_a_beginning_of_what_was_sent(self) -> None:
        """Nothing is lost in the middle, repeated, reordered or made up."""
        for way in (FORWARD, BACK):
            assert self.arrived[way] == self.sent[way][: len(self.arrived[way])]
        assert self.reports == self.nonces[: len(self.reports)]

    @invariant()
    def a_dead_end_stays_dead(self) -> None:
        """An end that refused once is over."""
        assert all(isinstance(self.ends[way].state, Ended) for way in self.dead)


TestNetwork = Network.TestCase
TestNetwork.settings = settings(max_examples=60, stateful_step_count=25)
