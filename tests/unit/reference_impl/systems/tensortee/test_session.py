"""Sessions: both ends have the same keys, each exchange has its own, and only an attested NPU is answered."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.systems.tensortee.session import Device, KeyExchange, SessionError, certify

Verifies = Callable[[str, object], None]

ROOT = ec.generate_private_key(ec.SECP384R1())
NPU = ec.generate_private_key(ec.SECP384R1())
FAKE = ec.generate_private_key(ec.SECP384R1())


def device(identity: ec.EllipticCurvePrivateKey = NPU) -> Device:
    return Device(identity, certify(ROOT if identity is NPU else FAKE, identity), os.urandom)


def test_both_ends_have_the_same_keys(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-KEY-01")
    exchange = KeyExchange(os.urandom)
    answer, keys = device().answer(exchange.opening)
    assert exchange.take(answer, ROOT.public_key()) == keys
    assert len({keys.lines, keys.macs, keys.descriptors}) == 3


def test_each_exchange_has_keys_of_its_own(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-KEY-02, tensortee-REQ-KEY-03")
    npu, found = device(), set()
    for _ in range(3):
        exchange = KeyExchange(os.urandom)
        answer, _ = npu.answer(exchange.opening)
        found.add(exchange.take(answer, ROOT.public_key()).lines)
    assert len(found) == 3


def test_a_second_answer_is_not_taken() -> None:
    """Two sessions would have one share on this side, and the second answer may be an old one."""
    exchange, npu = KeyExchange(os.urandom), device()
    exchange.take(npu.answer(exchange.opening)[0], ROOT.public_key())
    with pytest.raises(SessionError, match="an answer was taken before"):
        exchange.take(npu.answer(exchange.opening)[0], ROOT.public_key())


def test_a_fake_npu_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-KEY-01")
    exchange = KeyExchange(os.urandom)
    answer, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(SessionError, match="certificate does not verify"):
        exchange.take(answer, ROOT.public_key())


def test_a_report_of_another_exchange_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "tensortee-REQ-KEY-01")
    answer, _ = device().answer(KeyExchange(os.urandom).opening)
    with pytest.raises(SessionError, match="report does not verify"):
        KeyExchange(os.urandom).take(answer, ROOT.public_key())


def test_the_share_of_somebody_between_is_not_taken() -> None:
    exchange = KeyExchange(os.urandom)
    answer, _ = device().answer(exchange.opening)
    own, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(SessionError, match="report does not verify"):
        exchange.take(replace(answer, share=own.share), ROOT.public_key())


@pytest.mark.parametrize("bad", [b"", b"\0" * 97])
def test_what_is_no_device_key_is_one_error(bad: bytes) -> None:
    exchange = KeyExchange(os.urandom)
    answer, _ = device().answer(exchange.opening)
    with pytest.raises(SessionError, match="no session"):
        exchange.take(replace(answer, device=bad), ROOT.public_key())
