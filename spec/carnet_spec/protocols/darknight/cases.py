"""The finite cases of DarKnight's lemma claims, decided by definition and by ranks, smallest first."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from carnet_spec.language import Case
from carnet_spec.theories.shares import (
    Draws,
    Row,
    Share,
    all_noise,
    dot,
    hides_by_rank,
    leaking,
    learns_nothing,
    powers,
    rank,
)

PRIME = 2**23 + 2**21 + 7  #: The field that is computed in.
SMALL = (2, 3, 5)
SHAPES = ((1, 1), (1, 2), (2, 1))  #: Numbers of inputs, and of noise.
MANY_SHARES = 4  #: Colluders and values of noise that are too many to go through modulo five.
PROCESSORS = 6  #: At the size that is computed with: inputs, noise and processors of every shape up to this.

# -- who learns what ---------------------------------------------------------------------------------------------------


def criterion_counted(left_out: str) -> Iterator[Case]:
    """Yield whether shares reveal nothing exactly if no combination of them has data without noise."""
    for modulus in SMALL:
        for shares in _coalitions(modulus):
            for name, draws in _draws(modulus, left_out):
                free = leaking(shares, modulus) is None
                told = (("modulus", modulus), *_data_and_noise(shares), ("noise", name))
                yield Case(modulus, told, learns_nothing(shares, modulus, draws) is free)


def criterion_calculated(left_out: str) -> Iterator[Case]:
    """Yield the cases of the same criterion, with ranks deciding whether shares reveal nothing."""
    del left_out
    for modulus in SMALL:
        for shares in _coalitions(modulus):
            free = leaking(shares, modulus) is None
            yield Case(
                modulus, (("modulus", modulus), *_data_and_noise(shares)), hides_by_rank(shares, modulus) is free
            )


def _coalitions(modulus: int) -> Iterator[Sequence[Share]]:
    """Yield all shares of one input and up to two values of noise, of up to two; not of two with two modulo five."""
    for workers, noise in ((1, 1), (1, 2), (2, 1), (2, 2)):
        if modulus < SMALL[-1] or workers + noise < MANY_SHARES:
            for rows in product(product(range(modulus), repeat=1 + noise), repeat=workers):
                yield [Share(row[:1], row[1:]) for row in rows]


def _data_and_noise(shares: Sequence[Share]) -> tuple[tuple[str, object], ...]:
    return ("data", [each.data for each in shares]), ("noise of each", [each.noise for each in shares])


def _draws(modulus: int, left_out: str) -> Iterator[tuple[str, Draws]]:
    if left_out == "uniform-noise":
        yield f"below {modulus - 1}", lambda modulus, number: product(range(modulus - 1), repeat=number)
    elif left_out == "independent-noise":
        yield "one value for all", lambda modulus, number: ((value,) * number for value in range(modulus))
    else:
        yield "all", all_noise


# -- how many may work together ----------------------------------------------------------------------------------------


def threshold_counted(left_out: str) -> Iterator[Case]:
    """Yield, for processors at points of small fields, whether their joint shares are equally likely for any inputs."""
    for modulus in SMALL:
        for inputs, noise in SHAPES:
            for points in _together(range(modulus), noise, left_out):
                shares = [powers(point, noise, inputs, modulus) for point in points]
                for name, draws in _draws(modulus, left_out):
                    told = (("modulus", modulus), ("inputs", inputs), ("noise", noise), ("points", points))
                    yield Case(modulus, (*told, ("drawn", name)), learns_nothing(shares, modulus, draws))


def threshold_calculated(left_out: str) -> Iterator[Case]:
    """Yield the cases of the threshold claim by ranks, at the implemented size."""
    for noise in range(1, PROCESSORS):
        for inputs in range(1, PROCESSORS):
            for points in _together(range(1, PROCESSORS + 1), noise, left_out):
                shares = [powers(point, noise, inputs, PRIME) for point in points]
                told = (("modulus", PRIME), ("inputs", inputs), ("noise", noise), ("points", points))
                yield Case(noise, told, hides_by_rank(shares, PRIME))


def _together(points: Iterable[int], noise: int, left_out: str) -> Iterator[Row]:
    """Yield the points of coalitions: as many processors as there is noise, or, if there may be more, one more."""
    for size in range(1, noise + 1 + (left_out == "few-together")):
        yield from combinations(points, size)


# -- what comes back ---------------------------------------------------------------------------------------------------


def decoding_counted(left_out: str) -> Iterator[Case]:
    """Yield whether the results of a multiplying layer determine the inputs, by enumerating all inputs."""
    for modulus in SMALL:
        for inputs, noise in SHAPES:
            if (number := inputs + noise) <= modulus:
                for points, given in _point_choices(range(modulus), number, left_out):
                    shares = [powers(point, noise, inputs, modulus).row for point in points]
                    yield Case(
                        modulus, _details(modulus, inputs, noise, given, points), _decodes(shares, modulus, inputs)
                    )


def _decodes(rows: Sequence[Row], modulus: int, inputs: int) -> bool:
    """Whether no two batches that differ in their inputs give the same results."""
    found: dict[Row, Row] = {}
    for values in product(range(modulus), repeat=len(rows[0])):
        seen = tuple(dot(row, values) % modulus for row in rows)
        if found.setdefault(seen, values[:inputs]) != values[:inputs]:
            return False
    return True


def decoding_calculated(left_out: str) -> Iterator[Case]:
    """Yield whether the rows of the results have full rank, at the implemented size."""
    for number in range(2, PROCESSORS + 1):
        for inputs in range(1, number):
            for points, given in _point_choices(range(1, PROCESSORS + 1), number, left_out):
                shares = [powers(point, number - inputs, inputs, PRIME).row for point in points]
                told = _details(PRIME, inputs, number - inputs, given, points)
                yield Case(number, told, rank(shares, PRIME) == number)


def _point_choices(points: Iterable[int], number: int, left_out: str) -> Iterator[tuple[Row, int]]:
    given = number - (left_out == "enough-results")
    chosen = product(points, repeat=given) if left_out == "distinct-points" else combinations(points, given)
    yield from ((each, given) for each in chosen)


def _details(modulus: int, inputs: int, noise: int, given: int, points: Row) -> tuple[tuple[str, object], ...]:
    return (
        *(("modulus", modulus), ("inputs", inputs), ("noise", noise)),
        *(("results", given), ("points", points)),
    )
