"""The finite cases of Slalom's lemma claims, decided by definition, smallest first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations, product

from carnet_spec.language import Case

MODULI = (2, 3, 4, 5, 7)  #: Blinding needs a group, and no field.
PRIMES = (2, 3, 5)
ODD = (3, 5)  #: Centred residues of an odd modulus stand for whole numbers of either sign.

# -- blinding ----------------------------------------------------------------------------------------------------------


def blinding(left_out: str) -> Iterator[Case]:
    """Yield, for two values, whether what the processor sees of one is as likely as of the other."""
    for modulus in MODULI:
        for name, masks in _masks(modulus, left_out):
            for one, other in combinations(range(modulus), 2):
                seen = [Counter(_blinded(x, r, modulus, left_out) for r in masks[x]) for x in (one, other)]
                told = ("modulus", modulus), ("values", (one, other)), ("masks", name)
                as_seen = tuple(tuple(sorted(each.elements())) for each in seen)
                yield Case(modulus, (*told, ("seen as", as_seen)), seen[0] == seen[1])


def _blinded(value: int, mask: int, modulus: int, left_out: str) -> int:
    return value + mask if left_out == "reduced-sum" else (value + mask) % modulus


def _masks(modulus: int, left_out: str) -> Iterator[tuple[object, Sequence[Iterable[int]]]]:
    """Yield each way to draw a mask: for every value, the masks that are equally likely."""
    every = range(modulus)
    if left_out == "uniform-mask":
        for size in range(1, modulus):
            yield from ((some, [some] * modulus) for some in combinations(every, size))
    elif left_out == "independent-mask":
        yield from ((f"one for each value, {order}", [(mask,) for mask in order]) for order in permutations(every))
    else:
        yield "all", [every] * modulus


def reuse(left_out: str) -> Iterator[Case]:
    """Yield whether the difference of two blinded values is that of the values."""
    for modulus in MODULI:
        for one, other, mask, second in product(range(modulus), repeat=4):
            if second != mask and left_out != "same-mask":
                continue
            seen = (one + mask) % modulus - (other + second) % modulus
            known = seen if left_out == "reduced-difference" else seen % modulus
            values = (("modulus", modulus), ("values", (one, other)), ("masks", (mask, second)), ("difference", known))
            yield Case(modulus, values, known % modulus == (one - other) % modulus and known in range(modulus))


# -- unblinding --------------------------------------------------------------------------------------------------------

Pair = tuple[int, int]


def unblinding(left_out: str) -> Iterator[Case]:
    """Yield whether a layer of two weights, applied to blinded values, gives the whole number that it should."""
    for modulus in ODD:
        half = modulus // 2
        pairs = _pairs(range(-half, half + 1))
        for weights, values, mask in product(pairs, repeat=3):
            wanted = _layer(weights, values, left_out)
            if abs(wanted) > half and left_out != "result-fits":
                continue
            for factor_of in pairs if left_out == "factor-of-the-mask" else (mask,):
                blinded = tuple(_centred(x + r, modulus) for x, r in zip(values, mask, strict=True))
                factor = _layer(weights, factor_of, left_out)
                given = _centred(_layer(weights, blinded, left_out) - factor, modulus)
                told = (("modulus", modulus), ("weights", weights), ("values", values), ("mask", mask))
                yield Case(modulus, (*told, ("factor of", factor_of), ("result", given)), given == wanted)


def _pairs(numbers: range) -> list[Pair]:
    return [(first, second) for first in numbers for second in numbers]


def _layer(weights: Pair, values: Iterable[int], left_out: str) -> int:
    total = sum(w * x for w, x in zip(weights, values, strict=True))
    return max(total, 0) if left_out == "linear-layer" else total


def _centred(number: int, modulus: int) -> int:
    half = modulus // 2
    return (number + half) % modulus - half


# -- checking ----------------------------------------------------------------------------------------------------------

Matrix = tuple[Pair, Pair]


def freivalds(left_out: str) -> Iterator[Case]:
    """Yield, for an error in a product, whether it passes for at most one vector in so many as there are residues."""
    for modulus in (2, 3, 4, 5) if left_out == "prime-modulus" else PRIMES:
        rows = _pairs(range(modulus))
        for vectors in _draws(rows, left_out):
            yield from _errors(modulus, rows, vectors, left_out)


def _draws(rows: list[Pair], left_out: str) -> Iterator[list[Pair]]:
    """Yield the vectors that are equally likely: all, or, if they need not be, some."""
    if left_out == "uniform-vector":
        yield from ([first, second] for first, second in combinations(rows, 2))
    elif left_out == "secret-vector":
        yield from ([vector] for vector in rows)
    else:
        yield rows


def _errors(modulus: int, rows: list[Pair], vectors: list[Pair], left_out: str) -> Iterator[Case]:
    for error in product(rows, repeat=2):
        if any(map(any, error)):
            passing = sum(_passes(vector, error, modulus) for vector in vectors)
            drawn: object = "all" if len(vectors) == len(rows) else vectors
            told = (("modulus", modulus), ("error", error), ("vectors", drawn), ("passing", passing))
            yield Case(modulus, told, passing * modulus <= len(vectors))


def _passes(vector: Pair, error: tuple[Pair, ...], modulus: int) -> bool:
    return all(sum(v * row[at] for v, row in zip(vector, error, strict=True)) % modulus == 0 for at in range(2))
