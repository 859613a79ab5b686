"""The cost model: sub-steps, traffic and time, beside what the paper measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.systems.ring_all_reduce.cost import FIGURES, Hop, buckets, seconds, slowdown, sub_steps, traffic
from carnet_ref.systems.ring_all_reduce.schedule import turns

HOP = Hop(fixed=50e-6, encrypt=3e9, carry=20e9, decrypt=3e9)
MIB = 2**20
GPT2_XL = 1_558_000_000 * 4


@given(st.integers(2, 12), st.integers(1, 5))
def test_sub_steps_are_those_of_the_schedule(ranks: int, many: int) -> None:
    assert sub_steps(ranks) * many == len(list(turns(ranks, many)))


@given(st.integers(2, 64), st.integers(1, 10**9), st.integers(1, 10**8))
def test_time_is_a_fixed_part_for_each_sub_step_and_a_part_for_the_bytes(ranks: int, size: int, bucket: int) -> None:
    fixed = sub_steps(ranks) * buckets(size, bucket) * HOP.fixed
    for_bytes = traffic(ranks, size) * (1 / HOP.encrypt + 1 / HOP.carry + 1 / HOP.decrypt)
    assert seconds(ranks, size, bucket, HOP) == pytest.approx(fixed + for_bytes)


def test_larger_buckets_and_fewer_ranks_cost_less() -> None:
    by_bucket = [seconds(4, GPT2_XL, size * MIB, HOP) for size in (1, 25, 100, 1000)]
    assert by_bucket == sorted(by_bucket, reverse=True)
    by_rank = [seconds(ranks, GPT2_XL, 25 * MIB, HOP) for ranks in (2, 4, 8, 16)]
    assert by_rank == sorted(by_rank)


def test_the_part_for_the_bytes_hardly_grows_with_the_ranks() -> None:
    assert traffic(2, 10**6) == 10**6
    assert traffic(1000, 10**6) < 2 * 10**6


def test_the_figures_are_those_of_the_paper_and_the_model_goes_their_way() -> None:
    """No fit: the paper gives no hop's cost. A slow fixed part is what larger buckets take away, as there."""
    assert [(each.ranks, each.slowdown) for each in FIGURES] == [(4, 8.68), (4, 41.6), (4, 3.03)]
    plain = seconds(4, GPT2_XL, 25 * MIB, Hop(10e-6, 1e15, 300e9, 1e15))
    slow = Hop(20e-3, 3e9, 20e9, 3e9)
    small, large = (slowdown(0.5, seconds(4, GPT2_XL, size * MIB, slow), plain) for size in (25, 1000))
    assert 1 < large < small


@pytest.mark.parametrize(("ranks", "size", "bucket"), [(1, 1, 1), (2, 0, 1), (2, 1, 0)])
def test_nothing_is_said_of_no_ring(ranks: int, size: int, bucket: int) -> None:
    with pytest.raises(ValueError, match="ranks"):
        seconds(ranks, size, bucket, HOP)
