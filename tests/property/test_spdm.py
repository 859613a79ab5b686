"""SPDM: messages are read back as written, sessions agree, and tampering ends them."""

from __future__ import annotations

import dataclasses
import random
import typing
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import GenericAlias
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from carnet_ref.spdm import machine, secured
from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.errors import DowngradeError, SpdmError
from carnet_ref.spdm.layout import MESSAGES, Layout, Message, Version
from carnet_ref.spdm.messages import (
    Algorithms,
    AlgorithmTable,
    ChunkResponse,
    ChunkSend,
    ChunkSendAck,
    DeliverEncapsulatedResponse,
    Digests,
    EncapsulatedRequest,
    EncapsulatedResponseAck,
    Error,
    Finish,
    FinishRsp,
    GetVersion,
    NegotiateAlgorithms,
    Payload,
    PskFinish,
    PskFinishRsp,
    SlotKey,
    UpdateOperation,
    VersionList,
    parse_message,
)
from carnet_ref.spdm.profile import H100
from carnet_ref.spdm.requester import Established
from carnet_ref.spdm.secured import DirectionSecret, RecordKeys, SecuredRecord
from carnet_ref.spdm.session import Chain, GpuSession, encode_chain
from carnet_ref.wire import MalformedError
from tests.fixtures.spdm import CONVERSATIONS, carry, chain, deliver, requester, responder, trace

SIZES = {
    "nonce": 32,
    "random": 32,
    "exchange": 96,
    "signature": 96,
    "verify_data": 48,
    "chain_hash": 48,
    "context": 8,
    "summary": 48,
}
SHORT = {"policy", "mutual", "requester_slot", "measurement_specification", "other_parameters", "mel_specification"}
LONG = {"post_quantum", "flags", "transfer_size", "message_size", "base_asymmetric", "base_hash", "measurement_hash"}
SPOKEN = [Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4]
layouts = st.builds(
    Layout,
    st.sampled_from(SPOKEN),
    summary=st.booleans(),
    signed=st.booleans(),
    clear=st.booleans(),
    multi_key=st.booleans(),
)


def field_values(name: str, kind: object, of: type[Message]) -> st.SearchStrategy[Any]:
    if kind is bytes and name == "signature" and of is Finish:
        return st.sampled_from([b"", bytes(384)])
    if kind is bytes:
        return st.binary(min_size=SIZES[name], max_size=SIZES[name]) if name in SIZES else st.binary(max_size=20)
    if kind is int:
        wide = name in {"session", "offset", "length", "remainder", "usage", "algorithms"}
        return st.integers(0, 2**32 - 1 if name in LONG else 2**16 - 1 if wide else 255)
    if kind in (UpdateOperation, Payload):
        return st.sampled_from(kind)
    if kind is bool:
        return st.booleans()
    if kind == int | None:
        return st.integers(0, 2**32 - 1)
    items: dict[object, st.SearchStrategy[Any]] = {
        tuple[int, ...]: st.integers(0, 2**16 - 1),
        tuple[bytes, ...]: st.binary(min_size=48, max_size=48),
        tuple[AlgorithmTable, ...]: st.builds(AlgorithmTable, st.integers(0, 255), st.integers(0, 2**16 - 1)),
        tuple[SlotKey, ...]: st.builds(SlotKey, st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**16 - 1)),
    }
    assert isinstance(kind, GenericAlias)
    return st.lists(items[kind], max_size=4).map(tuple)


@st.composite
def messages(draw: Callable[[st.SearchStrategy[Any]], Any], kind: type[Message]) -> tuple[Message, Layout]:
    """Return a message with the layout under which it is read."""
    layout = draw(layouts)
    hints = typing.get_type_hints(kind)
    values = {
        field.name: draw(field_values(field.name, hints[field.name], kind))
        for field in dataclasses.fields(kind)
        if field.name != "version"
    }
    version = Version.V1_0 if kind in (GetVersion, VersionList) else layout.version
    return _consistent(kind(version, **values), layout), layout


