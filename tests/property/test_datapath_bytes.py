"""Real bytes on the data path: delivered once, in order, verified before use; whatever the platform does is noticed."""

import random
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.datapath.costs import Costs, StageCost
from carnet_ref.datapath.delivery import (
    DeliveryError,
    IvLedger,
    IvReuseError,
    UnverifiedUseError,
    by_clock,
    deliver,
    deliver_with_retries,
)
from carnet_ref.datapath.maxplus import makespan
from carnet_ref.datapath.pipeline import Transfer
from carnet_ref.datapath.quantities import Duration, QuantityError, Size
from carnet_ref.datapath.schedule import Schedule, Stage, Task
from carnet_ref.datapath.schedules.asymmetric import Split, asymmetric
from carnet_ref.datapath.schedules.ring import Ring, ring_all_reduce
from carnet_ref.datapath.schedules.sharing import Journey, conventional, gpu_travelling
from carnet_ref.datapath.schedules.speculation import (
    ON_DEMAND,
    Action,
    Speculation,
    misprediction_cost,
    plan,
    speculative,
)
from carnet_ref.datapath.serving import all_reduce, serve_speculatively
from carnet_ref.datapath.splitting import infer, low_rank_and_residual
from tests.fixtures.datapath import (
    BLOCKS,
    COSTS,
    DELIVERIES,
    JOURNEYS,
    RINGS,
    SPECULATIONS,
    servings,
    splits,
    transfers,
)


def payload_of(schedule: Schedule, seed: int) -> dict[int, bytes]:
    """Draw bytes for every chunk of a schedule."""
    source = random.Random(seed)
    sizes = {task.chunk: task.size.octets for task in schedule.tasks if task.chunk is not None}
    return {chunk: source.randbytes(size) for chunk, size in sizes.items()}


class Fault(Enum):
    """What a platform may do with one message."""

    TAMPER = "tamper"
    DROP = "drop"
    DUPLICATE = "duplicate"
    REPLAY = "replay"
    SPLICE = "splice"
    TRUNCATE = "truncate"
    SHORTEN = "shorten"
    REORDER = "reorder"


