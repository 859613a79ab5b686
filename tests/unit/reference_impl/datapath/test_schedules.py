"""Schedules by example: the order of a visit, what bounce buffers hold back, and where the time of a transfer goes."""

import pytest

from carnet_ref.datapath.costs import Costs, StageCost, sourced_costs
from carnet_ref.datapath.maxplus import completion, makespan
from carnet_ref.datapath.pipeline import Overlap, Transfer
from carnet_ref.datapath.quantities import NO_TIME, Duration, Rate, Size
from carnet_ref.datapath.schedule import Stage
from carnet_ref.datapath.schedules.confidential_io import Fastrack, Optimisation, confidential
from carnet_ref.datapath.schedules.ring import Ring, piece_sent, piece_sizes, ring_all_reduce
from carnet_ref.datapath.schedules.sharing import Journey, conventional, gpu_travelling, shared_model
from carnet_ref.datapath.schedules.speculation import Action, Speculation, plan, speculative
from tests.fixtures.datapath import critical_seconds

FREE = Costs({stage: StageCost() for stage in Stage})


def seconds_each(**of_stage: float) -> Costs:
    """Return costs of a fixed time for the stages named, and nothing for the others."""
    return FREE.changed({Stage[name]: StageCost(Duration(seconds)) for name, seconds in of_stage.items()})


def test_a_visit_goes_out_provisions_comes_home_trains_and_scrubs() -> None:
    journey = Journey([Transfer(Size(1), Size(1))], scrubbed=Size(1))
    assert [task.stage for task in gpu_travelling(journey, FREE).tasks] == [
        Stage.ATTESTATION,
        Stage.OVERHEAD,
        Stage.ROTATION,
        Stage.MUX_SWITCH,
        Stage.HOLDER_ENCRYPT,
        Stage.BOUNCE_COPY,
        Stage.PCIE,
        Stage.GPU_VERIFY,
        Stage.GPU_DECRYPT,
        Stage.MUX_SWITCH,
        Stage.ROTATION,
        Stage.COMPUTE,
        Stage.SCRUB,
    ]


def test_the_next_visit_begins_when_the_scrub_has_ended() -> None:
    leg = Transfer(Size(2), Size(1))
    costs = seconds_each(SCRUB=5.0, PCIE=1.0)
    assert makespan(gpu_travelling(Journey([leg, leg], Size(1), attests=False), costs)) == 2 * (2 + 5)


def test_a_bounce_buffer_is_free_once_its_chunk_is_across() -> None:
    costs = seconds_each(PCIE=10.0)
    schedule = conventional(Transfer(Size(3), Size(1), buffers=1), costs)
    timing = completion(schedule)
    copies = [timing.starts[at] for at, task in enumerate(schedule.tasks) if task.stage is Stage.BOUNCE_COPY]
    assert copies == [0.0, 10.0, 20.0]
    free = completion(conventional(Transfer(Size(3), Size(1)), costs))
    assert [free.starts[at] for at, task in enumerate(schedule.tasks) if task.stage is Stage.BOUNCE_COPY] == [0.0] * 3


def test_overlap_is_bound_by_the_slowest_stage_and_serial_by_the_sum() -> None:
    costs = seconds_each(NETWORK=3.0, HOLDER_ENCRYPT=1.0, PCIE=2.0)
    times = [makespan(conventional(Transfer(Size(4), Size(1), overlap), costs)) for overlap in Overlap]
    assert times == [4 * 6, 6 + 3 * 3]


def test_on_a_slow_link_the_network_is_where_the_time_goes() -> None:
    transfer = Transfer(Size.parse("64 MiB"), Size.parse("1 MiB"))
    shares = critical_seconds(conventional(transfer, sourced_costs(Rate.parse("100 Mbit/s"))))
    assert shares[Stage.NETWORK] / sum(shares.values()) > 0.99


def test_a_rotation_waits_for_the_path_to_drain() -> None:
    costs = seconds_each(PCIE=1.0, ROTATION=7.0)
    assert makespan(conventional(Transfer(Size(4), Size(1), rotate_every=2), costs)) == 2 + 7 + 2