def _consistent(message: Message, layout: Layout) -> Message:
    """Leave out what the layout, the version or another field says is not there."""
    empty: dict[str, Any] = {}
    names = {field.name for field in dataclasses.fields(message)}
    kind = type(message).__name__
    if layout.version < Version.V1_3 and not kind.startswith("Psk"):
        empty |= dict.fromkeys(names & {"context"}, b"")
    if layout.version < Version.V1_2:
        empty |= dict.fromkeys(names & {"transfer_size", "message_size"}, 0)
    if not layout.summary and kind in {"ChallengeAuth", "KeyExchangeRsp", "PskExchangeRsp"}:
        empty["summary"] = b""
    if (layout.clear and kind == "KeyExchangeRsp") or (not layout.clear and kind == "FinishRsp"):
        empty["verify_data"] = b""
    if not layout.signed and kind == "Measurements":
        empty["signature"] = b""
    empty |= _of_version(message, layout, names)
    if kind == "GetMeasurements" and not getattr(message, "attributes") & 1:  # noqa: B009 # no field of every message
        empty |= {"nonce": b"", "slot": 0}
    message = dataclasses.replace(message, **empty)
    return _slots(message, layout) if isinstance(message, Digests) else message


def _of_version(message: Message, layout: Layout, names: set[str]) -> dict[str, Any]:
    """Return the fields that newer messages have only in some versions, or beside some others."""
    if isinstance(message, NegotiateAlgorithms | Algorithms):
        return {"post_quantum": 0} if layout.version < Version.V1_4 else {}
    if isinstance(message, Finish | FinishRsp | PskFinish | PskFinishRsp):
        return {"opaque": b""} if layout.version < Version.V1_4 else {}
    if isinstance(message, ChunkSend | ChunkResponse):
        return {"whole_size": None} if message.sequence else {}
    if isinstance(message, EncapsulatedResponseAck):
        payload = {Payload.ABSENT: b"", Payload.SLOT: message.payload[:1] or b"\0"}
        named = {"acknowledged": 0} if layout.version < Version.V1_2 else {}
        return {"payload": payload.get(message.kind, message.payload), **named}
    return {"carried": getattr(message, "carried", b"") or b"\0"} if "carried" in names else {}


def _slots(message: Digests, layout: Layout) -> Digests:
    count = message.slots.bit_count()
    keys = tuple(SlotKey(index, 1, 7) for index in range(count)) if layout.multi_key else ()
    return dataclasses.replace(message, digests=tuple(bytes([index]) * 48 for index in range(count)), keys=keys)


#: Messages whose last field goes on to the end of the message.
TO_THE_END = {
    Error,
    EncapsulatedRequest,
    DeliverEncapsulatedResponse,
    EncapsulatedResponseAck,
    ChunkSendAck,
}


@pytest.mark.parametrize("kind", MESSAGES.values(), ids=lambda kind: kind.__name__)
def test_a_message_is_read_back_as_it_was_written(kind: type[Message]) -> None:
    @settings(max_examples=40)
    @given(messages(kind))
    def check(drawn: tuple[Message, Layout]) -> None:
        message, layout = drawn
        assert parse_message(message.encode(), layout) == message
        if kind not in TO_THE_END:
            with pytest.raises(MalformedError):
                parse_message(message.encode() + b"\0", layout)

    check()


@given(layouts, st.binary(max_size=400))
def test_any_bytes_are_a_message_or_malformed(layout: Layout, data: bytes) -> None:
    try:
        message = parse_message(data, layout)
    except MalformedError:
        return
    assert parse_message(message.encode(), layout) == message


CODES = st.sampled_from(sorted(MESSAGES))


