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
import carnet_ref.spdm.requester_session
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
    UnexpectedMessageError,
    UntrustedChainError,
)
from carnet_ref.spdm.events import (
    Beat,
    Begin,
    Closed,
    End,
    Measure,
    Received,
    Send,
    SendApplication,
    SessionEvent,
    UpdateKeys,
)
from carnet_ref.spdm.machine import REFUSALS, Ended, SessionState
from carnet_ref.spdm.messages import (
    Algorithms,
    Capabilities,
    Certificate,
    Digests,
    Error,
    Finish,
    GetCapabilities,
    KeyExchange,
    KeyExchangeRsp,
    Layout,
    Message,
    NegotiateAlgorithms,
    PskExchange,
    PskExchangeRsp,
    PskFinish,
    Version,
    VersionList,
    parse_message,
)
from carnet_ref.spdm.profile import Capability
from carnet_ref.wire.reader import MalformedError
from tests.fixtures.spdm_ends import requester, responder

Alter = Callable[[bytes], bytes]


@cache
def trace(seed: str = "") -> tuple[tuple[SessionState, bytes], ...]:
    """Return each state of a whole session, at both ends, with the message that it awaited."""
    ours, theirs = requester(H100, f"requester{seed}"), responder(H100, f"responder{seed}")
    seen: list[tuple[SessionState, bytes]] = []
    calls: list[tuple[Requester | Responder, SessionEvent]] = [
        (ours, event) for event in (Begin(), Measure(bytes(32)), Beat(), SendApplication(b"command"), UpdateKeys())
    ]
    for call in (*calls, (theirs, SendApplication(b"answer")), (ours, End())):
        under_way: deque[tuple[Requester | Responder, SessionEvent]] = deque([call])
        while under_way:
            end, happening = under_way.popleft()
            if isinstance(happening, Received):
                seen.append((end.state, happening.data))
            for effect in end.handle(happening):
                if isinstance(effect, Send):
                    under_way.append((theirs if end is ours else ours, Received(effect.data)))
    return tuple(seen)


def psk_messages() -> list[bytes]:
    version = Version.V1_2
    made = (
        PskExchange(version, 0, 1, b"hint", bytes(32), b""),
        PskExchangeRsp(version, 0, 1, b"", bytes(32), b"", bytes(48)),
        PskFinish(version, bytes(48)),
        Error(version, 1),
    )
    return [b"\x05" + message.encode() for message in made]


@cache
def corpus() -> tuple[bytes, ...]:
    """Return every message of two sessions, and some of none."""
    recorded = [message for seed in ("", " other") for _, message in trace(seed)]
    return (*recorded, *psk_messages(), b"", b"\x05", b"\x06", b"\x07" * 40)


def ending(state: SessionState, message: bytes) -> Exception | None:
    """Return the error that a message ended a session with, or nothing if the session goes on."""
    before = repr(state)
    after, effects = state.handle(Received(message))
    assert repr(state) == before
    closed = [effect.error for effect in effects if isinstance(effect, Closed)]
    assert bool(closed) == isinstance(after, Ended)
    return closed[0] if closed else None


def test_the_trace_visits_every_state_that_awaits_the_peer() -> None:
    spdm = carnet_ref.spdm
    modules = spdm.requester, spdm.requester_session, spdm.responder
    states = {name for module in modules for name in vars(module) if name.startswith("Await")} | {"Established"}
    assert states - {type(state).__name__ for state, _ in trace()} == {"AwaitBegin"}


@pytest.mark.parametrize("position", range(len(trace())))
def test_every_message_in_every_state_is_the_awaited_one_or_ends_the_session(position: int) -> None:
    state, awaited = trace()[position]
    secured = awaited[:1] == b"\x06"
    for message in corpus():
        error = ending(state, message)
        if error is None:
            assert (
                message == awaited
                if secured
                else message[2] == awaited[2] or type(state).__name__ == ("AwaitKeyExchange")
            )
        else:
            assert isinstance(error, REFUSALS)
            assert message != awaited


@pytest.mark.parametrize("position", range(len(trace())))
def test_every_truncation_is_malformed_and_so_is_every_appended_byte(position: int) -> None:
    state, awaited = trace()[position]
    sizes = range(len(awaited)) if len(awaited) < 200 else range(0, len(awaited), 7)
    for message in (*(awaited[:size] for size in sizes), awaited + b"\0"):
        assert isinstance(ending(state, message), MalformedError | UnexpectedMessageError | SequenceError)


@given(st.integers(0, len(trace()) - 1), st.binary(max_size=200))
def test_any_bytes_in_any_state_end_the_session_with_a_typed_error(position: int, data: bytes) -> None:
    state, awaited = trace()[position]
    error = ending(state, data)
    assert error is not None or data[2:3] == awaited[2:3]


@given(st.integers(0, len(trace()) - 1), st.data())
def test_an_altered_bit_never_opens_a_session_that_differs_at_its_ends(position: int, data: st.DataObject) -> None:
    count = 0
    bit = data.draw(st.integers(0, len(trace()[position][1]) * 8 - 1))
    ours, theirs = requester(), responder(H100)
    under_way: deque[tuple[Requester | Responder, SessionEvent]] = deque([(ours, Begin())])
    while under_way:
        end, event = under_way.popleft()
        if isinstance(event, Received):
            if count == position:
                flipped = bytearray(event.data)
                flipped[bit // 8 % len(flipped)] ^= 1 << bit % 8
                event = Received(bytes(flipped))
            count += 1
        if isinstance(end.state, Ended):
            continue
        for effect in end.handle(event):
            if isinstance(effect, Send):
                under_way.append((theirs if end is ours else ours, Received(effect.data)))
    if ours.established and theirs.established:
        assert ours.label == theirs.label
        assert ours.exported_master_secret() == theirs.exported_master_secret()


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
        lambda _: GetCapabilities(Version.V1_1, 0x62C2),
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


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_meddled_handshake_is_refused(row: str) -> None:
    kind, alter, asking, error = ROWS[row]
    found = meddle(kind, alter, asking, H100 if asking is H100 else CURRENT)
    assert type(found) is error, found


def test_the_requester_itself_refuses_another_verify_data() -> None:
    found = meddle(KeyExchangeRsp, twisted("verify_data"), H100, H100)
    assert isinstance(found, AuthenticationError)
    assert found.what == "ResponderVerifyData"
