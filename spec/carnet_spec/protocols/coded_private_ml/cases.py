"""The finite cases of CodedPrivateML's lemma claims, decided by definition, and by ranks and polynomials."""

from collections.abc import Iterator
from itertools import combinations, permutations, product

from carnet_spec.language import Case
from carnet_spec.theories.shares import (
    Draws,
    Row,
    Share,
    all_noise,
    dot,
    hides_by_rank,
    lagrange,
    learns_nothing,
)

PRIME = 15_485_863  #: The field that the authors' code computes in.
SMALL = (2, 3, 5)
SHAPES = ((1, 1), (2, 1), (1, 2))  #: Numbers of blocks of data, and of random blocks.
MOST = 4  #: At the size that is computed with: blocks of each kind up to this.
WORKERS = 6


def share(point: int, blocks: Row, random: Row, modulus: int) -> Share:
    """Return the value at ``point`` of the polynomial through the data and random values."""
    row = lagrange(point, blocks + random, modulus)
    return Share(row[: len(blocks)], row[len(blocks) :])


# -- how many may work together ----------------------------------------------------------------------------------------


def threshold_counted(left_out: str) -> Iterator[Case]:
    """Yield, for points in small fields, whether the colluding workers' shares are equally likely for any data."""
    for modulus in SMALL:
        for data, random in SHAPES:
            if data + random <= modulus:
                blocks, noise = tuple(range(data)), tuple(range(data, data + random))
                points = [at for at in range(modulus) if at not in blocks or left_out == "points-apart"]
                for together in _together(points, random, left_out):
                    shares = [share(at, blocks, noise, modulus) for at in together]
                    for name, draws in _draws(modulus, left_out):
                        told = _details(modulus, blocks, noise, together)
                        yield Case(modulus, (*told, ("drawn", name)), learns_nothing(shares, modulus, draws))


def threshold_calculated(left_out: str) -> Iterator[Case]:
    """Yield the cases of the threshold claim by ranks, at the implemented size."""
    for data, random in sorted(product(range(1, MOST + 1), repeat=2), key=sum):
        blocks, noise = tuple(range(data)), tuple(range(data, data + random))
        first = 0 if left_out == "points-apart" else data
        for together in _together(range(first, first + WORKERS), random, left_out):
            shares = [share(at, blocks, noise, PRIME) for at in together]
            yield Case(data + random, _details(PRIME, blocks, noise, together), hides_by_rank(shares, PRIME))


def _together(points: range | list[int], random: int, left_out: str) -> Iterator[Row]:
    for size in range(1, random + 1 + (left_out == "few-together")):
        yield from combinations(points, size)


def _draws(modulus: int, left_out: str) -> Iterator[tuple[str, Draws]]:
    if left_out == "uniform-noise":
        yield f"below {modulus - 1}", lambda modulus, number: product(range(modulus - 1), repeat=number)
    elif left_out == "fresh-noise":
        yield "the same always", lambda modulus, number: ((0,) * number,)
    else:
        yield "all", all_noise


# -- what comes back ---------------------------------------------------------------------------------------------------

#: Blocks of data, random ones, and a field with points for all workers that a square needs.
SQUARES = ((1, 1, 5), (1, 1, 7), (1, 2, 7), (2, 1, 7))


def decoding_counted(left_out: str) -> Iterator[Case]:
    """Yield, for all data and random values, whether decoding the squares of shares gives the squares of the data."""
    for data, random, modulus in sorted(SQUARES, key=lambda each: each[2]):
        blocks, noise = tuple(range(data)), tuple(range(data, data + random))
        workers = range(data, data + _needed(2, data, random) - (left_out == "enough-results"))
        points = tuple(at % modulus for at in workers)
        for values in product(range(modulus), repeat=data + random):
            squares = [dot(share(at, blocks, noise, modulus).row, values) ** 2 for at in points]
            for read in _read(blocks, data + random, left_out):
                found = tuple(dot(lagrange(at, points, modulus), squares) % modulus for at in read)
                told = (*_details(modulus, blocks, noise, points), ("values", values), ("read at", read))
                yield Case(modulus, told, found == tuple(value**2 % modulus for value in values[:data]))


def decoding_calculated(left_out: str) -> Iterator[Case]:
    """Yield whether every power up to the polynomial's degree is decoded, at the implemented size."""
    for data, random in sorted(product(range(1, MOST + 1), repeat=2), key=sum):
        blocks, noise = tuple(range(data)), tuple(range(data, data + random))
        for degree in range(1, 4):
            number = _needed(degree, data, random) - (left_out == "enough-results")
            points = tuple(range(data, data + number))
            for read in _read(blocks, data + random, left_out):
                told = (*_details(PRIME, blocks, noise, points), ("degree", degree), ("read at", read))
                yield Case(data + random, told, _reads_back(blocks, read, points, degree * (data + random - 1)))


def _reads_back(blocks: Row, read: Row, points: Row, degree: int) -> bool:
    """Whether interpolation at the points gives at ``read`` what each power up to a degree is at the blocks."""
    rows = [lagrange(at, points, PRIME) for at in read]
    return all(
        dot(row, (pow(at, power, PRIME) for at in points)) % PRIME == pow(block, power, PRIME)
        for power in range(degree + 1)
        for row, block in zip(rows, blocks, strict=True)
    )


def _needed(degree: int, data: int, random: int) -> int:
    """Return how many results a polynomial of this degree in the shares has to be read from."""
    return degree * (data + random - 1) + 1


def _read(blocks: Row, number: int, left_out: str) -> Iterator[Row]:
    """Yield the points at which results are read: those of the blocks, or, if they need not be, any."""
    yield from permutations(range(number), len(blocks)) if left_out == "points-of-the-blocks" else (blocks,)


def _details(modulus: int, blocks: Row, noise: Row, workers: Row) -> tuple[tuple[str, object], ...]:
    return ("modulus", modulus), ("blocks at", blocks), ("random at", noise), ("workers at", workers)
