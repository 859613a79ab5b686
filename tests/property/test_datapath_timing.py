"""Time on the data path: three ways to compute it agree, and it behaves as time should."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.datapath.costs import Costs, StageCost
from carnet_ref.datapath.maxplus import completion, makespan
from carnet_ref.datapath.pipeline import Overlap, Transfer
from carnet_ref.datapath.quantities import NO_TIME, Duration, Size
from carnet_ref.datapath.schedule import Schedule, Stage, Task
from carnet_ref.datapath.schedules import sharing
from carnet_ref.datapath.schedules.asymmetric import Split, asymmetric, tee_only
from carnet_ref.datapath.schedules.confidential_io import (
    BASE,
    Fastrack,
    Optimisation,
    break_even_overhead,
    confidential,
    ladder,
)
from carnet_ref.datapath.schedules.ring import Ring, ring_all_reduce
from carnet_ref.datapath.schedules.speculation import Speculation, speculative
from tests.fixtures.datapath import COSTS, JOURNEYS, RINGS, SCHEDULES, SPECULATIONS, servings, splits, transfers
from tests.fixtures.schedule_readers import critical_path, critical_seconds, longest_path_seconds, simulate


@given(SCHEDULES)
def test_simulation_task_graph_and_recurrence_give_the_same_time(schedule: Schedule) -> None:
    simulated = simulate(schedule)
    assert simulated == completion(schedule)
    assert longest_path_seconds(schedule) == simulated.makespan


@given(SCHEDULES)
def test_the_critical_path_accounts_for_the_whole_time(schedule: Schedule) -> None:
    assert sum(critical_seconds(schedule).values()) == pytest.approx(makespan(schedule), abs=1e-12)
    path = critical_path(schedule)
    assert sorted(path) == list(path)


@given(SCHEDULES)
def test_no_resource_does_two_things_at_once(schedule: Schedule) -> None:
    timing = simulate(schedule)
    free: dict[str, float] = {}
    for task, start, end in zip(schedule.tasks, timing.starts, timing.ends, strict=True):
        assert start >= free.get(task.resource, 0.0)
        assert all(timing.ends[before] <= start for before in task.after)
        free[task.resource] = end


@given(transfers(), COSTS)
def test_pipelined_is_never_slower_than_serial_nor_faster_than_its_slowest_stage(
    transfer: Transfer, costs: Costs
) -> None:
    pipelined = sharing.conventional(replace(transfer, overlap=Overlap.PIPELINED), costs)
    serial = sharing.conventional(replace(transfer, overlap=Overlap.SERIAL), costs)
    assert makespan(pipelined) <= makespan(serial)
    assert makespan(serial) == pytest.approx(serial.serial_seconds)
    assert makespan(pipelined) >= max(pipelined.busy_seconds.values()) * (1 - 1e-12)


@given(transfers(4), st.integers(1, 2), st.integers(1, 2), COSTS)
def test_a_pipelined_exchange_of_models_is_never_slower_than_a_serial_one(
    model: Transfer, holders: int, rounds: int, costs: Costs
) -> None:
    pipelined, serial = (
        sharing.shared_model(replace(model, overlap=overlap), holders, rounds, costs)
        for overlap in (Overlap.PIPELINED, Overlap.SERIAL)
    )
    assert max(pipelined.busy_seconds.values()) * (1 - 1e-12) <= makespan(pipelined) <= makespan(serial)
    assert makespan(serial) == pytest.approx(serial.serial_seconds)


@given(JOURNEYS, COSTS)
def test_a_pipelined_journey_is_never_slower_than_a_serial_one(journey: sharing.Journey, costs: Costs) -> None:
    def whole(overlap: Overlap) -> float:
        legs = [replace(transfer, overlap=overlap) for transfer in journey.hand_overs]
        model = journey.model and replace(journey.model, overlap=overlap)
        return makespan(sharing.gpu_travelling(replace(journey, hand_overs=legs, model=model), costs))

    assert whole(Overlap.PIPELINED) <= whole(Overlap.SERIAL)


@given(transfers(), COSTS, st.integers(1, 6))
def test_fewer_bounce_buffers_never_help(transfer: Transfer, costs: Costs, buffers: int) -> None:
    few, more = (makespan(sharing.conventional(replace(transfer, buffers=n), costs)) for n in (buffers, buffers + 1))
    assert few >= more >= makespan(sharing.conventional(replace(transfer, buffers=None), costs))


@given(COSTS, st.integers(1, 40), st.integers(1, 4096))
def test_equal_chunks_follow_the_closed_form(costs: Costs, chunks: int, octets: int) -> None:
    transfer = Transfer(Size(chunks * octets), Size(octets))
    on = frozenset({Optimisation.DIRECT, Optimisation.OVERLAPPED})
    stages = [costs.seconds(stage, Size(octets)) for stage in (Stage.PCIE, Stage.GPU_VERIFY, Stage.GPU_DECRYPT)]
    expected = sum(stages) + (chunks - 1) * max(stages)  # the permutation flow shop with identical jobs
    assert makespan(confidential(transfer, costs, Fastrack(on))) == pytest.approx(expected, rel=1e-9)


@given(SCHEDULES, st.data())
def test_time_is_monotone_in_every_cost(schedule: Schedule, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(schedule.tasks) - 1))
    longer = schedule.tasks[position]._replace(seconds=schedule.tasks[position].seconds + data.draw(st.floats(0, 10)))
    tasks: tuple[Task, ...] = (*schedule.tasks[:position], longer, *schedule.tasks[position + 1 :])
    assert makespan(replace(schedule, tasks=tasks)) >= makespan(schedule)


@given(transfers(), COSTS, st.sampled_from(Stage), st.floats(0, 10))
def test_time_is_monotone_in_the_cost_of_every_stage(
    transfer: Transfer, costs: Costs, stage: Stage, extra: float
) -> None:
    cost = costs.stages[stage]
    dearer = costs.changed({stage: StageCost(Duration(cost.fixed.seconds + extra), cost.rate)})
    assert makespan(sharing.conventional(transfer, dearer)) >= makespan(sharing.conventional(transfer, costs))


@given(transfers(), COSTS, st.sampled_from(ladder()), st.integers(0, 10_000))
def test_time_is_monotone_in_size(transfer: Transfer, costs: Costs, on: frozenset[Optimisation], more: int) -> None:
    larger = replace(transfer, total=transfer.total + Size(more))
    assert makespan(sharing.conventional(larger, costs)) >= makespan(sharing.conventional(transfer, costs))
    fastrack = Fastrack(on, 3)
    assert makespan(confidential(larger, costs, fastrack)) >= makespan(confidential(transfer, costs, fastrack))
    assert makespan(sharing.shared_model(larger, 1, 1, costs)) >= makespan(sharing.shared_model(transfer, 1, 1, costs))


@given(JOURNEYS, COSTS, st.integers(0, 10_000), st.data())
def test_a_journey_takes_longer_with_more_data_or_more_to_scrub(
    journey: sharing.Journey, costs: Costs, more: int, data: st.DataObject
) -> None:
    now = makespan(sharing.gpu_travelling(journey, costs))
    visit = data.draw(st.integers(0, len(journey.hand_overs) - 1))
    legs = list(journey.hand_overs)
    legs[visit] = replace(legs[visit], total=legs[visit].total + Size(more))
    assert makespan(sharing.gpu_travelling(replace(journey, hand_overs=legs), costs)) >= now
    assert makespan(sharing.gpu_travelling(replace(journey, scrubbed=journey.scrubbed + Size(more)), costs)) >= now


@given(RINGS, COSTS, st.integers(0, 500))
def test_a_ring_takes_longer_with_a_larger_gradient(ring: Ring, costs: Costs, more: int) -> None:
    larger = replace(ring, gradient=ring.gradient + Size(more))
    assert makespan(ring_all_reduce(larger, costs)) >= makespan(ring_all_reduce(ring, costs))


@given(servings(), SPECULATIONS, COSTS, st.integers(1, 4096), st.integers(0, 4096))
def test_serving_takes_longer_with_larger_blocks(
    serving: tuple[list[int], list[int]], speculation: Speculation, costs: Costs, octets: int, more: int
) -> None:
    smaller, larger = (speculative(*serving, Size(size), costs, speculation) for size in (octets, octets + more))
    assert makespan(larger) >= makespan(smaller)


@given(splits(), COSTS, st.integers(0, 500))
def test_a_split_takes_longer_with_larger_layers(split: Split, costs: Costs, more: int) -> None:
    larger = replace(split, layer=split.layer + Size(more))
    assert makespan(asymmetric(larger, costs)) >= makespan(asymmetric(split, costs))
    assert makespan(tee_only(larger, costs)) >= makespan(tee_only(split, costs))


@given(transfers(), COSTS, st.sampled_from(ladder()), st.sampled_from(Optimisation), st.integers(1, 64))
def test_without_overhead_one_more_fastrack_optimisation_never_hurts(
    transfer: Transfer, costs: Costs, on: frozenset[Optimisation], more: Optimisation, width: int
) -> None:
    before = makespan(confidential(transfer, costs, Fastrack(on, width)))
    after = makespan(confidential(transfer, costs, Fastrack(on | {more}, width)))
    assert after <= before * (1 + 1e-12)


@given(transfers(), COSTS, st.sampled_from(ladder()[1:]), st.integers(1, 64))
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


@given(JOURNEYS, COSTS)
def test_gpu_travelling_moves_each_dataset_byte_over_the_link_exactly_once(
    journey: sharing.Journey, costs: Costs
) -> None:
    """The model crosses before the first visit and after the last, and nothing else does, however many visits."""
    schedule = sharing.gpu_travelling(journey, costs)
    model = [journey.model] if journey.model else []
    sizes = [size.octets for transfer in (*model, *journey.hand_overs, *model) for size in transfer.chunks]
    assert schedule.carried(Stage.PCIE) == dict(enumerate(sizes))
    assert schedule.carried(Stage.NETWORK) == {}
    crossed = [(task.chunk, task.stage) for task in schedule.tasks if task.chunk is not None]
    assert len(crossed) == len(set(crossed))


@given(transfers(), COSTS)
def test_sending_the_data_takes_each_byte_over_the_network_and_over_the_link(transfer: Transfer, costs: Costs) -> None:
    schedule = sharing.conventional(transfer, costs)
    sizes = dict(enumerate(size.octets for size in transfer.chunks))
    assert schedule.carried(Stage.NETWORK) == schedule.carried(Stage.PCIE) == sizes
    rotations = (len(sizes) - 1) // transfer.rotate_every if transfer.rotate_every else 0
    assert len(schedule.tasks) == 1 + len(sizes) * len(sharing.CONVENTIONAL_PATH) + rotations


def test_tasks_grow_linearly_with_chunks() -> None:
    costs = Costs({stage: StageCost(NO_TIME) for stage in Stage})
    counts = [len(sharing.conventional(Transfer(Size(n), Size(1)), costs).tasks) for n in (100, 200, 400)]
    assert counts[1] - counts[0] == 100 * len(sharing.CONVENTIONAL_PATH)
    assert counts[2] - counts[1] == 200 * len(sharing.CONVENTIONAL_PATH)
