"""Measuring the link: the same bytes come out of link and bare loop, and what makes no sense is refused."""

import itertools
import random

import pytest

from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.datapath.throughput import Buffers, Throughput, bare_seconds, link_seconds, measure

SOURCE = random.Random(1).randbytes


def ticks() -> float:
    """Stand in for a clock: every reading is a second later."""
    return float(next(_COUNT))


_COUNT = itertools.count()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("run", [link_seconds, bare_seconds])
def test_every_byte_comes_out_and_the_clock_is_the_one_passed_in(threads: int, run: object) -> None:
    assert callable(run)
    buffers = Buffers(Size(40 * 64), Size(64), SOURCE)
    with pytest.raises(RuntimeError, match="other bytes"):
        buffers.check()
    assert run(buffers, threads, SOURCE, ticks) == 1.0
    buffers.check()


def test_a_measurement_compares_neighbours() -> None:
    got = measure(Size(1024), Size(256), 2, 3, SOURCE, ticks)
    assert got == Throughput(Size(256), 2, got.link, got.bare, 1.0)
    assert got.link.bytes_per_second == got.bare.bytes_per_second == 1024


@pytest.mark.parametrize(
    ("volume", "chunk", "threads", "rounds"),
    [(100, 64, 1, 1), (0, 64, 1, 1), (64, 0, 1, 1), (64, 64, 0, 1), (64, 64, 3, 1), (64, 64, 1, 0)],
)
def test_what_makes_no_sense_is_refused(volume: int, chunk: int, threads: int, rounds: int) -> None:
    with pytest.raises(QuantityError):
        measure(Size(volume), Size(chunk), threads, rounds, SOURCE, ticks)
