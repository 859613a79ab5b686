"""Lagrange codes: exact for polynomials, points apart, and what workers see where a defence is missing."""

from itertools import combinations

import numpy as np
import pytest

from carnet_ref.field import Field, FieldError, KeyStream
from carnet_ref.systems.coded_private_ml.code import LagrangeCode, lagrange
from tests.fixtures.coding_attacks import (
    block_at_own_point,
    centred_ranges,
    read_elsewhere,
    seeded,
    together,
    without_known_noise,
)

FIELD = Field(15_485_863)
DATA = FIELD.residues(np.random.default_rng(0).integers(0, 256, (2, 40)))
CODE = LagrangeCode(FIELD, blocks=(0, 1), random=(2, 3), workers=tuple(range(4, 12)))
LARGEST = 255**2  #: The largest value of the polynomials here: squares of bytes.


def draw() -> KeyStream:
    return KeyStream(bytes(range(32)), FIELD)


@pytest.mark.verifies(
    "coded-private-ml-CLAIM-DECODING", "coded-private-ml-REQ-RESULTS-01", "coded-private-ml-REQ-POINTS-02"
)
@pytest.mark.parametrize("degree", [1, 2])
def test_polynomials_of_shares_decode_to_those_of_the_data(degree: int) -> None:
    shares = CODE.encode(DATA, draw(), LARGEST)
    results = np.array([[pow(int(value), degree, FIELD.prime) for value in share] for share in shares])
    wanted = np.array([[pow(int(value), degree, FIELD.prime) for value in block] for block in DATA])
    assert CODE.results_needed(degree) == 3 * degree + 1
    for chosen in list(combinations(range(8), CODE.results_needed(degree)))[::7]:
        assert (CODE.decode(results[list(chosen)], chosen, degree) == wanted).all()


@pytest.mark.verifies(
    "coded-private-ml-CLAIM-THRESHOLD",
    "coded-private-ml-REQ-RANDOM-01",
    "coded-private-ml-REQ-RANDOM-02",
    "coded-private-ml-REQ-POINTS-01",
)
def test_as_many_as_there_are_random_blocks_see_what_any_data_may_give() -> None:
    shares, other = CODE.encode(DATA, draw(), LARGEST), FIELD.residues(np.full((2, 40), 9))
    for chosen in combinations(range(8), 2):
        rows = lagrange(FIELD, tuple(CODE.workers[each] for each in chosen), CODE.blocks + CODE.random)
        wanted = (shares[list(chosen)] - FIELD.multiply(rows[:, :2], other)) % FIELD.prime
        noise = FIELD.multiply(FIELD.inverse(rows[:, 2:]), wanted)
        assert (FIELD.multiply(rows, np.concatenate([other, noise])) == shares[list(chosen)]).all()


@pytest.mark.parametrize(
    ("blocks", "random", "workers", "why"),
    [
        ((), (1,), (2,), "none of a kind"),
        ((0,), (), (2,), "none of a kind"),
        ((0,), (1,), (), "none of a kind"),
        ((0, 0), (1,), (2,), "two have one"),
        ((0,), (0,), (2,), "two have one"),
        ((0,), (1,), (2, 2), "two have one"),
        ((0, 1), (2,), (3, 1), "a worker has the point 1 of a block of data"),
        ((-1,), (0,), (FIELD.prime - 1,), "would be sent the block"),
    ],
)
@pytest.mark.verifies("coded-private-ml-REQ-POINTS-01")
def test_points_that_meet_are_refused(
    blocks: tuple[int, ...], random: tuple[int, ...], workers: tuple[int, ...], why: str
) -> None:
    with pytest.raises(FieldError, match=why):
        LagrangeCode(FIELD, blocks, random, workers)


