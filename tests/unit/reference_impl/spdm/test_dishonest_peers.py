"""A peer that has keys of its own and does not keep to the protocol is refused, with the error that says so."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.spdm import (
    CURRENT,
    H100_DEVICE,
    DowngradeError,
    Requester,
    Responder,
    UnexpectedMessageError,
    UntrustedChainError,
    secured,
)
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.machine import Begin, Closed, Measure, Opened, UpdateKeys
from carnet_ref.spdm.messages import Finish, HeartbeatAck, KeyExchangeRsp, KeyUpdateAck, UpdateOperation
from tests.fixtures.spdm import chain, deliver, established, key, of_p256, requester, responder, trust


def responding(other: Responder, **changes: Any) -> Responder:
    """Return a responder that differs from another one in some of its settings."""
    state: Any = other.state
    return Responder(replace(state.config, **changes))


def closings(ours: Requester, theirs: Responder) -> list[Closed]:
    """Run a handshake and return how it ended; it did not open a session."""
    effects = deliver(ours, Begin(), theirs)
    assert not any(isinstance(effect, Opened) for effect in effects)
    return [effect for effect in effects if isinstance(effect, Closed)]


def test_a_device_that_signs_with_another_key_than_its_certificate_s_is_refused() -> None:
    ours, theirs = requester(), responder()
    theirs = responding(theirs, key=key(9))
    effects = closings(ours, theirs)
    assert isinstance(effects[0].error, AuthenticationError)


def test_a_device_that_signs_a_request_for_mutual_authentication_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def asking(*fields: Any) -> KeyExchangeRsp:
        return replace(KeyExchangeRsp(*fields), mutual=1)

    monkeypatch.setattr("carnet_ref.spdm.responder.messages.KeyExchangeRsp", asking)
    effects = closings(requester(), responder())
    assert isinstance(effects[0].error, UnexpectedMessageError)


def test_a_device_that_selects_records_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def selecting(version: Version, offered: bytes) -> bytes:
        return secured.selected_version(version, offered).replace(b"\x00\x12", b"\x00\x10")

    monkeypatch.setattr("carnet_ref.spdm.responder.selected_version", selecting)
    effects = closings(requester(), responder())
    assert isinstance(effects[0].error, DowngradeError)


@pytest.mark.parametrize("operation", UpdateOperation)
def test_an_update_acknowledged_with_another_tag_ends_the_session(
    operation: UpdateOperation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acknowledging(version: Version, asked: UpdateOperation, tag: int) -> KeyUpdateAck:
        return KeyUpdateAck(version, asked, tag ^ (asked is operation))

    ours, theirs = established()
    monkeypatch.setattr("carnet_ref.spdm.responder.messages.KeyUpdateAck", acknowledging)
    closed = [effect for effect in deliver(ours, UpdateKeys(), theirs) if isinstance(effect, Closed)]
    assert bool(closed) is (operation is not UpdateOperation.UPDATE_KEY)
    assert all(isinstance(effect.error, UnexpectedMessageError) for effect in closed)


def test_a_requester_that_proves_another_transcript_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Twisted(Finish):
        def encode(self) -> bytes:
            return Finish.encode(self)[:-1] + bytes([self.verify_data[-1] ^ 1])

    monkeypatch.setattr("carnet_ref.spdm.requester.Finish", Twisted)
    effects = closings(requester(), responder())
    assert isinstance(effects[0].error, AuthenticationError)
    assert effects[0].error.what == "RequesterVerifyData"


def test_a_finish_with_a_signature_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def signing(version: Version, slot: int, signature: bytes, verify_data: bytes) -> Finish:
        return Finish(version, slot, signature or bytes(384), verify_data)

    monkeypatch.setattr("carnet_ref.spdm.requester.Finish", signing)
    effects = closings(requester(), responder())
    assert isinstance(effects[0].error, UnexpectedMessageError)


def test_a_device_whose_certified_key_is_of_another_curve_is_refused() -> None:
    theirs = responding(responder(), certificates=(*chain()[:2], of_p256()))
    effects = closings(requester(), theirs)
    assert isinstance(effects[0].error, UntrustedChainError)
    assert "no P-384 key" in str(effects[0].error)


def test_a_session_does_not_open_with_anything_but_the_end_of_the_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_ref.spdm.responder.messages.FinishRsp", HeartbeatAck)
    ours, theirs = requester(), responder()
    closed = [effect for effect in deliver(ours, Begin(), theirs) if isinstance(effect, Closed)]
    assert isinstance(closed[0].error, UnexpectedMessageError)
    assert not ours.established


def test_nothing_but_measurements_is_handed_out_as_a_report() -> None:
    reporter = SimpleNamespace(report=lambda asked: HeartbeatAck(Version.V1_1).encode())
    ours, theirs = requester(), responding(responder(), reporter=reporter)
    deliver(ours, Begin(), theirs)
    (closed,) = deliver(ours, Measure(bytes(32)), theirs)
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, UnexpectedMessageError)


def test_a_chain_under_another_root_is_refused() -> None:
    ours, theirs = requester(), responder()
    other = responding(theirs, certificates=chain()[1:])
    effects = closings(ours, other)
    assert isinstance(effects[0].error, UntrustedChainError)
    with pytest.raises(UntrustedChainError):
        trust(chain()[1:])


def test_the_default_device_profile_speaks_1_1_alone() -> None:
    assert H100_DEVICE.versions == (Version.V1_1,)
    with pytest.raises(DowngradeError):
        CURRENT.choose(H100_DEVICE.version_list())
