"""What is reordered, replayed, truncated, altered or downgraded ends a session with the error that says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import carnet_ref.spdm.requester
import carnet_ref.spdm.responder
from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError
from carnet_ref.spdm import (
    CURRENT,
    H100,
    DowngradeError,
    PeerError,
    Profile,
    PskRefusedError,
    Requester,
    Responder,
    SequenceError,
    TransferError,
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.layout import Layout, Message, Version
from carnet_ref.spdm.machine import (
    REFUSALS,
    Begin,
    Closed,
    Conversing,
    Ended,
    Received,
    Secured,
    Send,
    SessionEvent,
    SessionState,
)
from carnet_ref.spdm.messages import (
    Algorithms,
    Capabilities,
    Certificate,
    ChunkSend,
    Digests,
    Error,
    Finish,
    GetCapabilities,
    KeyExchange,
    KeyExchangeRsp,
    NegotiateAlgorithms,
    PskExchange,
    PskExchangeRsp,
    PskFinish,
    VersionList,
    parse_message,
)
from carnet_ref.spdm.profile import Capability
from carnet_ref.wire import MalformedError
from tests.fixtures.spdm import CONVERSATIONS, requester, responder, trace

Alter = Callable[[bytes], bytes]


def psk_messages() -> list[bytes]:
    version = Version.V1_2
    made = (
        PskExchange(version, 0, 1, b"hint", bytes(32), b""),
        PskExchangeRsp(version, 0, 1, b"", bytes(32), b"", bytes(48)),
        PskFinish(version, bytes(48)),
        Error(version, 1),
    )
    return [b"\x05" + message.encode() for message in made]


PLACES = [(name, position) for name in CONVERSATIONS for position in range(len(trace(name)))]


@cache
def awaited_codes() -> dict[type[SessionState], set[int]]:
    """Return which messages in the clear each kind of state awaited, in any conversation."""
    codes: dict[type[SessionState], set[int]] = {}
    for name in CONVERSATIONS:
        for state, message in trace(name):
            if message[:1] == b"\x05":
                codes.setdefault(type(state), {Error.CODE, ChunkSend.CODE}).add(message[2])
    return codes


@cache
def corpus() -> tuple[bytes, ...]:
    """Return a message of each kind in each conversation, twice, and some of none."""
    recorded: dict[tuple[str, bytes, int], bytes] = {}
    for seed in ("", " other"):
        for name in CONVERSATIONS:
            for _, message in trace(name, seed):
                recorded.setdefault((seed, message[:4], len(message)), message)
    return (*recorded.values(), *psk_messages(), b"", b"\x05", b"\x06", b"\x07" * 40)


def ending(state: SessionState, message: bytes) -> Exception | None:
    """Return the error that a message ended a session with, or nothing if the session goes on."""
    before = repr(state)
    after, effects = state.handle(Received(message))
    assert repr(state) == before
    closed = [effect.error for effect in effects if isinstance(effect, Closed)]
    assert bool(closed) == isinstance(after, Ended)
    return closed[0] if closed else None


def acceptable(state: Conversing, awaited: bytes, message: bytes) -> bool:
    """Whether a message may go on in a state, as far as its kind tells."""
    if message[:1] != b"\x05" or isinstance(state, Secured):
        return message == awaited
    return message[2] in awaited_codes()[type(state)]


def test_the_conversations_visit_every_state_that_awaits_the_peer() -> None:
    spdm = carnet_ref.spdm
    names = (*vars(spdm.requester), *vars(spdm.responder))
    states = {name for name in names if name.startswith("Await")} | {"Established"}
    visited = {type(state).__name__ for name in CONVERSATIONS for state, _ in trace(name)}
    assert states - visited == {"AwaitBegin", "AwaitOpenSession"}


@pytest.mark.parametrize(("name", "position"), PLACES)
def test_every_message_in_every_state_is_the_awaited_one_or_ends_the_session(name: str, position: int) -> None:
    state, awaited = trace(name)[position]
    assert isinstance(state, Conversing)
    for message in corpus():
        error = ending(state, message)
        if error is None:
            assert acceptable(state, awaited, message), message[:4].hex()
        else:
            assert isinstance(error, REFUSALS)
            assert message != awaited


@pytest.mark.parametrize(("name", "position"), PLACES)
def test_every_truncation_is_malformed_and_so_is_every_appended_byte(name: str, position: int) -> None:
    state, awaited = trace(name)[position]
    sizes = range(0, len(awaited), 7)
    typed = MalformedError | UnexpectedMessageError | SequenceError | TransferError
    for message in (*(awaited[:size] for size in sizes), awaited + b"\0"):
        assert isinstance(ending(state, message), typed)


@given(st.sampled_from(PLACES), st.binary(max_size=200))
def test_any_bytes_in_any_state_end_the_session_with_a_typed_error(place: tuple[str, int], data: bytes) -> None:
    state, awaited = trace(place[0])[place[1]]
    assert isinstance(state, Conversing)
    assert ending(state, data) is not None or acceptable(state, awaited, data)


def meddle(
    kind: type[Message], alter: Callable[[Message], Message | bytes], asking: Profile, answering: Profile
) -> Exception:
    """Run a handshake in which a message of one kind is altered on its way; return the first error."""
    ours, theirs = requester(asking), responder(answering)
    under_way: deque[tuple[Requester | Responder, SessionEvent]] = deque([(ours, Begin())])
    while under_way:
        end, event = under_way.popleft()
        if isinstance(event, Received) and event.data[0] == 5 and event.data[2] == kind.CODE:
            layout = Layout(Version(max(event.data[1], Version.V1_1)))
            altered = alter(parse_message(event.data[1:], layout))
            event = Received(b"\x05" + altered.encode() if isinstance(altered, Message) else altered)
        for effect in end.handle(event):
            if isinstance(effect, Closed):
                assert effect.error is not None
                return effect.error
            if isinstance(effect, Send):
                under_way.append((theirs if end is ours else ours, Received(effect.data)))
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
