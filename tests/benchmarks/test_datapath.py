"""How fast the data path is: the link against a bare loop, a sweep of 10,000, and cost that is linear in chunks."""

import os
import time
from statistics import median

import pytest

from carnet_ref.datapath.costs import sourced_costs
from carnet_ref.datapath.maxplus import makespan
from carnet_ref.datapath.pipeline import Transfer
from carnet_ref.datapath.quantities import Rate, Size
from carnet_ref.datapath.schedules.sharing import conventional
from carnet_ref.datapath.sweeping import sweep
from carnet_ref.datapath.throughput import measure
from tests.fixtures.datapath_clocks import simulate

MIB = Size(2**20)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_the_link_reaches_85_percent_of_a_bare_loop_at_1_mib(threads: int) -> None:
    """Neighbouring runs are compared, yet other work may fall on one of the two more often: best of three."""
    shares = [measure(Size.parse("8 MiB"), MIB, threads, 41, os.urandom, time.perf_counter).share for _ in range(3)]
    assert max(shares) >= 0.85


@pytest.mark.slow
def test_ten_thousand_configurations_take_less_than_two_minutes_on_two_cores() -> None:
    began = time.monotonic()
    assert sum(1 for _ in sweep(10_000, seed=1, jobs=2)) == 10_000
    assert time.monotonic() - began < 120


@pytest.mark.slow
@pytest.mark.parametrize("clock", [makespan, simulate])
def test_cost_grows_linearly_with_chunks(clock: object) -> None:
    assert callable(clock)
    costs = sourced_costs(Rate.parse("1 Gbit/s"))

    def seconds(chunks: int) -> float:
        began = time.process_time()
        clock(conventional(Transfer(MIB * chunks, MIB), costs))
        return time.process_time() - began

    few, many = (median(seconds(chunks) for _ in range(7)) for chunks in (500, 8000))
    assert many / few < 2 * 16
