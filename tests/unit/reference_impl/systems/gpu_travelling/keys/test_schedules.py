"""The key schedules: both ends agree, and what a former holder can compute is what the specification says."""

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref import keys as carnet_keys
from carnet_ref.crypto.primitives import AesGcm, AuthenticationError
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout
from carnet_ref.systems.gpu_travelling.exploits.attacker import forge
from carnet_ref.systems.gpu_travelling.keys import SCHEDULES, key_schedule, wrapping_key
from carnet_ref.transport.frames import ProtocolError
from carnet_ref.wire import MalformedError
from carnet_spec.protocols.gpu_travelling.design import SCHEDULES as SPECIFIED
from carnet_spec.protocols.gpu_travelling.design import VARIANTS

EMK = bytes(range(32))
ROTATING = sorted(set(SCHEDULES) - {"none"})


class Draws:
    """Random bytes that are never the same twice."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, size: int) -> bytes:
        return hashlib.shake_256(bytes([next(self._numbers)])).digest(size)


def ends(name: str) -> tuple[carnet_keys.KeySchedule, carnet_keys.KeySchedule]:
    return tuple(key_schedule(name, carnet_keys.H100KeySchedule(EMK)) for _ in range(2))  # type: ignore[return-value]


def rotate(name: str, *owners: str) -> tuple[carnet_keys.KeySchedule, carnet_keys.KeySchedule, list[bytes]]:
    orchestrator, gpu = ends(name)
    draws, orders = Draws(), []
    for owner in owners:
        orders.append(orchestrator.order(owner, draws))
        assert orchestrator.follow(orders[-1]) == gpu.follow(orders[-1])
    return orchestrator, gpu, orders


def test_every_schedule_of_the_specification_is_here_and_without_rotation_the_key_stays() -> None:
    assert set(SPECIFIED) | {"none", "inner-key"} == set(SCHEDULES)
    assert set(SCHEDULES) <= set(VARIANTS)
    orchestrator, _, _ = rotate("none", "ana", "orchestrator", "bo")
    assert orchestrator.keys == key_schedule("none", carnet_keys.H100KeySchedule(EMK)).keys


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_both_ends_start_with_the_h100_keys_and_rotate_together(name: str) -> None:
    orchestrator, gpu, _ = rotate(name, "ana", "orchestrator")
    assert orchestrator.keys == gpu.keys
    start = key_schedule(name, carnet_keys.H100KeySchedule(EMK)).keys
    assert start.h2d == carnet_keys.H100KeySchedule(EMK).key("Lce00_h2d_user")
    assert start.d2h == carnet_keys.H100KeySchedule(EMK).key("Lce00_d2h_user")
    assert start.h2d.hex() not in repr(start)


@pytest.mark.parametrize("name", ROTATING)
def test_a_rotation_names_its_owner_and_counts_the_epoch(name: str) -> None:
    orchestrator, _, _ = rotate(name, "ana")
    assert (orchestrator.keys.owner, orchestrator.keys.epoch) == ("ana", 1)


@pytest.mark.parametrize("name", ["ratchet", "reset", "inner-key"])
def test_a_former_holder_computes_what_follows_on_the_ratchet(name: str) -> None:
    before, _, _ = rotate(name, "ana")
    after, _, _ = rotate(name, "ana", "orchestrator")
    for way in carnet_keys.Direction:
        assert carnet_keys.ratchet(before.keys.half(way), carnet_keys.engine_label(0, way)) == after.keys.half(way)


def test_a_former_holder_unwraps_what_was_sent_under_its_key() -> None:
    _, _, orders = rotate("wrapped-under-old", "ana", "bo")
    held = rotate("wrapped-under-old", "ana")[0].keys
    later = rotate("wrapped-under-old", "ana", "bo")[0].keys
    payload, head = orders[1][-92:], orders[1][:-94]
    assert AesGcm(wrapping_key(held.h2d)).decrypt(payload[:12], payload[12:], head) == later.h2d + later.d2h


@pytest.mark.verifies("gpu-travelling-REQ-KEY-02")
def test_under_the_master_a_former_holder_has_nothing_that_opens_the_order() -> None:
    held = rotate("sealed-under-master", "ana")[0].keys
    _, _, orders = rotate("sealed-under-master", "ana", "bo")
    payload, head = orders[1][-92:], orders[1][:-94]
    for key in (held.h2d, held.d2h, wrapping_key(held.h2d), wrapping_key(held.d2h)):
        with pytest.raises(AuthenticationError):
            AesGcm(key).decrypt(payload[:12], payload[12:], head)


@pytest.mark.parametrize("name", ["sealed-under-master", "wrapped-under-old"])
def test_the_same_order_asked_for_twice_repeats_neither_key_nor_nonce(name: str) -> None:
    orchestrator, _ = ends(name)
    draws = Draws()
    one, two = orchestrator.order("ana", draws), orchestrator.order("ana", draws)
    assert one[-92:-80] != two[-92:-80]


def test_each_holder_has_an_engine_of_its_own_and_comes_back_to_it_on_a_new_channel() -> None:
    orchestrator, _ = ends("engine-per-holder")
    places = []
    for owner in ("ana", "orchestrator", "bo", "orchestrator", "ana"):
        keys = orchestrator.follow(orchestrator.order(owner, Draws()))
        places.append((keys.engine, keys.channel))
        assert keys.h2d == carnet_keys.H100KeySchedule(EMK).key(
            carnet_keys.engine_label(keys.engine, carnet_keys.Direction.H2D)
        )
    assert places == [(1, 1), (0, 2), (2, 1), (0, 3), (1, 2)]


@pytest.mark.verifies("gpu-travelling-REQ-IV-04")
@pytest.mark.mends("L6")
@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_no_two_epochs_share_an_iv_under_one_key(name: str) -> None:
    """Where the key stays, so does the mask, and only the channel tells the epochs apart."""
    orchestrator, _ = ends(name)
    draws, epochs, seen = Draws(), [orchestrator.keys], set[tuple[bytes, bytes]]()
    for owner in ("ana", "orchestrator", *(("bo", "orchestrator", "ana", "orchestrator") if name != "reset" else ())):
        keys = orchestrator.follow(orchestrator.order(owner, draws))
        epochs += [keys] if keys is not epochs[-1] else []
    for keys in epochs:
        for way in carnet_keys.Direction:
            ivs = keys.ivs(way)
            used = {(keys.half(way), ivs.advance()) for _ in range(50)}
            assert not used & seen
            seen |= used
            shares = [each for each in epochs if each.half(way) == keys.half(way)]
            assert len({each.mask(way) for each in shares}) == 1
            assert len({each.channel for each in shares}) == len(shares)


@pytest.mark.mends("L6")
@pytest.mark.parametrize("half", [18, 30], ids=["h2d", "d2h"])
def test_an_order_that_changes_the_mask_of_a_key_is_refused(half: int) -> None:
    """With another mask, the IVs of two channels may be the same."""
    orchestrator, gpu, _ = rotate("engine-per-holder", "ana")
    order = bytearray(orchestrator.order("orchestrator", Draws()))
    order[half] ^= 1
    keys = gpu.keys
    with pytest.raises(carnet_keys.OrderRefusedError) as refused:
        gpu.follow(bytes(order))
    assert refused.value.check == "iv-mask"
    assert gpu.keys == keys


def test_an_order_for_a_used_channel_and_one_with_bytes_behind_it_are_refused() -> None:
    orchestrator, gpu, _ = rotate("engine-per-holder", "ana")
    order = bytearray(orchestrator.order("orchestrator", Draws()))
    order[9] = 1
    with pytest.raises(ProtocolError, match="channel 1 of engine 0 was used"):
        gpu.follow(bytes(order))
    orchestrator, gpu = ends("engine-per-holder")
    with pytest.raises(MalformedError, match="rotation order"):
        gpu.follow(orchestrator.order("ana", Draws()) + b"\0")


def test_an_eighth_holder_has_no_engine_and_a_reset_schedule_is_lent_once() -> None:
    orchestrator, _ = ends("engine-per-holder")
    for index in range(7):
        orchestrator.follow(orchestrator.order(f"holder {index}", Draws()))
    with pytest.raises(carnet_keys.EnginesExhaustedError):
        orchestrator.order("holder 7", Draws())
    orchestrator.order("holder 3", Draws())
    orchestrator, _, _ = rotate("reset", "ana", "orchestrator")
    with pytest.raises(carnet_keys.ResetNeededError):
        orchestrator.order("bo", Draws())
    with pytest.raises(carnet_keys.ResetNeededError):
        orchestrator.order("ana", Draws())


@pytest.mark.verifies("gpu-travelling-REQ-KEY-01")
def test_an_engine_is_not_given_to_a_second_holder() -> None:
    orchestrator, gpu = ends("engine-per-holder")
    gpu.follow(orchestrator.order("ana", Draws()))
    order = bytearray(orchestrator.order("bo", Draws()))
    order[0] = 2
    with pytest.raises(carnet_keys.OrderRefusedError, match="another holder"):
        gpu.follow(bytes(order))


@pytest.mark.verifies("gpu-travelling-REQ-KEY-04")
@pytest.mark.parametrize("name", ROTATING)
def test_an_order_is_followed_once_and_never_after_a_later_one(name: str) -> None:
    _, gpu, orders = rotate(name, "ana", "orchestrator")
    keys = gpu.keys
    for order in orders:
        with pytest.raises(ProtocolError, match=r"does not follow 2 \(REQ-KEY-04\)"):
            gpu.follow(order)
    assert gpu.keys == keys


def test_an_end_without_either_check_takes_an_old_key_again() -> None:
    gpu = key_schedule(
        "sealed-under-master",
        carnet_keys.H100KeySchedule(EMK),
        checks=ChecksWithout(frozenset({"epochs-increase", "wrapped-key-once"})),
    )
    orchestrator, _, orders = rotate("sealed-under-master", "ana", "orchestrator")
    for order in orders:
        gpu.follow(order)
    assert gpu.follow(orders[0]) != orchestrator.keys
    assert gpu.keys.owner == "ana"


def test_wrapped_key_once_refuses_a_repeated_order_on_its_own() -> None:
    gpu = key_schedule(
        "sealed-under-master", carnet_keys.H100KeySchedule(EMK), checks=ChecksWithout(frozenset({"epochs-increase"}))
    )
    _, _, orders = rotate("sealed-under-master", "ana", "orchestrator")
    for order in orders:
        gpu.follow(order)
    with pytest.raises(ProtocolError, match=r"followed before \(REQ-KEY-04\)"):
        gpu.follow(orders[0])


@given(name=st.sampled_from(sorted(SCHEDULES)), order=st.binary(max_size=120))
def test_any_bytes_are_an_order_or_one_typed_error(name: str, order: bytes) -> None:
    _, gpu = ends(name)
    keys = gpu.keys
    try:
        gpu.follow(order)
    except (MalformedError, carnet_keys.OrderRefusedError, ProtocolError):
        assert gpu.keys == keys


@given(position=st.integers(0, 200), bit=st.integers(0, 7))
def test_a_flipped_order_under_the_master_is_refused_and_changes_nothing(position: int, bit: int) -> None:
    orchestrator, gpu = ends("sealed-under-master")
    order = bytearray(orchestrator.order("ana", Draws()))
    order[position % len(order)] ^= 1 << bit
    keys = gpu.keys
    with pytest.raises((MalformedError, carnet_keys.OrderRefusedError, ProtocolError)):
        gpu.follow(bytes(order))
    assert gpu.keys == keys


KEY, IV = bytes(range(32)), bytes(12)


def test_two_messages_under_one_iv_give_a_third_and_under_two_nothing() -> None:
    cipher = AesGcm(KEY)
    first, second = cipher.encrypt(IV, b"loss 0.250000"), cipher.encrypt(IV, b"loss 0.500000")
    third = forge(first, second, b"\0\0\0\0\0\1")
    assert third is not None
    assert cipher.decrypt(IV, third) == b"loss 1.250000"
    cipher = AesGcm(KEY)
    third = forge(cipher.encrypt(IV, b"loss 0.25"), cipher.encrypt(bytes([1] * 12), b"loss 0.50"), b"\1")
    assert third is not None
    with pytest.raises(AuthenticationError):
        cipher.decrypt(IV, third)


@pytest.mark.parametrize("second", [b"loss 0.25", b"loss 0.2", bytes(17)], ids=["the same", "shorter", "longer"])
def test_what_one_division_does_not_solve_is_left_out(second: bytes) -> None:
    cipher = AesGcm(KEY)
    assert forge(cipher.encrypt(IV, b"loss 0.25"), cipher.encrypt(IV, second), b"\1") is None