class Meddler:
    """A platform that does one thing to one message, counted over all channels."""

    def __init__(self, fault: Fault, at: int) -> None:
        self.fault = fault
        self.at = at
        self.seen: list[bytes] = []
        self.acted = False
        self._held: bytes | None = None

    def carry(self, channel: str, message: bytes) -> Sequence[bytes]:
        """Carry a message, or meddle with it."""
        index = len(self.seen)
        self.seen.append(message)
        if self._held is not None:
            held, self._held = self._held, None
            return (message, held)
        if index == self.at or (self.fault is Fault.TRUNCATE and index > self.at):
            self.acted = True
            return self._meddled(message)
        return (message,)

    def _meddled(self, message: bytes) -> Sequence[bytes]:
        match self.fault:
            case Fault.TAMPER:
                return (bytes([message[0] ^ 1]) + message[1:],)
            case Fault.DROP | Fault.TRUNCATE:
                return ()
            case Fault.DUPLICATE:
                return (message, message)
            case Fault.SHORTEN:
                return (message[:-1],)
            case Fault.REPLAY:
                return (self.seen[0] if len(self.seen) > 1 else message[::-1],)
            case Fault.SPLICE:
                other = self.seen[-2] if len(self.seen) > 1 else message[::-1]
                return (message[: len(message) // 2] + other[len(other) // 2 :],)
            case Fault.REORDER:
                self._held = message
                return ()


@given(DELIVERIES, st.integers(0, 2**32))
def test_every_chunk_arrives_once_in_order_and_unaltered(schedule: Schedule, seed: int) -> None:
    payload = payload_of(schedule, seed)
    delivery = deliver(schedule, payload, random.Random(seed).randbytes)
    assert dict(delivery.delivered) == payload
    assert list(delivery.delivered) == sorted(payload)


@given(DELIVERIES, st.sampled_from(Fault), st.integers(0, 2**32), st.data())
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


@given(DELIVERIES)
def test_a_computation_reads_only_what_was_released_and_a_scrub_leaves_nothing(schedule: Schedule) -> None:
    delivery = deliver(schedule, payload_of(schedule, 1), random.Random(1).randbytes)
    computes = [position for position, task in enumerate(schedule.tasks) if task.stage is Stage.COMPUTE]
    for position, readable in zip(computes, delivery.used, strict=True):
        before = {task.chunk for task in schedule.tasks[:position] if task.stage is Stage.GPU_DECRYPT}
        scrubs = [p for p in range(position) if schedule.tasks[p].stage is Stage.SCRUB]
        gone = {task.chunk for task in schedule.tasks[: max(scrubs, default=0)] if task.stage is Stage.GPU_DECRYPT}
        assert readable == before - gone
    if any(task.stage is Stage.SCRUB for task in schedule.tasks):
        assert not delivery.resident


@given(JOURNEYS, st.data())
def test_a_computation_while_anything_waits_for_its_release_is_refused(journey: Journey, data: st.DataObject) -> None:
    tasks = gpu_travelling(journey, Costs({stage: StageCost() for stage in Stage})).tasks
    at = data.draw(st.sampled_from([index for index, task in enumerate(tasks) if task.stage is Stage.GPU_DECRYPT]))
    later = [replace(task, after=tuple(before + (before >= at) for before in task.after)) for task in tasks[at:]]
    hasty = Schedule("hasty", (*tasks[:at], Task(Stage.COMPUTE, "GPU", 0.0), *later))
    with pytest.raises(UnverifiedUseError, match="not released"):
        deliver(hasty, payload_of(hasty, 1), random.Random(1).randbytes)


def test_a_schedule_that_releases_before_it_verifies_is_refused(free: Costs) -> None:
    schedule = conventional(Transfer(Size(8), Size(4)), free)
    hasty = tuple(task for task in schedule.tasks if task.stage is not Stage.GPU_VERIFY)
    tasks = tuple(replace(task, after=()) for task in hasty)
    with pytest.raises(UnverifiedUseError):
        deliver(replace(schedule, tasks=tasks), payload_of(schedule, 1), random.Random(1).randbytes)


@given(transfers(), COSTS, st.integers(1, 5), st.integers(0, 2**32))
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


def test_a_rotation_that_leaves_the_key_as_it_was_is_caught(free: Costs) -> None:
    schedule = conventional(Transfer(Size(8), Size(1), rotate_every=4), free)
    with pytest.raises(IvReuseError):
        deliver(schedule, payload_of(schedule, 1), bytes)


@given(DELIVERIES, st.lists(st.sampled_from(Fault), max_size=3), st.integers(0, 2**32))
def test_retries_use_new_keys_and_reuse_no_iv(schedule: Schedule, faults: list[Fault], seed: int) -> None:
    payload, ledger, once = payload_of(schedule, seed), IvLedger(), IvLedger()
    deliver(schedule, payload, random.Random(seed).randbytes, ledger=once)
    platforms = [*(Meddler(fault, index) for index, fault in enumerate(faults)), Meddler(Fault.TAMPER, -2)]
    delivery = deliver_with_retries(schedule, payload, random.Random(seed).randbytes, platforms, ledger)
    assert dict(delivery.delivered) == payload
    assert len(ledger) >= len(once)


def test_a_retry_under_the_same_key_is_caught(free: Costs) -> None:
    schedule = conventional(Transfer(Size(8), Size(1)), free)
    platforms = [Meddler(Fault.TAMPER, 3), Meddler(Fault.TAMPER, -2)]
    with pytest.raises(IvReuseError):
        deliver_with_retries(schedule, payload_of(schedule, 1), bytes, platforms, IvLedger())


@given(JOURNEYS, COSTS, st.integers(0, 2**32))
def test_the_link_of_a_travelling_gpu_carries_each_byte_once_and_nothing_else(
    journey: Journey, costs: Costs, seed: int
) -> None:
    schedule = gpu_travelling(journey, costs)
    payload, platform = payload_of(schedule, seed), Meddler(Fault.TAMPER, -2)
    deliver(schedule, payload, random.Random(seed).randbytes, platform)
    assert [len(message) for message in platform.seen] == [len(chunk) + TAG_BYTES for chunk in payload.values()]


@given(servings(), SPECULATIONS, st.lists(st.dictionaries(BLOCKS, st.binary(min_size=4, max_size=4)), max_size=8))
def test_speculation_serves_what_was_asked_for_and_reuses_no_iv(
    serving: tuple[list[int], list[int]], speculation: Speculation, writes: list[dict[int, bytes]]
) -> None:
    requests, expected = serving
    blocks = {block: bytes([block]) * 4 for block in range(6)}
    served = serve_speculatively(requests, expected, blocks, random.Random(1).randbytes, speculation, writes)
    memory = dict(blocks)
    for request, got in enumerate(served):
        memory.update(writes[request] if request < len(writes) else {})
        assert got == memory[requests[request]]
    assert len(served) == len(requests)


@given(servings(), SPECULATIONS, st.integers(1, 14))
def test_speculation_goes_on_under_a_new_key_and_reuses_no_iv(
    serving: tuple[list[int], list[int]], speculation: Speculation, at: int
) -> None:
    """What was sealed ahead under the old key dies with it."""
    blocks, ledger, source = {block: bytes([block]) * 4 for block in range(6)}, IvLedger(), random.Random(1).randbytes
    requests, expected = serving
    for part in (slice(at), slice(at, None)):
        served = serve_speculatively(requests[part], expected[part], blocks, source, speculation, ledger=ledger)
        assert list(served) == [blocks[block] for block in requests[part]]


def test_speculation_that_goes_on_under_the_old_key_is_caught() -> None:
    ledger = IvLedger()
    serve_speculatively([1], [1], {1: b"1"}, bytes, Speculation(), ledger=ledger)
    with pytest.raises(IvReuseError):
        serve_speculatively([1], [1], {1: b"1"}, bytes, Speculation(), ledger=ledger)


@given(servings(), SPECULATIONS)
def test_what_is_sent_uses_every_message_counter_once_and_in_order(
    serving: tuple[list[int], list[int]], speculation: Speculation
) -> None:
    moves = plan(*serving, speculation)
    sent = [move.counter for move in moves if move.action is not Action.SPECULATE]
    assert sent == list(range(1, len(sent) + 1))
    sealed = [move.counter for move in moves if move.action in {Action.SPECULATE, Action.SEAL_AND_SEND, Action.NOP}]
    assert len(sealed) == len(set(sealed))


@given(servings(), SPECULATIONS, COSTS)
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


@given(servings(), SPECULATIONS, st.sampled_from(Fault), st.data())
def test_whatever_the_platform_does_to_a_speculated_message_is_noticed(
    serving: tuple[list[int], list[int]], speculation: Speculation, fault: Fault, data: st.DataObject
) -> None:
    requests, expected = serving
    sent = sum(move.action is not Action.SPECULATE for move in plan(requests, expected, speculation))
    meddler = Meddler(fault, data.draw(st.integers(0, sent - 1)))
    blocks = {block: bytes([block]) * 4 for block in range(6)}
    with pytest.raises(DeliveryError):
        serve_speculatively(requests, expected, blocks, random.Random(1).randbytes, speculation, platform=meddler)


SEALING_ONLY = Costs({stage: StageCost() for stage in Stage} | {Stage.RE_ENCRYPT: StageCost(Duration(1.0))})


@example(([1, 2, 3], [1, 5, 5]), Speculation(2, 2, 1), SEALING_ONLY, Size(1))  # the worker is busy with wrong guesses
@given(servings(), SPECULATIONS, COSTS, st.integers(1, 4096).map(Size))
def test_pipellm_loses_at_most_its_declared_misprediction_cost(
    serving: tuple[list[int], list[int]], speculation: Speculation, costs: Costs, block: Size
) -> None:
    schedule = speculative(*serving, block, costs, speculation)
    on_demand = makespan(speculative(*serving, block, costs, ON_DEMAND))
    allowed = on_demand + misprediction_cost(*serving, block, costs, speculation)
    assert makespan(schedule) <= allowed * (1 + 1e-12)


@given(st.lists(BLOCKS, min_size=1, max_size=15), st.integers(1, 4), st.integers(1, 3), COSTS)
def test_perfect_prediction_never_loses(requests: list[int], window: int, workers: int, costs: Costs) -> None:
    speculation = Speculation(window, 0, workers)
    block = Size(100)
    ahead = makespan(speculative(requests, requests, block, costs, speculation))
    on_demand = makespan(speculative(requests, requests, block, costs))
    assert ahead <= on_demand * (1 + 1e-12)


@given(RINGS, COSTS, st.integers(0, 2**32))
def test_every_rank_ends_with_the_sum(ring: Ring, costs: Costs, seed: int) -> None:
    source = random.Random(seed)
    gradients = [source.randbytes(ring.gradient.octets) for _ in range(ring.ranks)]
    total = np.sum([np.frombuffer(gradient, np.uint8) for gradient in gradients], axis=0, dtype=np.uint8).tobytes()
    assert all_reduce(ring, costs, gradients, source.randbytes) == (total,) * ring.ranks


@given(RINGS, COSTS, st.sampled_from(Fault), st.data())
def test_what_is_altered_on_the_ring_is_never_summed(
    ring: Ring, costs: Costs, fault: Fault, data: st.DataObject
) -> None:
    gradients = [bytes([rank]) * ring.gradient.octets for rank in range(ring.ranks)]
    hops = ring.ranks * ring.sub_steps * len(ring.buckets)
    meddler = Meddler(fault, data.draw(st.integers(0, hops - 1)))
    with pytest.raises(DeliveryError):
        all_reduce(ring, costs, gradients, random.Random(1).randbytes, meddler)


@given(RINGS, COSTS)
def test_a_ring_takes_2n_minus_2_sub_steps_for_each_bucket(ring: Ring, costs: Costs) -> None:
    schedule = ring_all_reduce(ring, costs)
    hops = sum(task.stage is Stage.PEER_LINK for task in schedule.tasks)
    assert hops == 2 * (ring.ranks - 1) * ring.ranks * len(ring.buckets)
    carried = sum(schedule.carried(Stage.PEER_LINK).values())
    assert carried == 2 * (ring.ranks - 1) * ring.gradient.octets


def test_a_ring_with_the_wrong_gradients_is_refused(free: Costs) -> None:
    with pytest.raises(QuantityError):
        all_reduce(Ring(2, Size(4), Size(4)), free, [b"1234", b"123"], random.Random(1).randbytes)


@given(splits(), COSTS, st.integers(0, 2**32))
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


@given(networks(), COSTS)
def test_tee_and_gpu_together_compute_what_one_machine_would(network: tuple[Any, list[Any], int], costs: Costs) -> None:
    activations, weights, rank = network
    platform = Meddler(Fault.TAMPER, -2)
    got = infer(activations, weights, rank, costs, random.Random(1).randbytes, platform)
    expected = weights[0] @ activations
    for layer in weights[1:]:
        expected = layer @ np.maximum(expected, 0)
    assert np.array_equal(got, expected)
    assert [len(message) for message in platform.seen] == [activations.nbytes + TAG_BYTES] * (2 * len(weights))


@given(networks(), COSTS, st.sampled_from(Fault), st.data())
def test_what_is_altered_on_the_split_is_never_added(
    network: tuple[Any, list[Any], int], costs: Costs, fault: Fault, data: st.DataObject
) -> None:
    activations, weights, rank = network
    meddler = Meddler(fault, data.draw(st.integers(0, 2 * len(weights) - 1)))
    with pytest.raises(DeliveryError):
        infer(activations, weights, rank, costs, random.Random(1).randbytes, meddler)


def test_a_split_of_what_does_not_fit_is_refused(free: Costs) -> None:
    square, wide = np.ones((2, 2), np.int64), np.ones((2, 2**17), np.int64)
    for activations, weights, rank in (
        (square, [np.ones((3, 2), np.int64)], 1),
        (wide, [square], 1),
        (square, [square], 3),
    ):
        with pytest.raises(QuantityError):
            infer(activations, weights, rank, free, random.Random(1).randbytes)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32))
def test_low_rank_part_and_residual_add_up_exactly(channels: int, values: int, rank: int, seed: int) -> None:
    activations = np.random.default_rng(seed).integers(-128, 128, (channels, values))
    low, residual = low_rank_and_residual(activations, rank)
    assert np.array_equal(low + residual, activations)


@pytest.fixture
def free() -> Costs:
    """Costs of nothing for every stage."""
    return Costs({stage: StageCost() for stage in Stage})
