"""Every parser ends in a value or a typed error: no other exception, no hang, no allocation out of proportion.

A few inputs for each by default; many with ``-m slow``. ``python -m tests.fuzz.coverage_guided`` is the long run.
"""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.parsers import PARSERS, Parser, refusal

LONGEST_SECONDS = 1.0
ALLOCATED_PER_BYTE = 400
ALLOCATED_AT_MOST_FOR_NOTHING = 4 << 20
"""Bytes that Python may allocate for an input, beyond so many for each byte of it."""


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_any_bytes_end_in_a_value_or_a_typed_error(name: str) -> None:
    @given(st.binary(max_size=300))
    def check(data: bytes) -> None:
        refusal(PARSERS[name], data)

    check()


def mutated(seed: bytes, draw: random.Random) -> bytes:
    """Return a seed after a few changes of the kinds that break parsers."""
    data = bytearray(seed)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(6):
            case 0 if data:
                data[place % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                data[place : place + draw.randint(0, 4)] = draw.randbytes(draw.randint(0, 4))
            case 2:
                del data[place:]
            case 3:
                data[place:place] = data[: draw.randint(0, 64)]
            case 4:
                data[place : place + 2] = draw.choice([b"\0\0", b"\xff\xff", b"\x7f\xff", b"\0\x80"])
            case _:
                data[place : place + 1] = draw.choice([b"\0", b"\xff", b"-", b'"', b"<", b"{", b"9"])
    return bytes(data)


def run(parser: Parser, inputs: int, seed: int) -> int:
    """Return how many of ``inputs`` mutated seeds were values."""
    draw, values = random.Random(seed), 0
    seeds = [*parser.seeds(), b"", bytes(100)]
    for _ in range(inputs):
        data = mutated(draw.choice(seeds), draw)
        start = time.perf_counter()
        values += refusal(parser, data) is None
        assert time.perf_counter() - start < LONGEST_SECONDS, data.hex()
    return values


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_changed_inputs_end_in_a_value_or_a_typed_error(name: str) -> None:
    run(PARSERS[name], 40, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", sorted(PARSERS))
def test_many_changed_inputs_end_in_a_value_or_a_typed_error(name: str) -> None:
    run(PARSERS[name], 5_000 if PARSERS[name].heavy else 100_000, seed=2)


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_no_input_makes_a_parser_allocate_out_of_proportion(name: str) -> None:
    parser, draw = PARSERS[name], random.Random(3)
    seeds = [*parser.seeds(), b"\xff" * 200, b"[" * 500, b'{"a":' * 100]
    refusal(parser, seeds[0])
    for data in (*seeds, *(mutated(draw.choice(seeds), draw) for _ in range(10))):
        tracemalloc.start()
        refusal(parser, data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= ALLOCATED_AT_MOST_FOR_NOTHING + ALLOCATED_PER_BYTE * len(data), len(data)
