"""What a layer is without a defence: masks that are drawn otherwise, and vectors that are known."""

from __future__ import annotations

import numpy as np

from carnet_ref.field import Draw, Field, KeyStream, Residues


def reused(draw: Draw) -> Draw:
    """Return what draws a mask of each shape once, and gives that again."""
    drawn: dict[tuple[int, ...], Residues] = {}

    def draw_once(shape: tuple[int, ...]) -> Residues:
        if shape not in drawn:
            drawn[shape] = draw(shape)
        return drawn[shape]

    return draw_once


def keyed_with_zeros(field: Field) -> Draw:
    """Return the generator whose key everybody knows, as in the authors' code."""
    return KeyStream(bytes(32), field)


def narrow(source: np.random.Generator, field: Field, bits: int = 23) -> Draw:
    """Return masks of so many bits, their sign among them, as in the authors' code: fewer than there are residues."""
    return lambda shape: source.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), shape) % field.prime


def ones(shape: tuple[int, ...]) -> Residues:
    """Return the vector that everybody knows: all ones."""
    return np.ones(shape, dtype=np.int64)
