"""The device's copy engines open the next message under the live key, count what a key protects, and retire keys."""

from __future__ import annotations

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.device import CopyEngines
from carnet_ref.keys import Direction, H100KeySchedule, KeyExhaustedError, KeyUsage, LinkKeys, Sealer, UsageLimits
from carnet_ref.systems.ablation import without
from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.ablations.gpu import ENGINES
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.transport.frames import ProtocolError
from tests.fixtures.worlds import draws


def engines(name: str = "sealed-under-master", *off: str) -> tuple[CopyEngines, list[LinkKeys], list[bytes]]:
    """Return engines, the keys of three epochs, and the two orders between them."""
    host = key_schedule(name, H100KeySchedule(bytes(range(32))))
    draws = iter(range(1, 100))
    keys, orders = [host.keys], []
    for owner in ("alice", "orchestrator"):
        orders.append(host.order(owner, lambda size: bytes([next(draws)]) * size))
        keys.append(host.follow(orders[-1]))
    gpu = key_schedule(name, H100KeySchedule(bytes(range(32))), checks=ChecksWithout(frozenset(off)))
    return without(CopyEngines, ENGINES, off)(gpu, UsageLimits.for_advantage()), keys, orders


def sealer(keys: LinkKeys, used: int = 0) -> Sealer:
    return Sealer(keys.h2d, keys.ivs(Direction.H2D, used), KeyUsage())


@pytest.mark.verifies("gpu-travelling-REQ-IV-02")
def test_the_engine_opens_the_next_message_only() -> None:
    ce, keys, _ = engines()
    host = sealer(keys[0])
    first, second = host.seal(b"one"), host.seal(b"two")
    assert ce.open(0, first, 0).plaintext == b"one"
    opened = ce.open(0, second, 1)
    assert (opened.keys.epoch, opened.slot, ce.received(0)) == (0, 1, 2)
    with pytest.raises(AuthenticationError):
        ce.open(0, second, 1)


def test_without_the_implicit_iv_a_message_is_taken_twice() -> None:
    ce, keys, _ = engines("sealed-under-master", "gpu-implicit-iv")
    sealed = sealer(keys[0]).seal(b"one")
    assert [ce.open(0, sealed, 0).plaintext for _ in range(2)] == [b"one", b"one"]


@pytest.mark.verifies("gpu-travelling-REQ-KEY-04")
@pytest.mark.parametrize("schedule", ["sealed-under-master", "engine-per-holder", "ratchet"])
def test_a_rotation_retires_the_key_it_leaves(schedule: str) -> None:
    ce, keys, orders = engines(schedule)
    assert ce.accept(orders[0]) == keys[1]
    with pytest.raises(AuthenticationError):
        ce.open(keys[0].engine, sealer(keys[0]).seal(b"late"), 0)


def test_an_engine_that_is_not_retired_still_opens_under_the_old_key() -> None:
    ce, keys, orders = engines("engine-per-holder", "engine-retirement")
    for order in orders:
        ce.accept(order)
    assert ce.open(keys[1].engine, sealer(keys[1]).seal(b"late write"), 0).plaintext == b"late write"


@pytest.mark.parametrize(("off", "lives"), [("rotation-in-h2d", "h2d"), ("rotation-in-d2h", "d2h")])
def test_half_a_rotation_in_leaves_the_holders_half_alive(off: str, lives: str) -> None:
    ce, keys, orders = engines("sealed-under-master", off)
    for order in orders:
        ce.accept(order)
    if lives == "h2d":
        assert ce.open(0, sealer(keys[1]).seal(b"late write"), 0).keys.epoch == 1
        assert ce.seal(b"").keys.epoch == 2
    else:
        assert ce.seal(b"").keys.epoch == 1


@pytest.mark.verifies("gpu-travelling-REQ-KEY-04")
def test_orders_are_followed_once_and_in_order() -> None:
    ce, _, orders = engines()
    ce.accept(orders[0])
    with pytest.raises(ProtocolError, match="REQ-KEY-04"):
        ce.accept(orders[0])


def test_an_order_repeats_when_nothing_checks_it() -> None:
    ce, keys, orders = engines("engine-per-holder", "epochs-increase", "wrapped-key-once")
    assert [ce.accept(orders[0]) for _ in range(2)] == [keys[1]] * 2


def test_counters_restart_and_engines_reload_only_where_their_defence_is_off() -> None:
    ce, keys, _ = engines()
    with pytest.raises(PermissionError):
        ce.restart_counters()
    with pytest.raises(PermissionError):
        ce.reload(keys[0])
    weak, keys, orders = engines("sealed-under-master", "atomic-rotation", "no-engine-reload")
    weak.open(0, sealer(keys[0]).seal(b"one"), 0)
    weak.restart_counters()
    assert weak.received(0) == 0
    weak.accept(orders[0])
    weak.reload(keys[0])
    assert weak.open(0, sealer(keys[0]).seal(b"again"), 0).keys.epoch == 0


def test_defences_have_to_exist() -> None:
    with pytest.raises(ValueError, match="no-such-thing"):
        AblatedDeployment((), 1, off=frozenset({"no-such-thing"}))


def limited_engines(messages: int) -> tuple[CopyEngines, LinkKeys]:
    schedule = key_schedule("engine-per-holder", H100KeySchedule(bytes(range(32))))
    return CopyEngines(schedule, UsageLimits.for_messages(messages)), schedule.keys


@pytest.mark.verifies("gpu-travelling-REQ-KEY-07")
@pytest.mark.mends("H5")
def test_the_device_opens_and_seals_no_more_under_a_key_than_its_limit() -> None:
    """Whoever used the key, and whatever they counted."""
    ce, keys = limited_engines(3)
    host = sealer(keys)
    for _ in range(3):
        ce.open(0, host.seal(b"data"), 0)
        ce.seal(b"a reply")
    with pytest.raises(KeyExhaustedError):
        ce.open(0, host.seal(b"data"), 0)
    with pytest.raises(KeyExhaustedError):
        ce.seal(b"a reply")


@pytest.mark.mends("H5")
def test_the_device_goes_on_counting_when_a_key_comes_back() -> None:
    host = key_schedule("engine-per-holder", H100KeySchedule(bytes(range(32))))
    ce, _ = limited_engines(3)
    draw, sender = draws("orders"), sealer(host.keys)
    for owner in ("alice", "orchestrator", "alice"):
        order = host.order(owner, draw)
        ce.accept(order)
        sender = sealer(host.follow(order))
        ce.open(host.keys.engine, sender.seal(b"one"), 0)
    ce.open(host.keys.engine, sender.seal(b"two"), 0)
    with pytest.raises(KeyExhaustedError):
        ce.open(host.keys.engine, sender.seal(b"three"), 0)


def test_an_order_that_changes_nothing_restarts_no_counter() -> None:
    schedule = key_schedule("none", H100KeySchedule(bytes(range(32))))
    ce = CopyEngines(schedule, UsageLimits.for_advantage())
    host = sealer(schedule.keys)
    ce.open(0, host.seal(b"one"), 0)
    ce.accept(b"")
    assert ce.open(0, host.seal(b"two"), 0).slot == 1