def test_sharing_a_model_takes_two_crossings_for_each_holder_and_round() -> None:
    costs = seconds_each(NETWORK=1.0)
    assert makespan(shared_model(Transfer(Size(1), Size(1)), 3, 2, costs)) == 2 * 3 * 2


@pytest.mark.parametrize(
    ("on", "seconds"),
    [
        (frozenset[Optimisation](), 2 * (1 + 1 + 2 + 8 + 1)),
        (frozenset({Optimisation.DIRECT}), 2 * (2 + 8 + 1)),
        (frozenset({Optimisation.PARALLEL}), 2 * (1 + 1 + 2 + 2 + 1)),
        (frozenset({Optimisation.OVERLAPPED}), 1 + 1 + 2 + 8 + 8 + 1),
        (frozenset(Optimisation), 2 + 2 + 2 + 1),
    ],
)
def test_each_optimisation_takes_off_its_own_part(on: frozenset[Optimisation], seconds: float) -> None:
    rates = {
        Stage.CPU_DECRYPT: 1.0,
        Stage.RE_ENCRYPT: 1.0,
        Stage.PCIE: 2.0,
        Stage.GPU_VERIFY: 8.0,
    }
    per_byte = {stage: StageCost(NO_TIME, Rate(1 / cost)) for stage, cost in {**rates, Stage.GPU_DECRYPT: 1.0}.items()}
    got = makespan(confidential(Transfer(Size(2), Size(1)), FREE.changed(per_byte), Fastrack(on, 4)))
    assert got == pytest.approx(seconds)


def test_a_right_guess_hides_sealing_and_a_wrong_one_is_flushed() -> None:
    costs = seconds_each(RE_ENCRYPT=3.0, PCIE=1.0, COMPUTE=4.0)
    block, ahead = Size(1), Speculation(window=1)
    assert makespan(speculative([1, 2], [1, 2], block, costs)) == 2 * (3 + 1 + 4)
    assert makespan(speculative([1, 2], [1, 2], block, costs, ahead)) == (3 + 1 + 4) + (1 + 4)
    actions = [move.action for move in plan([1, 2], [1, 5], ahead)]
    assert actions == [Action.SEAL_AND_SEND, Action.SPECULATE, Action.FLUSH, Action.SEAL_AND_SEND]


def test_a_gap_of_ivs_is_passed_by_nops() -> None:
    actions = [move.action for move in plan([1, 2], [1, 2], Speculation(window=1, gap=2))]
    assert actions == [Action.SEAL_AND_SEND, Action.SPECULATE, Action.NOP, Action.NOP, Action.SEND]


def test_a_block_that_was_written_is_sealed_again() -> None:
    moves = plan([1, 2], [1, 2], Speculation(window=1), [frozenset(), frozenset({2})])
    assert [move.action for move in moves[2:]] == [Action.FLUSH, Action.SEAL_AND_SEND]


def test_a_ring_takes_the_closed_formula() -> None:
    """2(N − 1)·⌈S/b⌉·(what a hop costs) when computation costs nothing. Source: arXiv 2501.11771."""
    costs = seconds_each(GPU_ENCRYPT=1.0, PEER_LINK=2.0, GPU_VERIFY=3.0, GPU_DECRYPT=4.0)
    for ranks, buckets in ((2, 1), (4, 3), (5, 2)):
        ring = Ring(ranks, Size(40 * buckets), Size(40))
        assert makespan(ring_all_reduce(ring, costs)) == 2 * (ranks - 1) * buckets * 10


def test_pieces_add_up_and_go_round() -> None:
    assert [size.octets for size in piece_sizes(Size(10), 4)] == [3, 3, 2, 2]
    for ranks in (2, 3, 5):
        for rank in range(ranks):
            scattered = [piece_sent(rank, step, ranks) for step in range(ranks - 1)]
            assert len(set(scattered)) == ranks - 1
            assert (rank + 1) % ranks not in scattered