@given(layouts, CODES, st.binary(max_size=300))
def test_any_body_of_a_known_code_is_a_message_or_malformed(layout: Layout, code: int, body: bytes) -> None:
    version = Version.V1_0 if code in (GetVersion.CODE, VersionList.CODE) else layout.version
    test_any_bytes_are_a_message_or_malformed.hypothesis.inner_test(  # type: ignore[attr-defined]  # Hypothesis adds it
        layout, bytes([version, code]) + body
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_malformed(data: bytes) -> None:
    for candidate in (data, b"\x06" + data):
        try:
            assert SecuredRecord.parse(candidate).encode() == candidate
        except MalformedError:
            continue


@given(st.sampled_from(SPOKEN), st.binary(max_size=60), st.data())
def test_any_opaque_data_is_answered_or_refused(version: Version, data: bytes, draw: st.DataObject) -> None:
    offered = secured.offered_versions(version)
    place = draw.draw(st.integers(0, len(offered) - 1))
    for candidate in (data, offered[:place] + data[:1] + offered[place + 1 :]):
        try:
            secured.check_selected(version, secured.selected_version(version, candidate))
        except (MalformedError, DowngradeError):
            continue


def test_what_is_offered_is_selected() -> None:
    for version in SPOKEN:
        secured.check_selected(version, secured.selected_version(version, secured.offered_versions(version)))


def test_a_chain_is_read_back_as_it_was_written() -> None:
    assert Chain.parse(encode_chain(chain())).certificates == chain()


@given(st.integers(4, 51), st.integers(1, 255))
def test_a_chain_that_names_another_root_is_malformed(place: int, change: int) -> None:
    data = bytearray(encode_chain(chain()))
    data[place] ^= change
    with pytest.raises(MalformedError, match="the root it names"):
        Chain.parse(bytes(data))


@given(st.integers(0, len(encode_chain(chain())) - 1), st.integers(1, 255))
def test_a_changed_chain_is_another_chain_or_malformed(place: int, change: int) -> None:
    data = bytearray(encode_chain(chain()))
    data[place] ^= change
    try:
        found = Chain.parse(bytes(data))
    except MalformedError:
        return
    assert found.digest != Chain.parse(encode_chain(chain())).digest


@given(st.binary(max_size=300), st.binary(max_size=20), st.integers(0, 0xFFFF), st.integers(0, 2**32 - 1))
def test_a_record_carries_what_was_sealed(payload: bytes, padding: bytes, sequence: int, session: int) -> None:
    keys = RecordKeys(session, DirectionSecret(Version.V1_2, bytes(48)), sequence)
    after, data = keys.seal(0x7E, payload, padding)
    opened, kind, found = keys.open(SecuredRecord.parse(data))
    assert (kind, found, opened) == (0x7E, payload, after)


def test_a_direction_ends_with_its_sequence_numbers() -> None:
    keys = RecordKeys(1, DirectionSecret(Version.V1_2, bytes(48)), 0x10000)
    with pytest.raises(SpdmError):
        keys.seal(5, b"")


# -- whatever the network does to a session --------------------------------------------------------------


FORWARD, BACK = "to the device", "to the orchestrator"


class Network(RuleBasedStateMachine):
    """An open session whose every message the network carries, keeps, repeats, changes or drops."""

    recorded = Bundle("recorded")

    @initialize()
    def open(self) -> None:
        self.ends: dict[str, Requester | Responder] = {FORWARD: responder(H100), BACK: requester(H100)}
        deliver(self.ends[BACK], machine.Begin(), self.ends[FORWARD])
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
        if isinstance(end.state, machine.Ended):
            return
        for effect in end.handle(machine.Received(message)):
            match effect:
                case machine.Send(data):
                    self.wire[BACK if way == FORWARD else FORWARD].append(data)
                case machine.ApplicationData(payload):
                    self.arrived[way].append(payload)
                case machine.Measured(report):
                    self.reports.append(report.nonce)
                case machine.Closed(error):
                    assert isinstance(error, machine.REFUSALS)
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
            effect.data for effect in self.ends[BACK].handle(machine.Measure(nonce)) if isinstance(effect, machine.Send)
        ]

    @precondition(lambda self: isinstance(self.ends[BACK].state, Established))
    @rule(both=st.booleans())
    def update(self, both: bool) -> None:
        """Update the keys."""
        self.wire[FORWARD] += [
            effect.data
            for effect in self.ends[BACK].handle(machine.UpdateKeys(both))
            if isinstance(effect, machine.Send)
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
            assert way in self.dead or isinstance(self.ends[way].state, machine.Ended)

    @invariant()
    def what_arrives_is_a_beginning_of_what_was_sent(self) -> None:
        """Nothing is lost in the middle, repeated, reordered or made up."""
        for way in (FORWARD, BACK):
            assert self.arrived[way] == self.sent[way][: len(self.arrived[way])]
        assert self.reports == self.nonces[: len(self.reports)]

    @invariant()
    def a_dead_end_stays_dead(self) -> None:
        """An end that refused once is over."""
        assert all(isinstance(self.ends[way].state, machine.Ended) for way in self.dead)


TestNetwork = Network.TestCase
TestNetwork.settings = settings(max_examples=60, stateful_step_count=25)


# -- whatever bit of a conversation is flipped, the ends agree on a session or have none -----------------


@dataclass
class Seen:
    """What each end believes after a conversation: its session and the session's secret."""

    sessions: dict[int, GpuSession] = field(default_factory=dict)
    secrets: dict[int, bytes] = field(default_factory=dict)
    said: dict[int, list[bytes]] = field(default_factory=lambda: {0: [], 1: []})

    def notice(self, place: int, effect: machine.SessionEffect) -> None:
        """Keep what happened, and check what holds of it alone."""
        match effect:
            case machine.Opened(session, secret):
                self.sessions[place], self.secrets[place] = session, secret.take()
            case machine.Measured(report):
                assert report.session is self.sessions[place]
                report.check_signature(report.session.version, report.session.responder)
            case machine.MeasuredOutside(report):
                report.check_signature(report.version, report.responder)
            case machine.ApplicationData(payload):
                self.said[place].append(payload)
            case machine.Closed(error):
                assert error is None or isinstance(error, machine.REFUSALS)
            case _:
                pass


def tampered(name: str, place: int, bit: int) -> Seen:
    """Run a conversation in which one bit of one message is flipped on its way."""
    conversation, seen, count = CONVERSATIONS[name], Seen(), 0
    ends = conversation.ends("tampered")

    def flip(data: bytes, _: bool) -> bytes:
        nonlocal count
        count += 1
        if count - 1 != place:
            return data
        flipped = bytearray(data)
        flipped[bit // 8 % len(flipped)] ^= 1 << bit % 8
        return bytes(flipped)

    carry(ends, conversation.calls, flip, seen.notice)
    return seen


def agree(seen: Seen) -> bool:
    """Whether both ends have a session; if they do, it is one and the same."""
    if len(seen.sessions) < 2:
        return False
    ours, theirs = seen.sessions[0], seen.sessions[1]
    assert seen.secrets[0] == seen.secrets[1]
    assert (ours.id, ours.version, ours.transcript) == (theirs.id, theirs.version, theirs.transcript)
    assert ours.responder.digest == theirs.responder.digest
    assert (ours.requester is None) == (theirs.requester is None)
    assert ours.summary == theirs.summary
    return True


def run(sessions: int, seed: int) -> Counter[bool]:
    """Tamper with so many conversations, message after message; return how many had a session all the same."""
    draw, outcomes = random.Random(seed), Counter[bool]()
    places = [(name, place) for name in CONVERSATIONS for place in range(len(trace(name)))]
    for number in range(sessions):
        if number % len(places) == 0:
            draw.shuffle(places)
        name, place = places[number % len(places)]
        seen = tampered(name, place, draw.randrange(8 * len(trace(name)[place][1])))
        outcomes[agree(seen)] += 1
        assert seen.said[1] in ([], [b"command"])
        assert seen.said[0] in ([], [b"answer"])
    return outcomes


def test_no_flipped_bit_splits_the_ends() -> None:
    outcomes = run(400, seed=1)
    assert outcomes[True]
    assert outcomes[False]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_flipped_bit_of_5000_conversations_splits_the_ends() -> None:
    assert run(5_000, seed=2).total() == 5_000


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_an_untouched_conversation_opens_a_session_and_ends_it(name: str) -> None:
    seen = tampered(name, -1, 0)
    assert agree(seen)
    assert seen.said == {0: [b"answer"], 1: [b"command"]}
    assert isinstance(CONVERSATIONS[name].calls[-1][1], machine.End)
