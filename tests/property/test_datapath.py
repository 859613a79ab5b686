"""The data path: what bytes cross, how holders are served, and how long it takes."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.datapath.quantities import NO_TIME, Duration, QuantityError, Size
from carnet_ref.datapath.schedule import (
    Costs,
    Overlap,
    Schedule,
    Stage,
    StageCost,
    Task,
    Transfer,
    completion,
    makespan,
)
from carnet_ref.datapath.schedules import sharing
from carnet_ref.datapath.schedules.confidential_io import (
    BASE,
    Fastrack,
    Optimisation,
    break_even_overhead,
    confidential,
    ladder,
)
from carnet_ref.datapath.schedules.ring import Ring, ring_all_reduce
from carnet_ref.datapath.schedules.sharing import TO_GPU, Journey, conventional, gpu_travelling
from carnet_ref.datapath.schedules.speculation import (
    ON_DEMAND,
    Action,
    Speculation,
    plan,
    speculative,
)
from tests.fixtures import datapath
from tests.fixtures.asymmetric import Split, asymmetric, tee_only
from tests.fixtures.delivery import (
    DeliveryError,
    IvLedger,
    IvReuseError,
    UnverifiedUseError,
    by_clock,
    deliver,
)


@given(datapath.DELIVERIES, st.integers(0, 2**32))
def test_every_chunk_arrives_once_in_order_and_unaltered(schedule: Schedule, seed: int) -> None:
    payload = datapath.payload_of(schedule, seed)
    delivery = deliver(schedule, payload, random.Random(seed).randbytes)
    assert dict(delivery.delivered) == payload
    assert list(delivery.delivered) == sorted(payload)


@given(datapath.DELIVERIES, st.sampled_from(datapath.Fault), st.integers(0, 2**32), st.data())
def test_whatever_the_platform_does_to_a_message_is_noticed(
    schedule: Schedule, fault: datapath.Fault, seed: int, data: st.DataObject
) -> None:
    payload = datapath.payload_of(schedule, seed)
    honest = datapath.Meddler(fault, -2)
    if fault is datapath.Fault.TRUNCATE:
        honest = datapath.Meddler(datapath.Fault.DROP, -2)
    deliver(schedule, payload, random.Random(seed).randbytes, honest)
    assume(honest.seen)
    meddler = datapath.Meddler(fault, data.draw(st.integers(0, len(honest.seen) - 1)))
    with pytest.raises(DeliveryError):
        deliver(schedule, payload, random.Random(seed).randbytes, meddler)
    assert meddler.acted


def model_of(schedule: Schedule) -> set[int | None]:
    """Return the chunks of the model that stay on the GPU."""
    return {task.chunk for task in schedule.tasks if task.stage is Stage.GPU_DECRYPT and task.channel == TO_GPU}


@given(datapath.DELIVERIES)
def test_a_computation_reads_only_what_was_released_and_a_scrub_leaves_the_model_alone(schedule: Schedule) -> None:
    delivery = deliver(schedule, datapath.payload_of(schedule, 1), random.Random(1).randbytes)
    computes = [position for position, task in enumerate(schedule.tasks) if task.stage is Stage.COMPUTE]
    for position, readable in zip(computes, delivery.used, strict=True):
        before = {task.chunk for task in schedule.tasks[:position] if task.stage is Stage.GPU_DECRYPT}
        scrubs = [p for p in range(position) if schedule.tasks[p].stage is Stage.SCRUB]
        scrubbed = {schedule.tasks[p].channel for p in scrubs}
        assert readable == before - {task.chunk for task in schedule.tasks if task.channel in scrubbed}
    if any(task.stage is Stage.SCRUB for task in schedule.tasks):
        assert delivery.resident == model_of(schedule)


@given(datapath.JOURNEYS, st.data())
def test_a_computation_while_anything_waits_for_its_release_is_refused(journey: Journey, data: st.DataObject) -> None:
    tasks = gpu_travelling(journey, Costs({stage: StageCost() for stage in Stage})).tasks
    at = data.draw(st.sampled_from([index for index, task in enumerate(tasks) if task.stage is Stage.GPU_DECRYPT]))
    later = [task._replace(after=tuple(before + (before >= at) for before in task.after)) for task in tasks[at:]]
    hasty = Schedule("hasty", (*tasks[:at], Task(Stage.COMPUTE, "GPU", 0.0), *later))
    with pytest.raises(UnverifiedUseError, match="not released"):
        deliver(hasty, datapath.payload_of(hasty, 1), random.Random(1).randbytes)


def test_a_schedule_that_releases_before_it_verifies_is_refused() -> None:
    schedule = conventional(Transfer(Size(8), Size(4)), datapath.FREE)
    hasty = tuple(task for task in schedule.tasks if task.stage is not Stage.GPU_VERIFY)
    tasks = tuple(task._replace(after=()) for task in hasty)
    with pytest.raises(UnverifiedUseError):
        deliver(replace(schedule, tasks=tasks), datapath.payload_of(schedule, 1), random.Random(1).randbytes)


@given(datapath.transfers(), datapath.COSTS, st.integers(1, 5), st.integers(0, 2**32))
def test_rotations_in_mid_transfer_lose_nothing_and_reuse_no_iv(
    transfer: Transfer, costs: Costs, every: int, seed: int
) -> None:
    schedule = conventional(replace(transfer, rotate_every=every), costs)
    payload, ledger = datapath.payload_of(schedule, seed), IvLedger()
    delivery = deliver(schedule, payload, random.Random(seed).randbytes, ledger=ledger)
    assert dict(delivery.delivered) == payload
    assert len(ledger) == 2 * len(payload)
    assert sum(task.stage is Stage.ROTATION for task in schedule.tasks) == (len(payload) - 1) // every


def test_a_rotation_that_leaves_the_key_as_it_was_is_caught() -> None:
    schedule = conventional(Transfer(Size(8), Size(1), rotate_every=4), datapath.FREE)
    with pytest.raises(IvReuseError):
        deliver(schedule, datapath.payload_of(schedule, 1), bytes)


@given(datapath.DELIVERIES, st.lists(st.sampled_from(datapath.Fault), max_size=3), st.integers(0, 2**32))
def test_retries_use_new_keys_and_reuse_no_iv(schedule: Schedule, faults: list[datapath.Fault], seed: int) -> None:
    payload, ledger, once = datapath.payload_of(schedule, seed), IvLedger(), IvLedger()
    deliver(schedule, payload, random.Random(seed).randbytes, ledger=once)
    platforms = [
        *(datapath.Meddler(fault, index) for index, fault in enumerate(faults)),
        datapath.Meddler(datapath.Fault.TAMPER, -2),
    ]
    delivery = datapath.deliver_with_retries(schedule, payload, random.Random(seed).randbytes, platforms, ledger)
    assert dict(delivery.delivered) == payload
    assert len(ledger) >= len(once)


def test_a_retry_under_the_same_key_is_caught() -> None:
    schedule = conventional(Transfer(Size(8), Size(1)), datapath.FREE)
    platforms = [datapath.Meddler(datapath.Fault.TAMPER, 3), datapath.Meddler(datapath.Fault.TAMPER, -2)]
    with pytest.raises(IvReuseError):
        datapath.deliver_with_retries(schedule, datapath.payload_of(schedule, 1), bytes, platforms, IvLedger())


@given(datapath.JOURNEYS, datapath.COSTS, st.integers(0, 2**32))
def test_the_link_of_a_travelling_gpu_carries_each_byte_once_and_nothing_else(
    journey: Journey, costs: Costs, seed: int
) -> None:
    schedule = gpu_travelling(journey, costs)
    payload, platform = datapath.payload_of(schedule, seed), datapath.Meddler(datapath.Fault.TAMPER, -2)
    deliver(schedule, payload, random.Random(seed).randbytes, platform)
    assert [len(message) for message in platform.seen] == [len(chunk) + TAG_BYTES for chunk in payload.values()]


@given(datapath.splits(), datapath.COSTS, st.integers(0, 2**32))
def test_the_asymmetric_split_delivers_both_ways(split: Split, costs: Costs, seed: int) -> None:
    schedule = asymmetric(split, costs)
    payload = datapath.payload_of(schedule, seed)
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
    low, residual = datapath.low_rank_and_residual(activations, rank)
    assert not residual.any()
    assert np.array_equal(low, activations)


def test_what_has_a_higher_rank_leaves_its_strongest_part_in_the_tee() -> None:
    low, residual = datapath.low_rank_and_residual(np.diag([100, 10, 1]), 1)
    assert np.array_equal(low, np.diag([100, 0, 0]))
    assert np.array_equal(residual, np.diag([0, 10, 1]))


@given(networks(), datapath.COSTS)
def test_tee_and_gpu_together_compute_what_one_machine_would(network: tuple[Any, list[Any], int], costs: Costs) -> None:
    activations, weights, rank = network
    platform = datapath.Meddler(datapath.Fault.TAMPER, -2)
    got = datapath.infer(activations, weights, rank, costs, random.Random(1).randbytes, platform)
    expected = weights[0] @ activations
    for layer in weights[1:]:
        expected = layer @ np.maximum(expected, 0)
    assert np.array_equal(got, expected)
    assert [len(message) for message in platform.seen] == [activations.nbytes + TAG_BYTES] * (2 * len(weights))


@given(networks(), datapath.COSTS, st.sampled_from(datapath.Fault), st.data())
def test_what_is_altered_on_the_split_is_never_added(
    network: tuple[Any, list[Any], int], costs: Costs, fault: datapath.Fault, data: st.DataObject
) -> None:
    activations, weights, rank = network
    meddler = datapath.Meddler(fault, data.draw(st.integers(0, 2 * len(weights) - 1)))
    with pytest.raises(DeliveryError):
        datapath.infer(activations, weights, rank, costs, random.Random(1).randbytes, meddler)


def test_a_split_of_what_does_not_fit_is_refused() -> None:
    square, wide = np.ones((2, 2), np.int64), np.ones((2, 2**17), np.int64)
    for activations, weights, rank in (
        (square, [np.ones((3, 2), np.int64)], 1),
        (wide, [square], 1),
        (square, [square], 3),
    ):
        with pytest.raises(QuantityError):
            datapath.infer(activations, weights, rank, datapath.FREE, random.Random(1).randbytes)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32))
def test_low_rank_part_and_residual_add_up_exactly(channels: int, values: int, rank: int, seed: int) -> None:
    activations = np.random.default_rng(seed).integers(-128, 128, (channels, values))
    low, residual = datapath.low_rank_and_residual(activations, rank)
    assert np.array_equal(low + residual, activations)


# -- real bytes ahead of time and around a ring ----------------------------------------------------------


@given(
    datapath.servings(),
    datapath.SPECULATIONS,
    st.lists(st.dictionaries(datapath.BLOCKS, st.binary(min_size=4, max_size=4)), max_size=8),
)
def test_speculation_serves_what_was_asked_for_and_reuses_no_iv(
    serving: tuple[list[int], list[int]], speculation: Speculation, writes: list[dict[int, bytes]]
) -> None:
    requests, expected = serving
    blocks = {block: bytes([block]) * 4 for block in range(6)}
    served = datapath.serve_speculatively(requests, expected, blocks, random.Random(1).randbytes, speculation, writes)
    memory = dict(blocks)
    for request, got in enumerate(served):
        memory.update(writes[request] if request < len(writes) else {})
        assert got == memory[requests[request]]
    assert len(served) == len(requests)


@given(datapath.servings(), datapath.SPECULATIONS, st.integers(1, 14))
def test_speculation_goes_on_under_a_new_key_and_reuses_no_iv(
    serving: tuple[list[int], list[int]], speculation: Speculation, at: int
) -> None:
    """What was sealed ahead under the old key dies with it."""
    blocks, ledger, source = {block: bytes([block]) * 4 for block in range(6)}, IvLedger(), random.Random(1).randbytes
    requests, expected = serving
    for part in (slice(at), slice(at, None)):
        served = datapath.serve_speculatively(
            requests[part], expected[part], blocks, source, speculation, ledger=ledger
        )
        assert list(served) == [blocks[block] for block in requests[part]]


def test_speculation_that_goes_on_under_the_old_key_is_caught() -> None:
    ledger = IvLedger()
    datapath.serve_speculatively([1], [1], {1: b"1"}, bytes, Speculation(), ledger=ledger)
    with pytest.raises(IvReuseError):
        datapath.serve_speculatively([1], [1], {1: b"1"}, bytes, Speculation(), ledger=ledger)


@given(datapath.servings(), datapath.SPECULATIONS)
def test_what_is_sent_uses_every_message_counter_once_and_in_order(
    serving: tuple[list[int], list[int]], speculation: Speculation
) -> None:
    moves = plan(*serving, speculation)
    sent = [move.counter for move in moves if move.action is not Action.SPECULATE]
    assert sent == list(range(1, len(sent) + 1))
    sealed = [move.counter for move in moves if move.action in {Action.SPECULATE, Action.SEAL_AND_SEND, Action.NOP}]
    assert len(sealed) == len(set(sealed))


@given(datapath.servings(), datapath.SPECULATIONS, datapath.COSTS)
def test_the_bus_carries_what_was_planned_and_sealed_in_the_order_of_its_ivs(
    serving: tuple[list[int], list[int]], speculation: Speculation, costs: Costs
) -> None:
    sent = [move for move in plan(*serving, speculation) if move.action is not Action.SPECULATE]
    tasks = list(by_clock(speculative(*serving, Size(1), costs, speculation)))
    on_bus = [task.chunk for task in tasks if task.stage in {Stage.PCIE, Stage.NOP}]
    assert on_bus == [None if move.action is Action.NOP else move.counter for move in sent]
    at = {(task.stage, task.chunk): position for position, task in enumerate(tasks)}
    for counter in filter(None, on_bus):
        assert at[Stage.RE_ENCRYPT, counter] < at[Stage.PCIE, counter] < at[Stage.GPU_VERIFY, counter]


@given(datapath.servings(), datapath.SPECULATIONS, st.sampled_from(datapath.Fault), st.data())
def test_whatever_the_platform_does_to_a_speculated_message_is_noticed(
    serving: tuple[list[int], list[int]], speculation: Speculation, fault: datapath.Fault, data: st.DataObject
) -> None:
    requests, expected = serving
    sent = sum(move.action is not Action.SPECULATE for move in plan(requests, expected, speculation))
    meddler = datapath.Meddler(fault, data.draw(st.integers(0, sent - 1)))
    blocks = {block: bytes([block]) * 4 for block in range(6)}
    with pytest.raises(DeliveryError):
        datapath.serve_speculatively(
            requests, expected, blocks, random.Random(1).randbytes, speculation, platform=meddler
        )


SEALING_ONLY = Costs({stage: StageCost() for stage in Stage} | {Stage.RE_ENCRYPT: StageCost(Duration(1.0))})


def misprediction_cost(
    requests: Sequence[int], predictions: Sequence[int], block: Size, costs: Costs, speculation: Speculation
) -> float:
    """Return the seconds that speculation may lose against sealing on demand: what PipeLLM declares as its worst case.

    A NOP costs itself; a flush costs a whole transfer of a block sealed for nothing; and a block sealed on demand may
    find every worker busy with the blocks of the window.
    """
    transport = sum(costs.seconds(stage, block) for stage in (Stage.PCIE, Stage.GPU_VERIFY, Stage.GPU_DECRYPT))
    sealing = costs.seconds(Stage.RE_ENCRYPT, block)
    price = {
        Action.NOP: costs.seconds(Stage.NOP),
        Action.FLUSH: sealing + transport,
        Action.SEAL_AND_SEND: speculation.window * sealing,
    }
    return sum(price.get(move.action, 0.0) for move in plan(requests, predictions, speculation))


@example(([1, 2, 3], [1, 5, 5]), Speculation(2, 2, 1), SEALING_ONLY, Size(1))  # the worker is busy with wrong guesses
@given(datapath.servings(), datapath.SPECULATIONS, datapath.COSTS, st.integers(1, 4096).map(Size))
def test_pipellm_loses_at_most_its_declared_misprediction_cost(
    serving: tuple[list[int], list[int]], speculation: Speculation, costs: Costs, block: Size
) -> None:
    schedule = speculative(*serving, block, costs, speculation)
    on_demand = makespan(speculative(*serving, block, costs, ON_DEMAND))
    allowed = on_demand + misprediction_cost(*serving, block, costs, speculation)
    assert makespan(schedule) <= allowed * (1 + 1e-12)


@given(st.lists(datapath.BLOCKS, min_size=1, max_size=15), st.integers(1, 4), st.integers(1, 3), datapath.COSTS)
def test_perfect_prediction_never_loses(requests: list[int], window: int, workers: int, costs: Costs) -> None:
    speculation = Speculation(window, 0, workers)
    block = Size(100)
    ahead = makespan(speculative(requests, requests, block, costs, speculation))
    assert ahead <= makespan(speculative(requests, requests, block, costs)) * (1 + 1e-12)


@given(datapath.RINGS, datapath.COSTS, st.integers(0, 2**32))
def test_every_rank_ends_with_the_sum(ring: Ring, costs: Costs, seed: int) -> None:
    source = random.Random(seed)
    gradients = [source.randbytes(ring.gradient.octets) for _ in range(ring.ranks)]
    total = np.sum([np.frombuffer(gradient, np.uint8) for gradient in gradients], axis=0, dtype=np.uint8).tobytes()
    assert datapath.all_reduce(ring, costs, gradients, source.randbytes) == (total,) * ring.ranks


@given(datapath.RINGS, datapath.COSTS, st.sampled_from(datapath.Fault), st.data())
def test_what_is_altered_on_the_ring_is_never_summed(
    ring: Ring, costs: Costs, fault: datapath.Fault, data: st.DataObject
) -> None:
    gradients = [bytes([rank]) * ring.gradient.octets for rank in range(ring.ranks)]
    hops = ring.ranks * ring.sub_steps * len(ring.buckets)
    meddler = datapath.Meddler(fault, data.draw(st.integers(0, hops - 1)))
    with pytest.raises(DeliveryError):
        datapath.all_reduce(ring, costs, gradients, random.Random(1).randbytes, meddler)


@given(datapath.RINGS, datapath.COSTS)
def test_a_ring_takes_2n_minus_2_sub_steps_for_each_bucket(ring: Ring, costs: Costs) -> None:
    schedule = ring_all_reduce(ring, costs)
    hops = sum(task.stage is Stage.PEER_LINK for task in schedule.tasks)
    assert hops == 2 * (ring.ranks - 1) * ring.ranks * len(ring.buckets)
    carried = sum(schedule.bytes_through(Stage.PEER_LINK).values())
    assert carried == 2 * (ring.ranks - 1) * ring.gradient.octets


def test_a_ring_with_the_wrong_gradients_is_refused() -> None:
    with pytest.raises(QuantityError):
        datapath.all_reduce(Ring(2, Size(4), Size(4)), datapath.FREE, [b"1234", b"123"], random.Random(1).randbytes)


# -- time on the data path: three ways to compute it agree, and it behaves as time should ----------------


@given(datapath.SCHEDULES)
def test_simulation_task_graph_and_recurrence_give_the_same_time(schedule: Schedule) -> None:
    simulated = datapath.simulate(schedule)
    assert simulated == completion(schedule)
    assert datapath.longest_path_seconds(schedule) == simulated.makespan


@given(datapath.SCHEDULES)
def test_the_critical_path_accounts_for_the_whole_time(schedule: Schedule) -> None:
    assert sum(datapath.critical_seconds(schedule).values()) == pytest.approx(makespan(schedule), abs=1e-12)
    path = datapath.critical_path(schedule)
    assert sorted(path) == list(path)


@given(datapath.SCHEDULES)
def test_no_resource_does_two_things_at_once(schedule: Schedule) -> None:
    timing = datapath.simulate(schedule)
    free: dict[str, float] = {}
    for task, start, end in zip(schedule.tasks, timing.starts, timing.ends, strict=True):
        assert start >= free.get(task.resource, 0.0)
        assert all(timing.ends[before] <= start for before in task.after)
        free[task.resource] = end


def busiest(schedule: Schedule) -> float:
    """Return how long the resource works that works longest."""
    busy: defaultdict[str, float] = defaultdict(float)
    for task in schedule.tasks:
        busy[task.resource] += task.seconds
    return max(busy.values())


@given(datapath.transfers(), datapath.COSTS)
def test_pipelined_is_never_slower_than_serial_nor_faster_than_its_slowest_stage(
    transfer: Transfer, costs: Costs
) -> None:
    pipelined = conventional(replace(transfer, overlap=Overlap.PIPELINED), costs)
    serial = conventional(replace(transfer, overlap=Overlap.SERIAL), costs)
    assert makespan(pipelined) <= makespan(serial)
    assert makespan(serial) == pytest.approx(sum(task.seconds for task in serial.tasks))
    assert makespan(pipelined) >= busiest(pipelined) * (1 - 1e-12)


@given(datapath.transfers(4), st.integers(1, 2), st.integers(1, 2), datapath.COSTS)
def test_a_pipelined_exchange_of_models_is_never_slower_than_a_serial_one(
    model: Transfer, holders: int, rounds: int, costs: Costs
) -> None:
    pipelined, serial = (
        sharing.shared_model(replace(model, overlap=overlap), holders, rounds, costs)
        for overlap in (Overlap.PIPELINED, Overlap.SERIAL)
    )
    assert busiest(pipelined) * (1 - 1e-12) <= makespan(pipelined) <= makespan(serial)
    assert makespan(serial) == pytest.approx(sum(task.seconds for task in serial.tasks))


@given(datapath.JOURNEYS, datapath.COSTS)
def test_a_pipelined_journey_is_never_slower_than_a_serial_one(journey: Journey, costs: Costs) -> None:
    def whole(overlap: Overlap) -> float:
        legs = [replace(transfer, overlap=overlap) for transfer in journey.hand_overs]
        model = journey.model and replace(journey.model, overlap=overlap)
        return makespan(gpu_travelling(replace(journey, hand_overs=legs, model=model), costs))

    assert whole(Overlap.PIPELINED) <= whole(Overlap.SERIAL)


@given(datapath.transfers(), datapath.COSTS, st.integers(1, 6))
def test_fewer_bounce_buffers_never_help(transfer: Transfer, costs: Costs, buffers: int) -> None:
    few, more = (makespan(conventional(replace(transfer, buffers=n), costs)) for n in (buffers, buffers + 1))
    assert few >= more >= makespan(conventional(replace(transfer, buffers=None), costs))


@given(datapath.COSTS, st.integers(1, 40), st.integers(1, 4096))
def test_equal_chunks_follow_the_closed_form(costs: Costs, chunks: int, octets: int) -> None:
    transfer = Transfer(Size(chunks * octets), Size(octets))
    on = frozenset({Optimisation.DIRECT, Optimisation.OVERLAPPED})
    stages = [costs.seconds(stage, Size(octets)) for stage in (Stage.PCIE, Stage.GPU_VERIFY, Stage.GPU_DECRYPT)]
    expected = sum(stages) + (chunks - 1) * max(stages)  # the permutation flow shop with identical jobs
    assert makespan(confidential(transfer, costs, Fastrack(on))) == pytest.approx(expected, rel=1e-9)


@given(datapath.SCHEDULES, st.data())
def test_time_is_monotone_in_every_cost(schedule: Schedule, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(schedule.tasks) - 1))
    longer = schedule.tasks[position]._replace(seconds=schedule.tasks[position].seconds + data.draw(st.floats(0, 10)))
    tasks: tuple[Task, ...] = (*schedule.tasks[:position], longer, *schedule.tasks[position + 1 :])
    assert makespan(replace(schedule, tasks=tasks)) >= makespan(schedule)


@given(datapath.transfers(), datapath.COSTS, st.sampled_from(Stage), st.floats(0, 10))
def test_time_is_monotone_in_the_cost_of_every_stage(
    transfer: Transfer, costs: Costs, stage: Stage, extra: float
) -> None:
    cost = costs.stages[stage]
    dearer = costs.with_costs({stage: StageCost(Duration(cost.fixed.seconds + extra), cost.rate)})
    assert makespan(conventional(transfer, dearer)) >= makespan(conventional(transfer, costs))


@given(datapath.transfers(), datapath.COSTS, st.sampled_from(ladder()), st.integers(0, 10_000))
def test_time_is_monotone_in_size(transfer: Transfer, costs: Costs, on: frozenset[Optimisation], more: int) -> None:
    larger = replace(transfer, total=transfer.total + Size(more))
    assert makespan(conventional(larger, costs)) >= makespan(conventional(transfer, costs))
    fastrack = Fastrack(on, 3)
    assert makespan(confidential(larger, costs, fastrack)) >= makespan(confidential(transfer, costs, fastrack))
    assert makespan(sharing.shared_model(larger, 1, 1, costs)) >= makespan(sharing.shared_model(transfer, 1, 1, costs))


@given(datapath.JOURNEYS, datapath.COSTS, st.integers(0, 10_000), st.data())
def test_a_journey_takes_longer_with_more_data_or_more_to_scrub(
    journey: Journey, costs: Costs, more: int, data: st.DataObject
) -> None:
    now = makespan(gpu_travelling(journey, costs))
    visit = data.draw(st.integers(0, len(journey.hand_overs) - 1))
    legs = list(journey.hand_overs)
    legs[visit] = replace(legs[visit], total=legs[visit].total + Size(more))
    assert makespan(gpu_travelling(replace(journey, hand_overs=legs), costs)) >= now
    assert makespan(gpu_travelling(replace(journey, scrubbed=journey.scrubbed + Size(more)), costs)) >= now


@given(datapath.RINGS, datapath.COSTS, st.integers(0, 500))
def test_a_ring_takes_longer_with_a_larger_gradient(ring: Ring, costs: Costs, more: int) -> None:
    larger = replace(ring, gradient=ring.gradient + Size(more))
    assert makespan(ring_all_reduce(larger, costs)) >= makespan(ring_all_reduce(ring, costs))


@given(datapath.servings(), datapath.SPECULATIONS, datapath.COSTS, st.integers(1, 4096), st.integers(0, 4096))
def test_serving_takes_longer_with_larger_blocks(
    serving: tuple[list[int], list[int]], speculation: Speculation, costs: Costs, octets: int, more: int
) -> None:
    smaller, larger = (speculative(*serving, Size(size), costs, speculation) for size in (octets, octets + more))
    assert makespan(larger) >= makespan(smaller)


@given(datapath.splits(), datapath.COSTS, st.integers(0, 500))
def test_a_split_takes_longer_with_larger_layers(split: Split, costs: Costs, more: int) -> None:
    larger = replace(split, layer=split.layer + Size(more))
    assert makespan(asymmetric(larger, costs)) >= makespan(asymmetric(split, costs))
    assert makespan(tee_only(larger, costs)) >= makespan(tee_only(split, costs))


@given(
    datapath.transfers(), datapath.COSTS, st.sampled_from(ladder()), st.sampled_from(Optimisation), st.integers(1, 64)
)
def test_without_overhead_one_more_fastrack_optimisation_never_hurts(
    transfer: Transfer, costs: Costs, on: frozenset[Optimisation], more: Optimisation, width: int
) -> None:
    before = makespan(confidential(transfer, costs, Fastrack(on, width)))
    assert makespan(confidential(transfer, costs, Fastrack(on | {more}, width))) <= before * (1 + 1e-12)


@given(datapath.transfers(), datapath.COSTS, st.sampled_from(ladder()[1:]), st.integers(1, 64))
def test_the_break_even_overhead_is_where_fastrack_stops_paying(
    transfer: Transfer, costs: Costs, on: frozenset[Optimisation], width: int
) -> None:
    fastrack = Fastrack(on, width)
    even = break_even_overhead(transfer, costs, fastrack).seconds
    base = makespan(confidential(transfer, costs))
    assert makespan(confidential(transfer, costs, replace(fastrack, overhead=Duration(even)))) <= base
    beyond = Duration(even * (1 + 1e-6) + base * 1e-9 + 1e-12)
    assert makespan(confidential(transfer, costs, replace(fastrack, overhead=beyond))) >= base


def test_with_overhead_an_optimisation_can_hurt() -> None:
    costs = Costs({stage: StageCost(Duration(1e-3)) for stage in Stage})
    transfer = Transfer(Size(8), Size(1))
    slow = Fastrack(frozenset({Optimisation.PARALLEL}), 8, Duration(1e-3))
    assert makespan(confidential(transfer, costs, slow)) > makespan(confidential(transfer, costs, BASE))


@given(datapath.JOURNEYS, datapath.COSTS)
def test_gpu_travelling_moves_each_dataset_byte_over_the_link_exactly_once(journey: Journey, costs: Costs) -> None:
    """The model crosses before the first visit and after the last, and nothing else does, however many visits."""
    schedule = gpu_travelling(journey, costs)
    model = [journey.model] if journey.model else []
    sizes = [size.octets for transfer in (*model, *journey.hand_overs, *model) for size in transfer.chunks]
    assert schedule.bytes_through(Stage.PCIE) == dict(enumerate(sizes))
    assert schedule.bytes_through(Stage.NETWORK) == {}
    crossed = [(task.chunk, task.stage) for task in schedule.tasks if task.chunk is not None]
    assert len(crossed) == len(set(crossed))


@given(datapath.transfers(), datapath.COSTS)
def test_sending_the_data_takes_each_byte_over_the_network_and_over_the_link(transfer: Transfer, costs: Costs) -> None:
    schedule = conventional(transfer, costs)
    sizes = dict(enumerate(size.octets for size in transfer.chunks))
    assert schedule.bytes_through(Stage.NETWORK) == schedule.bytes_through(Stage.PCIE) == sizes
    rotations = (len(sizes) - 1) // transfer.rotate_every if transfer.rotate_every else 0
    assert len(schedule.tasks) == 1 + len(sizes) * len(sharing.CONVENTIONAL_PATH) + rotations


def test_tasks_grow_linearly_with_chunks() -> None:
    costs = Costs({stage: StageCost(NO_TIME) for stage in Stage})
    counts = [len(conventional(Transfer(Size(n), Size(1)), costs).tasks) for n in (100, 200, 400)]
    assert counts[1] - counts[0] == 100 * len(sharing.CONVENTIONAL_PATH)
    assert counts[2] - counts[1] == 200 * len(sharing.CONVENTIONAL_PATH)
