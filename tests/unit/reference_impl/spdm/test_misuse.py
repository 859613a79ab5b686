"""What is reordered, replayed, truncated, altered or downgraded ends a session with a typed error."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError
from carnet_ref.spdm import machine, messages, profile, secured
from carnet_ref.spdm import requester as requester_module
from carnet_ref.spdm import responder as responder_module
from carnet_ref.spdm.endpoints import Requester, Responder
from carnet_ref.spdm.errors import (
    DowngradeError,
    PeerError,
    PskRefusedError,
    SequenceError,
    TransferError,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.messages import (
    Algorithms,
    Capabilities,
    Certificate,
    ChunkSend,
    DeliverEncapsulatedResponse,
    Digests,
    EncapsulatedRequest,
    EncapsulatedResponseAck,
    Error,
    Finish,
    GetCapabilities,
    HeartbeatAck,
    KeyExchange,
    KeyExchangeRsp,
    KeyUpdate,
    KeyUpdateAck,
    NegotiateAlgorithms,
    NotReady,
    PskExchange,
    PskExchangeRsp,
    PskFinish,
    UpdateOperation,
    VersionList,
    parse_message,
)
from carnet_ref.spdm.profile import CURRENT, H100, H100_DEVICE, Capability, Profile
from carnet_ref.spdm.secured import check_selected, offered_versions, selected_version
from carnet_ref.wire import MalformedError
from tests.fixtures import spdm


def psk_messages() -> list[bytes]:
    version = Version.V1_2
    made = (
        PskExchange(version, 0, 1, b"hint", bytes(32), b""),
        PskExchangeRsp(version, 0, 1, b"", bytes(32), b"", bytes(48)),
        PskFinish(version, verify_data=bytes(48)),
        Error(version, 1),
    )
    return [b"\x05" + message.encode() for message in made]


PLACES = [(name, position) for name in spdm.CONVERSATIONS for position in range(len(spdm.trace(name)))]


@cache
def awaited_codes() -> dict[type[machine.SessionState], set[int]]:
    """Return which messages in the clear each kind of state awaited, in any conversation."""
    codes: dict[type[machine.SessionState], set[int]] = {}
    for name in spdm.CONVERSATIONS:
        for state, message in spdm.trace(name):
            if message[:1] == b"\x05":
                codes.setdefault(type(state), {Error.CODE, ChunkSend.CODE}).add(message[2])
    return codes


@cache
def corpus() -> tuple[bytes, ...]:
    """Return a message of each kind in each conversation, twice, and some of none."""
    recorded: dict[tuple[str, bytes, int], bytes] = {}
    for seed in ("", " other"):
        for name in spdm.CONVERSATIONS:
            for _, message in spdm.trace(name, seed):
                recorded.setdefault((seed, message[:4], len(message)), message)
    return (*recorded.values(), *psk_messages(), b"", b"\x05", b"\x06", b"\x07" * 40)


@contextmanager
def unchanged(state: machine.SessionState) -> Iterator[None]:
    """Require that a state is as before, whatever it was given meanwhile."""
    before = repr(state)
    yield
    assert repr(state) == before


def ending(state: machine.SessionState, message: bytes) -> Exception | None:
    """Return the error that a message ended a session with, or nothing if the session goes on."""
    after, effects = state.handle(machine.Received(message))
    closed = [effect.error for effect in effects if isinstance(effect, machine.Closed)]
    assert bool(closed) == isinstance(after, machine.Ended)
    return closed[0] if closed else None


def acceptable(state: machine.MessageState, awaited: bytes, message: bytes) -> bool:
    """Whether a message may go on in a state, as far as its kind tells."""
    if message[:1] != b"\x05" or isinstance(state, machine.SecuredState):
        return message == awaited
    return message[2] in awaited_codes()[type(state)]


def test_the_conversations_visit_every_state_that_awaits_the_peer() -> None:
    names = (*vars(requester_module), *vars(responder_module))
    states = {name for name in names if name.startswith("Await")} | {"Established"}
    visited = {type(state).__name__ for name in spdm.CONVERSATIONS for state, _ in spdm.trace(name)}
    assert states - visited == {"AwaitBegin", "AwaitOpenSession"}


@pytest.mark.parametrize(("name", "position"), PLACES)
def test_every_message_in_every_state_is_the_awaited_one_or_ends_the_session(name: str, position: int) -> None:
    state, awaited = spdm.trace(name)[position]
    assert isinstance(state, machine.MessageState)
    with unchanged(state):
        for message in corpus():
            error = ending(state, message)
            if error is None:
                assert acceptable(state, awaited, message), message[:4].hex()
            else:
                assert isinstance(error, machine.REFUSALS)
                assert message != awaited


@pytest.mark.parametrize(("name", "position"), PLACES)
def test_every_truncation_is_malformed_and_so_is_every_appended_byte(name: str, position: int) -> None:
    state, awaited = spdm.trace(name)[position]
    sizes = range(0, len(awaited), 7)
    typed = MalformedError | UnexpectedMessageError | SequenceError | TransferError
    with unchanged(state):
        for message in (*(awaited[:size] for size in sizes), awaited + b"\0"):
            assert isinstance(ending(state, message), typed)


@given(st.sampled_from(PLACES), st.binary(max_size=200))
def test_any_bytes_in_any_state_end_the_session_with_a_typed_error(place: tuple[str, int], data: bytes) -> None:
    state, awaited = spdm.trace(place[0])[place[1]]
    assert isinstance(state, machine.MessageState)
    with unchanged(state):
        assert ending(state, data) is not None or acceptable(state, awaited, data)


def meddle(
    kind: type[Message], alter: Callable[[Message], Message | bytes], asking: Profile, answering: Profile
) -> Exception:
    """Run a handshake in which a message of one kind is altered on its way; return the first error."""
    ours, theirs = spdm.requester(asking), spdm.responder(answering)
    under_way: deque[tuple[Requester | Responder, machine.SessionEvent]] = deque([(ours, machine.Begin())])
    while under_way:
        end, event = under_way.popleft()
        if isinstance(event, machine.Received) and event.data[0] == 5 and event.data[2] == kind.CODE:
            layout = Layout(Version(max(event.data[1], Version.V1_1)))
            altered = alter(parse_message(event.data[1:], layout))
            event = machine.Received(b"\x05" + altered.encode() if isinstance(altered, Message) else altered)
        for effect in end.handle(event):
            if isinstance(effect, machine.Closed):
                assert effect.error is not None
                return effect.error
            if isinstance(effect, machine.Send):
                under_way.append((theirs if end is ours else ours, machine.Received(effect.data)))
    raise AssertionError("nothing was refused")


def set_(**fields: object) -> Callable[[Message], Message]:
    return lambda message: replace(message, **fields)  # type: ignore[arg-type]


def drop_flag(flag: Capability) -> Callable[[Message], Message]:
    def alter(message: Message) -> Message:
        assert isinstance(message, Capabilities | GetCapabilities)
        return replace(message, flags=message.flags & ~flag)

    return alter


def add_flag(flag: Capability) -> Callable[[Message], Message]:
    def alter(message: Message) -> Message:
        assert isinstance(message, Capabilities | GetCapabilities)
        return replace(message, flags=message.flags | flag)

    return alter


def twisted(field: str) -> Callable[[Message], Message]:
    def alter(message: Message) -> Message:
        value = getattr(message, field)
        return replace(message, **{field: value[:-1] + bytes([value[-1] ^ 1])})

    return alter


V1_1_ONLY = VersionList(Version.V1_0, (0x1100,))
ROWS = {
    "versions narrowed to 1.1, which the profile accepts": (
        VersionList,
        lambda _: V1_1_ONLY,
        H100,
        AuthenticationError,
    ),
    "versions narrowed to 1.1, which the profile refuses": (VersionList, lambda _: V1_1_ONLY, CURRENT, DowngradeError),
    "no version at all": (VersionList, set_(entries=()), H100, DowngradeError),
    "only an alpha version": (VersionList, set_(entries=(0x1101, 0x1201)), H100, DowngradeError),
    "the requester's version lowered": (
        GetCapabilities,
        lambda _: GetCapabilities(Version.V1_1, 0, 0x62C2),
        H100,
        MalformedError,
    ),
    "no encryption": (Capabilities, drop_flag(Capability.ENCRYPT), H100, DowngradeError),
    "no key exchange": (Capabilities, drop_flag(Capability.KEY_EX), H100, DowngradeError),
    "no signed measurements": (Capabilities, drop_flag(Capability.MEAS_SIGNED), H100, DowngradeError),
    "a requester without encryption": (GetCapabilities, drop_flag(Capability.ENCRYPT), H100, DowngradeError),
    "a responder able to use PSK": (Capabilities, add_flag(Capability.PSK), H100, PskRefusedError),
    "an unasked capability added": (Capabilities, add_flag(Capability.CHAL), H100, AuthenticationError),
    "transfers too small": (Capabilities, set_(transfer_size=41), H100, DowngradeError),
    "another signature algorithm": (Algorithms, set_(base_asymmetric=0x10), H100, DowngradeError),
    "another hash": (Algorithms, set_(base_hash=1), H100, DowngradeError),
    "no AEAD": (Algorithms, lambda m: replace(m, tables=m.tables[:1] + m.tables[2:]), H100, DowngradeError),
    "a suite without P-384 offered": (NegotiateAlgorithms, set_(base_asymmetric=0x10), H100, DowngradeError),
    "no DHE group offered": (NegotiateAlgorithms, lambda m: replace(m, tables=m.tables[1:]), H100, DowngradeError),
    "another chain's digest": (Digests, set_(digests=(bytes(48),)), H100, UntrustedChainError),
    "no chain in the slot": (Digests, set_(slots=2), H100, UntrustedChainError),
    "a chain in a slot that is not supported": (Digests, set_(supported=2), CURRENT, UntrustedChainError),
    "a chain where no slot is supported": (Digests, set_(supported=0), CURRENT, UntrustedChainError),
    "a chosen post-quantum algorithm": (Algorithms, set_(post_quantum=1), CURRENT, DowngradeError),
    "a chain with a changed signature": (Certificate, twisted("portion"), H100, UntrustedChainError),
    "an endless chain": (Certificate, set_(portion=b"", remainder=9), H100, UntrustedChainError),
    "a portion larger than was asked for": (Certificate, set_(portion=bytes(0x1000)), H100, UntrustedChainError),
    "a chain larger than its offsets": (Certificate, set_(remainder=0xFFFF), H100, UntrustedChainError),
    "a portion of another slot": (Certificate, set_(slot=1), H100, UntrustedChainError),
    "another requester share": (KeyExchange, twisted("exchange"), H100, KeyMaterialError),
    "another requester random": (KeyExchange, twisted("random"), H100, AuthenticationError),
    "a measurement summary asked for": (KeyExchange, set_(summary=0xFF), H100, MalformedError),
    "another responder random": (KeyExchangeRsp, twisted("random"), H100, AuthenticationError),
    "another responder share": (KeyExchangeRsp, twisted("exchange"), H100, AuthenticationError),
    "another signature": (KeyExchangeRsp, twisted("signature"), H100, AuthenticationError),
    "another verify data": (KeyExchangeRsp, twisted("verify_data"), H100, AuthenticationError),
    "another session id": (KeyExchangeRsp, set_(session=1), H100, AuthenticationError),
    "mutual authentication asked for": (KeyExchangeRsp, set_(mutual=1), H100, AuthenticationError),
    "PSK_EXCHANGE for KEY_EXCHANGE": (KeyExchange, lambda _: psk_messages()[0], H100, PskRefusedError),
    "PSK_EXCHANGE_RSP for KEY_EXCHANGE_RSP": (KeyExchangeRsp, lambda _: psk_messages()[1], H100, PskRefusedError),
    "PSK_FINISH for KEY_EXCHANGE": (KeyExchange, lambda _: psk_messages()[2], H100, PskRefusedError),
    "an error of the peer": (Algorithms, lambda _: psk_messages()[3], H100, PeerError),
    "a finish outside the session": (
        KeyExchange,
        lambda _: Finish(Version.V1_2, 0, b"", bytes(48)),
        H100,
        UnexpectedMessageError,
    ),
}


@pytest.mark.mends("E1")
@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_meddled_handshake_is_refused(row: str) -> None:
    kind, alter, asking, error = ROWS[row]
    found = meddle(kind, alter, asking, H100 if asking is H100 else CURRENT)
    assert type(found) is error, found


def test_the_requester_itself_refuses_another_verify_data() -> None:
    found = meddle(KeyExchangeRsp, twisted("verify_data"), H100, H100)
    assert isinstance(found, AuthenticationError)
    assert found.what == "ResponderVerifyData"


def responding(**changes: Any) -> Responder:
    """Return a responder that differs from an honest one in some of its settings."""
    state: Any = spdm.responder().state
    return Responder(replace(state.config, **changes))


def refusals(ours: Requester, theirs: Responder) -> list[Exception | None]:
    """Run a handshake that opens no session, and return why either end closed it."""
    effects = spdm.deliver(ours, machine.Begin(), theirs)
    assert not any(isinstance(effect, machine.Opened) for effect in effects)
    return [effect.error for effect in effects if isinstance(effect, machine.Closed)]


DEVICES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "another key than its certificate's": ({"key": spdm.key(9)}, AuthenticationError, ""),
    "a key of another curve": (
        {"certificates": (*spdm.chain()[:2], spdm.of_p256())},
        UntrustedChainError,
        "no P-384 key",
    ),
    "another root": ({"certificates": spdm.chain()[1:]}, UntrustedChainError, ""),
}


@pytest.mark.parametrize("what", DEVICES)
def test_a_device_with_another_key_curve_or_root_than_its_certificates_is_refused(what: str) -> None:
    changes, error, said = DEVICES[what]
    first, *_ = refusals(spdm.requester(), responding(**changes))
    assert isinstance(first, error)
    assert said in str(first)
    with pytest.raises(UntrustedChainError):
        spdm.trust(spdm.chain()[1:])


class Twisted(Finish):
    def encode(self) -> bytes:
        return Finish.encode(self)[:-1] + bytes([self.verify_data[-1] ^ 1])


def signing(version: Version, slot: int, signature: bytes, verify_data: bytes) -> Finish:
    return Finish(version, slot, signature or bytes(384), verify_data)


DISHONEST: dict[str, tuple[str, Any, type[Exception]]] = {
    "a device that asks for mutual authentication": (
        "responder.KeyExchangeRsp",
        lambda *fields: replace(KeyExchangeRsp(*fields), mutual=1),
        UnexpectedMessageError,
    ),
    "a device that selects records of another version": (
        "responder.selected_version",
        lambda version, offered: secured.selected_version(version, offered).replace(b"\x00\x12", b"\x00\x10"),
        DowngradeError,
    ),
    "a requester that proves another transcript": ("requester.Finish", Twisted, AuthenticationError),
    "a requester that signs its finish": ("requester.Finish", signing, UnexpectedMessageError),
}


@pytest.mark.parametrize("what", DISHONEST)
def test_a_dishonest_peer_is_refused(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, value, error = DISHONEST[what]
    end, _, kind = name.partition(".")
    if hasattr(messages, kind):
        spdm.saying(monkeypatch, end, **{kind: value})
    else:
        monkeypatch.setattr(f"carnet_ref.spdm.{name}", value)
    first, *_ = refusals(spdm.requester(), spdm.responder())
    assert isinstance(first, error)
    assert value is not Twisted or getattr(first, "what", "") == "RequesterVerifyData"


@pytest.mark.parametrize("operation", UpdateOperation)
def test_an_update_acknowledged_with_another_tag_ends_the_session(
    operation: UpdateOperation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acknowledging(version: Version, asked: UpdateOperation, tag: int) -> KeyUpdateAck:
        return KeyUpdateAck(version, asked, tag ^ (asked is operation))

    ours, theirs = spdm.established()
    spdm.saying(monkeypatch, "responder", KeyUpdateAck=acknowledging)
    closed = [
        effect for effect in spdm.deliver(ours, machine.UpdateKeys(), theirs) if isinstance(effect, machine.Closed)
    ]
    assert bool(closed) is (operation is not UpdateOperation.UPDATE_KEY)
    assert all(isinstance(effect.error, UnexpectedMessageError) for effect in closed)


def test_only_the_end_of_a_handshake_opens_a_session_and_only_measurements_are_a_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reporter = SimpleNamespace(report=lambda asked: HeartbeatAck(Version.V1_1).encode())
    ours, theirs = spdm.requester(), responding(reporter=reporter)
    spdm.deliver(ours, machine.Begin(), theirs)
    (closed,) = spdm.deliver(ours, machine.Measure(bytes(32)), theirs)
    assert isinstance(closed, machine.Closed)
    assert isinstance(closed.error, UnexpectedMessageError)
    spdm.saying(monkeypatch, "responder", FinishRsp=HeartbeatAck)
    ours, theirs = spdm.requester(), spdm.responder()
    first, *_ = [each for each in spdm.deliver(ours, machine.Begin(), theirs) if isinstance(each, machine.Closed)]
    assert isinstance(first.error, UnexpectedMessageError)
    assert not ours.is_established


def test_the_default_device_profile_speaks_1_1_alone() -> None:
    assert H100_DEVICE.versions == (Version.V1_1,)
    with pytest.raises(DowngradeError):
        CURRENT.choose(H100_DEVICE.version_list())


V = Version.V1_2


def altered(place: int, value: int) -> bytes:
    raw = bytearray(profile.CURRENT.negotiate(V).encode())
    raw[place] = value
    return bytes(raw)


ACK = bytes([V, EncapsulatedResponseAck.CODE])
MALFORMED: dict[str, tuple[bytes, str]] = {
    "ENCAPSULATED_REQUEST without one": (bytes([V, EncapsulatedRequest.CODE, 1, 0]), "an encapsulated message"),
    "DELIVER_ENCAPSULATED_RESPONSE without one": (
        bytes([V, DeliverEncapsulatedResponse.CODE, 1, 0]),
        "an encapsulated message",
    ),
    "an acknowledgement of no kind": (ACK + bytes([0, 3]) + bytes(4), "a kind of payload"),
    "an acknowledgement without a payload that has one": (ACK + bytes([0, 0]) + bytes(5), "a payload of its kind"),
    "an acknowledgement with half a slot": (ACK + bytes([0, 2]) + bytes(4), "a payload of its kind"),
    "an acknowledgement with two slots": (ACK + bytes([0, 2]) + bytes(6), "a payload of its kind"),
    "an acknowledgement that does not say of what": (ACK + bytes([0, 0]), "acknowledged request id"),
    "an ERROR that says too much": (bytes([V, Error.CODE, 1, 0]) + bytes(33), "32 bytes at most"),
    "an update of no kind": (bytes([V, KeyUpdate.CODE, 0, 0]), "an update operation"),
    "a piece that is shorter than it says": (ChunkSend(V, 0, 1, False, bytes(40)).encode()[:-1], "40 bytes of chunk"),
    "a first piece that does not say how long the whole is": (
        ChunkSend(V, 0, 0, False, b"").encode(),
        "size of the large message",
    ),
    "algorithms that are shorter than they say": (altered(4, 49), "a length of 48"),
    "external signature algorithms": (altered(28, 1), "no external asymmetric algorithms"),
    "external hash algorithms": (altered(29, 1), "no external hash algorithms"),
    "a table of algorithms in three bytes": (altered(33, 0x30), "two bytes of algorithms"),
    "a message of no code": (bytes([V, 0x40, 0, 0]), "a known code"),
}


@pytest.mark.parametrize("row", sorted(MALFORMED))
def test_a_message_is_malformed(row: str) -> None:
    data, expected = MALFORMED[row]
    with pytest.raises(MalformedError, match=expected):
        parse_message(data, Layout(V))


@pytest.mark.parametrize("size", [0, 3, 5])
def test_when_a_response_is_ready_is_said_in_four_bytes(size: int) -> None:
    with pytest.raises(MalformedError, match="four bytes"):
        NotReady.of(Error(V, 0x42, extended=bytes(size)))


def test_post_quantum_algorithms_are_reserved_bytes_before_1_4() -> None:
    for version, found in ((V, 0), (Version.V1_4, 5)):
        raw = bytearray(profile.CURRENT.negotiate(version).encode())
        raw[16] = 5
        message = parse_message(bytes(raw), Layout(version))
        assert isinstance(message, NegotiateAlgorithms)
        assert message.post_quantum == found


NEW = Version.V1_2
OFFERED = offered_versions(NEW)
SELECTED = selected_version(NEW, OFFERED)


def longer(opaque: bytes) -> bytes:
    """Return the same opaque data, the one element of which has a word more."""
    head, rest = opaque[:6], opaque[8:]
    size = int.from_bytes(opaque[6:8], "little")
    return head + (size + 4).to_bytes(2, "little") + rest[:size] + bytes(4) + rest[size:]


def test_nothing_may_follow_the_elements_of_opaque_data_nor_anything_within_one() -> None:
    check_selected(NEW, SELECTED)
    with pytest.raises(MalformedError, match="opaque data"):
        selected_version(NEW, OFFERED + bytes(4))
    with pytest.raises(MalformedError, match="opaque data"):
        check_selected(NEW, SELECTED + bytes(4))
    with pytest.raises(MalformedError, match="secured message versions"):
        selected_version(NEW, longer(OFFERED))
    with pytest.raises(MalformedError, match="secured message selection"):
        check_selected(NEW, longer(SELECTED))
