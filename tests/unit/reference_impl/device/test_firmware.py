"""The firmware opens orders of its session, carries each out once and in its place, and reports under its own key."""

from __future__ import annotations

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.device import CopyEngines
from carnet_ref.keys import H100KeySchedule, UsageLimits
from carnet_ref.systems.gpu_travelling import orders
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout
from carnet_ref.systems.gpu_travelling.device import Firmware
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.orders import (
    ORDERS_LABEL,
    REPORTS_LABEL,
    Fence,
    Place,
    Rotate,
    Scrub,
    Scrubbed,
)
from carnet_ref.transport.frames import FrameKind, ProtocolError
from carnet_ref.wire import MalformedError

SECRET = bytes(range(32))


def firmware(*off: str) -> tuple[Firmware, orders.Sealed, orders.Sealed]:
    """Return the firmware of a session, and the orchestrator's ends: for orders and for reports."""
    session = H100KeySchedule(SECRET)
    ce = CopyEngines(key_schedule("engine-per-holder", session), UsageLimits.for_advantage())
    gpu = Firmware(session, ce, ChecksWithout(frozenset(off)))
    return gpu, orders.Sealed(session.key(ORDERS_LABEL)), orders.Sealed(session.key(REPORTS_LABEL))


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-01")
def test_orders_are_opened_where_they_were_made_for_and_nowhere_else() -> None:
    gpu, host, _ = firmware()
    sealed = host.seal(Place(0, 0), orders.encode(Fence()))
    assert gpu.open(sealed) == (Place(0, 0), Fence())
    for wrong in (Place(0, 1), Place(1, 0)):
        with pytest.raises(AuthenticationError):
            gpu.open(orders.with_place(wrong, orders.placed(sealed)[1]))
    with pytest.raises(MalformedError):
        gpu.open(sealed[:11])


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-02")
def test_orders_are_carried_out_in_their_sequence_each_once() -> None:
    gpu, _, _ = firmware()
    gpu.take(Place(0, 0), Fence())
    for wrong in (0, 2):
        with pytest.raises(ProtocolError, match=rf"order {wrong} of epoch 0, and number 1 has .* \(REQ-SESSION-02\)"):
            gpu.take(Place(0, wrong), Scrub())
    gpu.take(Place(0, 1), Scrub())
    loose, _, _ = firmware("session-sequence")
    for number in (0, 0, 5):
        loose.take(Place(0, number), Fence())


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-02")
def test_orders_are_about_a_live_epoch() -> None:
    gpu, _, _ = firmware("session-sequence")
    with pytest.raises(ProtocolError, match=r"order 0 of epoch 1, which is not live \(REQ-SESSION-02\)"):
        gpu.take(Place(1, 0), Fence())
    gpu.take(Place(1, 0), Rotate(b""))


def test_a_rotation_is_the_first_order_of_its_epoch() -> None:
    gpu, _, _ = firmware()
    with pytest.raises(ProtocolError, match="REQ-SESSION-02"):
        gpu.take(Place(1, 1), Rotate(b""))
    gpu.take(Place(1, 0), Rotate(b""))
    assert gpu.heard[1] == 1


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-01")
def test_an_order_on_the_link_is_refused_and_followed_only_where_nothing_forbids_it() -> None:
    gpu, _, _ = firmware()
    with pytest.raises(ProtocolError, match=r"an order came through the link \(REQ-SESSION-01\)"):
        gpu.submitted(orders.encode(Fence()))
    weak, _, _ = firmware("session-orders")
    assert weak.submitted(orders.encode(Fence())) == (Place(0, 0), Fence())


@pytest.mark.verifies("gpu-travelling-REQ-SESSION-03")
def test_a_report_has_the_place_of_its_order() -> None:
    gpu, _, host = firmware()
    kind, sealed = gpu.report(Place(0, 3), Scrubbed(0))
    assert kind is FrameKind.SESSION
    assert host.open(sealed) == (Place(0, 3), orders.encode(Scrubbed(0)))
