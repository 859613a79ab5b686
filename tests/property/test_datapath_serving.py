"""Real bytes ahead of time and around a ring: what arrives is what was asked for, and whatever was done is noticed."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from carnet_ref.datapath.costs import Costs, StageCost
from carnet_ref.datapath.delivery import (
    DeliveryError,
    IvLedger,
    IvReuseError,
    by_clock,
)
from carnet_ref.datapath.maxplus import makespan
from carnet_ref.datapath.quantities import Duration, QuantityError, Size
from carnet_ref.datapath.schedule import Stage
from carnet_ref.datapath.schedules.ring import Ring, ring_all_reduce
from carnet_ref.datapath.schedules.speculation import (
    ON_DEMAND,
    Action,
    Speculation,
    misprediction_cost,
    plan,
    speculative,
)
from tests.fixtures import datapath
from tests.fixtures.datapath_platforms import FREE, Fault, Meddler
from tests.fixtures.datapath_serving import all_reduce, serve_speculatively


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
    served = serve_speculatively(requests, expected, blocks, random.Random(1).randbytes, speculation, writes)
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
        served = serve_speculatively(requests[part], expected[part], blocks, source, speculation, ledger=ledger)
        assert list(served) == [blocks[block] for block in requests[part]]


def test_speculation_that_goes_on_under_the_old_key_is_caught() -> None:
    ledger = IvLedger()
    serve_speculatively([1], [1], {1: b"1"}, bytes, Speculation(), ledger=ledger)
    with pytest.raises(IvReuseError):
        serve_speculatively([1], [1], {1: b"1"}, bytes, Speculation(), ledger=ledger)


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


@given(datapath.servings(), datapath.SPECULATIONS, st.sampled_from(Fault), st.data())
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
    on_demand = makespan(speculative(requests, requests, block, costs))
    assert ahead <= on_demand * (1 + 1e-12)


@given(datapath.RINGS, datapath.COSTS, st.integers(0, 2**32))
def test_every_rank_ends_with_the_sum(ring: Ring, costs: Costs, seed: int) -> None:
    source = random.Random(seed)
    gradients = [source.randbytes(ring.gradient.octets) for _ in range(ring.ranks)]
    total = np.sum([np.frombuffer(gradient, np.uint8) for gradient in gradients], axis=0, dtype=np.uint8).tobytes()
    assert all_reduce(ring, costs, gradients, source.randbytes) == (total,) * ring.ranks


@given(datapath.RINGS, datapath.COSTS, st.sampled_from(Fault), st.data())
def test_what_is_altered_on_the_ring_is_never_summed(
    ring: Ring, costs: Costs, fault: Fault, data: st.DataObject
) -> None:
    gradients = [bytes([rank]) * ring.gradient.octets for rank in range(ring.ranks)]
    hops = ring.ranks * ring.sub_steps * len(ring.buckets)
    meddler = Meddler(fault, data.draw(st.integers(0, hops - 1)))
    with pytest.raises(DeliveryError):
        all_reduce(ring, costs, gradients, random.Random(1).randbytes, meddler)


@given(datapath.RINGS, datapath.COSTS)
def test_a_ring_takes_2n_minus_2_sub_steps_for_each_bucket(ring: Ring, costs: Costs) -> None:
    schedule = ring_all_reduce(ring, costs)
    hops = sum(task.stage is Stage.PEER_LINK for task in schedule.tasks)
    assert hops == 2 * (ring.ranks - 1) * ring.ranks * len(ring.buckets)
    carried = sum(schedule.carried(Stage.PEER_LINK).values())
    assert carried == 2 * (ring.ranks - 1) * ring.gradient.octets


def test_a_ring_with_the_wrong_gradients_is_refused() -> None:
    with pytest.raises(QuantityError):
        all_reduce(Ring(2, Size(4), Size(4)), FREE, [b"1234", b"123"], random.Random(1).randbytes)
