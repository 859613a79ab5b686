"""Real bytes on the data path: delivered once, in order, verified before use; whatever the platform does is noticed."""

import random
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carnet_ref.datapath.costs import Costs, StageCost
from carnet_ref.datapath.delivery import (
    DeliveryError,
    IvLedger,
    IvReuseError,
    UnverifiedUseError,
    deliver,
    deliver_with_retries,
)
from carnet_ref.datapath.maxplus import makespan
from carnet_ref.datapath.pipeline import Transfer
from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.datapath.schedule import Schedule, Stage
from carnet_ref.datapath.schedules.asymmetric import Split, asymmetric
from carnet_ref.datapath.schedules.ring import Ring, ring_all_reduce
from carnet_ref.datapath.schedules.sharing import conventional
from carnet_ref.datapath.schedules.speculation import (
    ON_DEMAND,
    Action,
    Speculation,
    misprediction_cost,
    plan,
    speculative,
)
from carnet_ref.datapath.serving import all_reduce, low_rank_and_residual, serve_speculatively
from carnet_ref.datapath.simulation import simulate
from carnet_ref.datapath.taskgraph import longest_path_seconds
from tests.fixtures.datapath import COSTS, DELIVERIES, transfers


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
            case Fault.SPLICE:
                return (self.seen[0] if len(self.seen) > 1 else message[::-1],)
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
    assert simulate(schedule).makespan == longest_path_seconds(schedule) == makespan(schedule)


def test_a_rotation_that_leaves_the_key_as_it_was_is_caught(free: Costs) -> None:
    schedule = conventional(Transfer(Size(8), Size(1), rotate_every=4), free)
    with pytest.raises(IvReuseError):
        deliver(schedule, payload_of(schedule, 1), bytes)


@given(transfers(), COSTS, st.lists(st.sampled_from(Fault), max_size=3), st.integers(0, 2**32))
def test_retries_use_new_keys_and_reuse_no_iv(transfer: Transfer, costs: Costs, faults: list[Fault], seed: int) -> None:
    schedule = conventional(transfer, costs)
    payload, ledger = payload_of(schedule, seed), IvLedger()
    platforms = [*(Meddler(fault, index) for index, fault in enumerate(faults)), Meddler(Fault.TAMPER, -2)]
    delivery = deliver_with_retries(schedule, payload, random.Random(seed).randbytes, platforms, ledger)
    assert dict(delivery.delivered) == payload
    assert len(ledger) >= 2 * len(payload)


BLOCKS = st.integers(0, 5)
SPECULATIONS = st.builds(Speculation, st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))


@st.composite
def servings(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Draw what is asked for and what was expected; often the same."""
    requests = draw(st.lists(BLOCKS, min_size=1, max_size=15))
    expected = [draw(st.just(block) | BLOCKS) for block in requests]
    return requests, expected


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


@given(servings(), SPECULATIONS)
def test_what_is_sent_uses_every_message_counter_once_and_in_order(
    serving: tuple[list[int], list[int]], speculation: Speculation
) -> None:
    moves = plan(*serving, speculation)
    sent = [move.counter for move in moves if move.action is not Action.SPECULATE]
    assert sent == list(range(1, len(sent) + 1))
    sealed = [move.counter for move in moves if move.action in {Action.SPECULATE, Action.SEAL_AND_SEND, Action.NOP}]
    assert len(sealed) == len(set(sealed))


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


@given(servings(), SPECULATIONS, COSTS, st.integers(1, 4096).map(Size))
def test_pipellm_loses_at_most_its_declared_misprediction_cost(
    serving: tuple[list[int], list[int]], speculation: Speculation, costs: Costs, block: Size
) -> None:
    schedule = speculative(*serving, block, costs, speculation)
    on_demand = makespan(speculative(*serving, block, costs, ON_DEMAND))
    allowed = on_demand + misprediction_cost(*serving, block, costs, speculation)
    assert makespan(schedule) <= allowed * (1 + 1e-12)
    assert simulate(schedule).makespan == longest_path_seconds(schedule) == makespan(schedule)


@given(st.lists(BLOCKS, min_size=1, max_size=15), st.integers(1, 4), st.integers(1, 3), COSTS)
def test_perfect_prediction_never_loses(requests: list[int], window: int, workers: int, costs: Costs) -> None:
    speculation = Speculation(window, 0, workers)
    block = Size(100)
    ahead = makespan(speculative(requests, requests, block, costs, speculation))
    on_demand = makespan(speculative(requests, requests, block, costs))
    assert ahead <= on_demand * (1 + 1e-12)


RINGS = st.builds(Ring, st.integers(2, 5), st.integers(1, 200).map(Size), st.integers(20, 80).map(Size), st.just(True))


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
    assert simulate(schedule).makespan == longest_path_seconds(schedule) == makespan(schedule)


@given(RINGS, COSTS, st.integers(0, 500))
def test_a_ring_takes_longer_with_a_larger_gradient_in_one_bucket(ring: Ring, costs: Costs, more: int) -> None:
    one = replace(ring, bucket=ring.gradient)
    larger = Ring(ring.ranks, ring.gradient + Size(more), ring.gradient + Size(more))
    assert makespan(ring_all_reduce(larger, costs)) >= makespan(ring_all_reduce(one, costs))


def test_a_ring_with_the_wrong_gradients_is_refused(free: Costs) -> None:
    with pytest.raises(QuantityError):
        all_reduce(Ring(2, Size(4), Size(4)), free, [b"1234", b"123"], random.Random(1).randbytes)


@given(st.integers(1, 6), st.integers(1, 500), st.integers(1, 16), st.integers(1, 16), COSTS, st.integers(0, 2**32))
def test_the_asymmetric_split_delivers_both_ways(
    layers: int, layer: int, channels: int, rank: int, costs: Costs, seed: int
) -> None:
    schedule = asymmetric(Split(layers, Size(layer), channels, min(rank, channels)), costs)
    payload = payload_of(schedule, seed)
    assert dict(deliver(schedule, payload, random.Random(seed).randbytes).delivered) == payload
    assert simulate(schedule).makespan == longest_path_seconds(schedule) == makespan(schedule)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**32))
def test_low_rank_part_and_residual_add_up_exactly(channels: int, values: int, rank: int, seed: int) -> None:
    activations = np.random.default_rng(seed).integers(-128, 128, (channels, values))
    low, residual = low_rank_and_residual(activations, rank)
    assert np.array_equal(low + residual, activations)


@pytest.fixture
def free() -> Costs:
    """Costs of nothing for every stage."""
    return Costs({stage: StageCost() for stage in Stage})
