"""Real bytes on the data path: delivered once, in order, verified before use; whatever the platform does is noticed."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.datapath.costs import Costs, StageCost
from carnet_ref.datapath.delivery import (
    DeliveryError,
    IvLedger,
    IvReuseError,
    UnverifiedUseError,
    deliver,
)
from carnet_ref.datapath.pipeline import Transfer
from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.datapath.schedule import Schedule, Stage, Task
from carnet_ref.datapath.schedules.asymmetric import Split, asymmetric
from carnet_ref.datapath.schedules.sharing import TO_GPU, Journey, conventional, gpu_travelling
from tests.fixtures import datapath
from tests.fixtures.datapath_platforms import FREE, Fault, Meddler, deliver_with_retries, payload_of
from tests.fixtures.splitting import infer, low_rank_and_residual


@given(datapath.DELIVERIES, st.integers(0, 2**32))
def test_every_chunk_arrives_once_in_order_and_unaltered(schedule: Schedule, seed: int) -> None:
    payload = payload_of(schedule, seed)
    delivery = deliver(schedule, payload, random.Random(seed).randbytes)
    assert dict(delivery.delivered) == payload
    assert list(delivery.delivered) == sorted(payload)


@given(datapath.DELIVERIES, st.sampled_from(Fault), st.integers(0, 2**32), st.data())
def test_whatever_the_platform_does_to_a_message_is_noticed(
    schedule: Schedule, fault: Fault, seed: int, data: st.DataObject
) -> None:
    payload = payload_of(schedule, seed)
    honest = Meddler(fault, -2)
    if fault is Fault.TRUNCATE:
        honest = Meddler(Fault.DROP, -2)
    deliver(schedule, payload, random.Random(seed).randbytes, honest)
    assume(honest.seen)
    meddler = Meddler(fault, data.draw(st.integers(0, len(honest.seen) - 1)))
    with pytest.raises(DeliveryError):
        deliver(schedule, payload, random.Random(seed).randbytes, meddler)
    assert meddler.acted


def model_of(schedule: Schedule) -> set[int | None]:
    """Return the chunks of the model that stay on the GPU."""
    return {task.chunk for task in schedule.tasks if task.stage is Stage.GPU_DECRYPT and task.channel == TO_GPU}


@given(datapath.DELIVERIES)
def test_a_computation_reads_only_what_was_released_and_a_scrub_leaves_the_model_alone(schedule: Schedule) -> None:
    delivery = deliver(schedule, payload_of(schedule, 1), random.Random(1).randbytes)
    computes = [position for position, task in enumerate(schedule.tasks) if task.stage is Stage.COMPUTE]
    for position, readable in zip(computes, delivery.used, strict=True):
        before = {task.chunk for task in schedule.tasks[:position] if task.stage is Stage.GPU_DECRYPT}
        scrubs = [p for p in range(position) if schedule.tasks[p].stage is Stage.SCRUB]
        scrubbed = {schedule.tasks[p].channel for p in scrubs}
        gone = {task.chunk for task in schedule.tasks if task.channel in scrubbed}
        assert readable == before - gone
    if any(task.stage is Stage.SCRUB for task in schedule.tasks):
        assert delivery.resident == model_of(schedule)


@given(datapath.JOURNEYS, st.data())
def test_a_computation_while_anything_waits_for_its_release_is_refused(journey: Journey, data: st.DataObject) -> None:
    tasks = gpu_travelling(journey, Costs({stage: StageCost() for stage in Stage})).tasks
    at = data.draw(st.sampled_from([index for index, task in enumerate(tasks) if task.stage is Stage.GPU_DECRYPT]))
    later = [task._replace(after=tuple(before + (before >= at) for before in task.after)) for task in tasks[at:]]
    hasty = Schedule("hasty", (*tasks[:at], Task(Stage.COMPUTE, "GPU", 0.0), *later))
    with pytest.raises(UnverifiedUseError, match="not released"):
        deliver(hasty, payload_of(hasty, 1), random.Random(1).randbytes)


def test_a_schedule_that_releases_before_it_verifies_is_refused() -> None:
    schedule = conventional(Transfer(Size(8), Size(4)), FREE)
    hasty = tuple(task for task in schedule.tasks if task.stage is not Stage.GPU_VERIFY)
    tasks = tuple(task._replace(after=()) for task in hasty)
    with pytest.raises(UnverifiedUseError):
        deliver(replace(schedule, tasks=tasks), payload_of(schedule, 1), random.Random(1).randbytes)


@given(datapath.transfers(), datapath.COSTS, st.integers(1, 5), st.integers(0, 2**32))
def test_rotations_in_mid_transfer_lose_nothing_and_reuse_no_iv(
    transfer: Transfer, costs: Costs, every: int, seed: int
) -> None:
    schedule = conventional(replace(transfer, rotate_every=every), costs)
    payload, ledger = payload_of(schedule, seed), IvLedger()
    delivery = deliver(schedule, payload, random.Random(seed).randbytes, ledger=ledger)
    assert dict(delivery.delivered) == payload
    assert len(ledger) == 2 * len(payload)
    rotations = sum(task.stage is Stage.ROTATION for task in schedule.tasks)
    assert rotations == (len(payload) - 1) // every


def test_a_rotation_that_leaves_the_key_as_it_was_is_caught() -> None:
    schedule = conventional(Transfer(Size(8), Size(1), rotate_every=4), FREE)
    with pytest.raises(IvReuseError):
        deliver(schedule, payload_of(schedule, 1), bytes)


@given(datapath.DELIVERIES, st.lists(st.sampled_from(Fault), max_size=3), st.integers(0, 2**32))
def test_retries_use_new_keys_and_reuse_no_iv(schedule: Schedule, faults: list[Fault], seed: int) -> None:
    payload, ledger, once = payload_of(schedule, seed), IvLedger(), IvLedger()
    deliver(schedule, payload, random.Random(seed).randbytes, ledger=once)
    platforms = [*(Meddler(fault, index) for index, fault in enumerate(faults)), Meddler(Fault.TAMPER, -2)]
    delivery = deliver_with_retries(schedule, payload, random.Random(seed).randbytes, platforms, ledger)
    assert dict(delivery.delivered) == payload
    assert len(ledger) >= len(once)


def test_a_retry_under_the_same_key_is_caught() -> None:
    schedule = conventional(Transfer(Size(8), Size(1)), FREE)
    platforms = [Meddler(Fault.TAMPER, 3), Meddler(Fault.TAMPER, -2)]
    with pytest.raises(IvReuseError):
        deliver_with_retries(schedule, payload_of(schedule, 1), bytes, platforms, IvLedger())


@given(datapath.JOURNEYS, datapath.COSTS, st.integers(0, 2**32))
def test_the_link_of_a_travelling_gpu_carries_each_byte_once_and_nothing_else(
    journey: Journey, costs: Costs, seed: int
) -> None:
    schedule = gpu_travelling(journey, costs)
    payload, platform = payload_of(schedule, seed), Meddler(Fault.TAMPER, -2)
    deliver(schedule, payload, random.Random(seed).randbytes, platform)
    assert [len(message) for message in platform.seen] == [len(chunk) + TAG_BYTES for chunk in payload.values()]


@given(datapath.splits(), datapath.COSTS, st.integers(0, 2**32))
def test_the_asymmetric_split_delivers_both_ways(split: Split, costs: Costs, seed: int) -> None:
    schedule = asymmetric(split, costs)
    payload = payload_of(schedule, seed)
    assert dict(deliver(schedule, payload, random.Random(seed).randbytes).delivered) == payload


@st.composite
def networks(draw: st.DrawFn) -> tuple[Any, list[Any], int]:
    """Draw activations, the weights of a few layers, and a rank."""
    channels, values, layers = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = [source.integers(-8, 8, (channels, channels)) for _ in range(layers)]
    return source.integers(-128, 128, (channels, values)), weights, draw(st.integers(1, channels))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32))
def test_what_has_a_low_rank_stays_in_the_tee(channels: int, values: int, rank: int, seed: int) -> None:
    source = np.random.default_rng(seed)
    activations = source.integers(-50, 50, (channels, rank)) @ source.integers(-50, 50, (rank, values))
    low, residual = low_rank_and_residual(activations, rank)
    assert not residual.any()
    assert np.array_equal(low, activations)


def test_what_has_a_higher_rank_leaves_its_strongest_part_in_the_tee() -> None:
    low, residual = low_rank_and_residual(np.diag([100, 10, 1]), 1)
    assert np.array_equal(low, np.diag([100, 0, 0]))
    assert np.array_equal(residual, np.diag([0, 10, 1]))


@given(networks(), datapath.COSTS)
def test_tee_and_gpu_together_compute_what_one_machine_would(network: tuple[Any, list[Any], int], costs: Costs) -> None:
    activations, weights, rank = network
    platform = Meddler(Fault.TAMPER, -2)
    got = infer(activations, weights, rank, costs, random.Random(1).randbytes, platform)
    expected = weights[0] @ activations
    for layer in weights[1:]:
        expected = layer @ np.maximum(expected, 0)
    assert np.array_equal(got, expected)
    assert [len(message) for message in platform.seen] == [activations.nbytes + TAG_BYTES] * (2 * len(weights))


@given(networks(), datapath.COSTS, st.sampled_from(Fault), st.data())
def test_what_is_altered_on_the_split_is_never_added(
    network: tuple[Any, list[Any], int], costs: Costs, fault: Fault, data: st.DataObject
) -> None:
    activations, weights, rank = network
    meddler = Meddler(fault, data.draw(st.integers(0, 2 * len(weights) - 1)))
    with pytest.raises(DeliveryError):
        infer(activations, weights, rank, costs, random.Random(1).randbytes, meddler)


def test_a_split_of_what_does_not_fit_is_refused() -> None:
    square, wide = np.ones((2, 2), np.int64), np.ones((2, 2**17), np.int64)
    for activations, weights, rank in (
        (square, [np.ones((3, 2), np.int64)], 1),
        (wide, [square], 1),
        (square, [square], 3),
    ):
        with pytest.raises(QuantityError):
            infer(activations, weights, rank, FREE, random.Random(1).randbytes)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32))
def test_low_rank_part_and_residual_add_up_exactly(channels: int, values: int, rank: int, seed: int) -> None:
    activations = np.random.default_rng(seed).integers(-128, 128, (channels, values))
    low, residual = low_rank_and_residual(activations, rank)
    assert np.array_equal(low + residual, activations)