def test_a_worker_at_a_random_block_is_no_leak() -> None:
    code = LagrangeCode(FIELD, blocks=(0,), random=(1,), workers=(1, 2))
    shares = code.encode(DATA[:1], draw(), LARGEST)
    assert (shares[0] == draw()((1, 40))[0]).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(FieldError, match=r"expected data \(2, values\)"):
        CODE.encode(DATA[:1], draw(), LARGEST)
    results = np.zeros((4, 3), dtype=np.int64)
    for workers in ((0, 1, 2), (0, 1, 2, 2)):
        with pytest.raises(FieldError, match="expected results of 4 workers, each named once, and these are of 3"):
            CODE.decode(results[: len(workers)], workers, 1)
    with pytest.raises(FieldError, match="each named once"):
        CODE.decode(np.zeros((5, 3), dtype=np.int64), (0, 1, 2, 3, 3), 1)
    for workers in ((0, 1, 2, 8), (5, -1, 2, 3), (0, 1, 2, 99)):
        with pytest.raises(FieldError, match="expected workers from 0 to 7"):
            CODE.decode(results, workers, 1)
    for degree in (0, -1):
        with pytest.raises(FieldError, match="expected a degree from 1 on"):
            CODE.decode(results, (0, 1, 2, 3), degree)
    with pytest.raises(FieldError, match="expected the shape"):
        CODE.decode(results, (0, 1, 2, 3, 4), 1)
    with pytest.raises(FieldError, match="expected residues"):
        CODE.decode(results - 1, (0, 1, 2, 3), 1)


@pytest.mark.parametrize("strange", [2**25 + 5, -1, FIELD.prime])
def test_data_of_anything_but_residues_is_refused_before_random_blocks_are_drawn(strange: int) -> None:
    data = DATA.copy()
    data[1, 7] = strange
    with pytest.raises(FieldError, match="expected residues"):
        CODE.encode(data, never, LARGEST)


def test_values_that_may_wrap_round_are_refused_before_random_blocks_are_drawn() -> None:
    data = FIELD.residues([[3000, 1], [2, 3]])
    with pytest.raises(FieldError, match="a result may be larger than 7,742,931: the field overflows"):
        CODE.encode(data, never, 3000**2)
    shares = CODE.encode(data, draw(), 2780**2)
    wrapped = CODE.decode((shares * shares % FIELD.prime)[:7], range(7), 2)
    assert FIELD.to_signed(wrapped)[0, 0] == 3000**2 - FIELD.prime, "that is what the refusal is for"


def never(_shape: tuple[int, ...]) -> np.ndarray:
    raise AssertionError("nothing is to be drawn")


# -- what workers make of it ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "random", "workers"), [(1, 1, 2), (2, 1, 5), (2, 2, 8), (4, 3, 15)])
def test_ranges_around_zero_meet_and_give_blocks_away(data: int, random: int, workers: int) -> None:
    code = centred_ranges(FIELD, data, random, workers)
    blocks = FIELD.residues(np.random.default_rng(data).integers(-9, 9, (data, 6)))
    shares = code.encode(blocks, draw(), 9)
    found = block_at_own_point(code, shares)
    assert set(found) == set(range(data))
    assert all((found[block] == FIELD.to_signed(blocks[block])).all() for block in found)
    with pytest.raises(FieldError, match="would be sent the block"):
        LagrangeCode(FIELD, code.blocks, code.random, code.workers)


@pytest.mark.parametrize(
    ("data", "random", "right"),
    [(2, 1, True), (2, 2, False), (4, 2, False), (3, 1, False), (1, 1, False), (4, 1, True)],
)
def test_the_points_read_by_the_authors_decoder_are_those_of_the_blocks_for_few(
    data: int, random: int, right: bool
) -> None:
    """Blocks are put at a range for all blocks around zero, and read at one for the data alone."""
    code = centred_ranges(FIELD, data, random, 16)
    assert (read_elsewhere(data) == code.blocks) is right


def test_one_colluder_too_many_has_the_data_of_one_block() -> None:
    code = LagrangeCode(FIELD, blocks=(0,), random=(1, 2), workers=(3, 4, 5))
    shares = code.encode(DATA[:1], draw(), LARGEST)
    assert (together(code, shares, [0, 1, 2]) == DATA[:1]).all()
    assert (together(code, shares, [0, 1]) != DATA[:1]).mean() > 0.99


def test_a_seed_that_is_known_gives_the_data_to_one_worker_for_each_block() -> None:
    shares = CODE.encode(DATA, seeded(FIELD), LARGEST)
    assert (without_known_noise(CODE, shares, [0, 1], seeded(FIELD)) == DATA).all()
    shares = CODE.encode(DATA, draw(), LARGEST)
    assert (without_known_noise(CODE, shares, [0, 1], seeded(FIELD)) != DATA).mean() > 0.99
