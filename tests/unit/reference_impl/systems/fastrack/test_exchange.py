"""Key exchange: both ends have the same keys, and a report is taken for its own exchange, GPU and mode only."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.systems.fastrack.exchange import CONFIDENTIAL, OPEN, Device, KeyExchange, ReportError, certify

Verifies = Callable[[str, object], None]

ROOT = ec.generate_private_key(ec.SECP384R1())
GPU = ec.generate_private_key(ec.SECP384R1())
FAKE = ec.generate_private_key(ec.SECP384R1())


def device(identity: ec.EllipticCurvePrivateKey = GPU, mode: bytes = CONFIDENTIAL) -> Device:
    return Device(identity, certify(ROOT if identity is GPU else FAKE, identity), mode, os.urandom)


def test_both_ends_have_the_same_keys(record_property: Verifies) -> None:
    record_property("verifies", "fastrack-REQ-SETUP-01, fastrack-REQ-SETUP-02")
    exchange = KeyExchange(os.urandom)
    answer, keys = device().answer(exchange.opening)
    assert exchange.take(answer, ROOT.public_key()) == keys
    assert len({keys.chunks, keys.answers, keys.codes}) == 3


def test_a_report_of_another_exchange_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "fastrack-REQ-SETUP-03")
    answer, _ = device().answer(KeyExchange(os.urandom).opening)
    with pytest.raises(ReportError, match="names another exchange"):
        KeyExchange(os.urandom).take(answer, ROOT.public_key())


def test_the_share_of_somebody_between_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "fastrack-REQ-SETUP-03")
    exchange = KeyExchange(os.urandom)
    answer, _ = device().answer(exchange.opening)
    own, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(ReportError, match="names another exchange"):
        exchange.take(replace(answer, share=own.share), ROOT.public_key())


def test_a_fake_gpu_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "fastrack-REQ-SETUP-04")
    exchange = KeyExchange(os.urandom)
    answer, _ = device(FAKE).answer(exchange.opening)
    with pytest.raises(ReportError, match="certificate does not verify"):
        exchange.take(answer, ROOT.public_key())


def test_open_mode_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "fastrack-REQ-SETUP-05")
    exchange = KeyExchange(os.urandom)
    answer, _ = device(mode=OPEN).answer(exchange.opening)
    with pytest.raises(ReportError, match="mode open"):
        exchange.take(answer, ROOT.public_key())
    with pytest.raises(ReportError, match="report does not verify"):
        exchange.take(replace(answer, report=replace(answer.report, mode=CONFIDENTIAL)), ROOT.public_key())
