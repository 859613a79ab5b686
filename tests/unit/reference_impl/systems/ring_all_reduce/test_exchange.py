"""Key exchange of a hop: both ends have the same key, and take a report of the neighbour for this exchange only."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.systems.ring_all_reduce.ablations import AnyExchange, NoCertificate, NoCode, NoMode, NoPlace
from carnet_ref.systems.ring_all_reduce.exchange import (
    CONFIDENTIAL,
    OPEN,
    Device,
    Half,
    HopOpening,
    Report,
    ReportCheck,
    ReportError,
    answer_hop,
    certify,
)

Verifies = Callable[[str, object], None]

ROOT, IDENTITY, FAKE = (ec.generate_private_key(ec.SECP384R1()) for _ in range(3))
TRAINER, OTHER = b"t" * 48, b"o" * 48


def device(
    place: int,
    mode: bytes = CONFIDENTIAL,
    code: bytes = TRAINER,
    *,
    identity: ec.EllipticCurvePrivateKey = IDENTITY,
) -> Device:
    root = FAKE if identity is FAKE else ROOT
    return Device(identity, certify(root, identity), mode, code, place)


def agree(before: Device, after: Device, check: ReportCheck | None = None) -> tuple[bytes, bytes]:
    """Return the key of the hop from rank 0 to rank 1, as either end has it."""
    check = check or ReportCheck(ROOT.public_key(), TRAINER)
    opening = HopOpening(before, os.urandom)
    answer, received = answer_hop(after, opening.half, check, 0, os.urandom)
    return opening.take(answer, check, 1), received


def test_both_ends_have_the_same_key(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SETUP-01, ring-all-reduce-REQ-SETUP-02")
    one, other = (agree(device(0), device(1)) for _ in range(2))
    assert one[0] == one[1]
    assert one[0] != other[0]


STRANGERS: dict[str, tuple[str, type[ReportCheck], Callable[[int], Device], str]] = {
    "gpu-certificate": ("SETUP-04", NoCertificate, lambda place: device(place, identity=FAKE), "certificate"),
    "mode-check": ("SETUP-05", NoMode, lambda place: device(place, OPEN), "mode open"),
    "code-check": ("SETUP-06", NoCode, lambda place: device(place, code=OTHER), "code 6f6f"),
    "neighbour-check": ("SETUP-07", NoPlace, lambda place: device(place + 5), "place"),
}
"""For each check: what asks for it, the copy that lacks it, who then joins the ring, and what the real one says."""


@pytest.mark.parametrize("defence", STRANGERS)
def test_without_the_check_a_stranger_has_the_key_of_a_hop(defence: str, record_property: Verifies) -> None:
    requirement, weak, stranger, said = STRANGERS[defence]
    record_property("verifies", f"ring-all-reduce-REQ-{requirement}")
    weakened = weak(ROOT.public_key(), TRAINER)
    for ends in ((device(0), stranger(1)), (stranger(0), device(1))):
        ours, theirs = agree(*ends, weakened)
        assert ours == theirs
        with pytest.raises(ReportError, match=said):
            agree(*ends)


def test_a_relayed_report_is_not_taken(record_property: Verifies) -> None:
    """Somebody between answers with a share of its own, and with the report that the neighbour made for another one."""
    record_property("verifies", "ring-all-reduce-REQ-SETUP-03")
    check = ReportCheck(ROOT.public_key(), TRAINER)
    between = device(1, identity=FAKE)
    other = HopOpening(device(0), os.urandom)
    relayed, _ = answer_hop(device(1), other.half, check, 0, os.urandom)
    opening = HopOpening(device(0), os.urandom)
    own, key = answer_hop(between, opening.half, check, 0, os.urandom)
    answer = Half(own.share, relayed.report)
    weak = AnyExchange(ROOT.public_key(), TRAINER)
    weak.exchanges.append(other.half.share + relayed.share)
    assert opening.take(answer, weak, 1) == key
    with pytest.raises(ReportError, match="report does not verify"):
        opening.take(answer, check, 1)


def test_the_share_of_somebody_else_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SETUP-03")
    check = ReportCheck(ROOT.public_key(), TRAINER)
    opening, between = HopOpening(device(0), os.urandom), HopOpening(device(0, identity=FAKE), os.urandom)
    with pytest.raises(ReportError, match="report does not verify"):
        answer_hop(device(1), replace(opening.half, share=between.half.share), check, 0, os.urandom)


CHANGED: dict[str, Callable[[Report], Report]] = {
    "mode": lambda report: replace(report, mode=b"changed"),
    "code": lambda report: replace(report, code=b"changed"),
    "place": lambda report: replace(report, place=7),
    "signature": lambda report: replace(report, signature=b"changed"),
    "device": lambda report: replace(report, device=b"changed"),
}


@pytest.mark.parametrize("field", CHANGED)
def test_a_report_that_was_changed_is_not_taken(field: str) -> None:
    check = ReportCheck(ROOT.public_key(), TRAINER)
    half = HopOpening(device(0), os.urandom).half
    with pytest.raises(ReportError):
        answer_hop(device(1), replace(half, report=CHANGED[field](half.report)), check, 0, os.urandom)


def test_a_half_goes_over_a_link_and_nothing_else_is_one() -> None:
    half = HopOpening(device(0), os.urandom).half
    assert Half.decoded(half.encoded()) == half
    for data in (b"", half.encoded()[:-1], half.encoded() + b"x", b"half"):
        with pytest.raises(ReportError):
            Half.decoded(data)


def test_a_share_of_low_order_is_not_taken() -> None:
    check = ReportCheck(ROOT.public_key(), TRAINER)
    half = Half(bytes(32), device(0).report(bytes(32)))
    with pytest.raises(ReportError, match="share"):
        answer_hop(device(1), half, check, 0, os.urandom)
