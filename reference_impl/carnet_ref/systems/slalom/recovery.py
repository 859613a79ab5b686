"""What a processor makes of what it sees where a defence is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from carnet_ref.field import Draw, Field, Residues


def difference(field: Field, first: Residues, second: Residues) -> Residues:
    """Return the difference of two values that were blinded by one mask."""
    return field.centred((first - second) % field.prime)


def unmasked(field: Field, seen: Residues, draw: Draw) -> Residues:
    """Return values whose masks come from a generator that is known."""
    return field.centred((seen - draw(seen.shape)) % field.prime)


def middle(field: Field, seen: Sequence[Residues]) -> Residues:
    """Return an estimate of values from many blindings of them, each by a mask of its own.

    Masks that are narrower than the field never make a small value wrap round, so what is seen lies around the value,
    and the middle between the smallest and the largest draws near to it. Masks of the whole field put the middle near
    zero, whatever the value is.
    """
    views = np.array([field.centred(each) for each in seen])
    return np.asarray((views.min(axis=0) + views.max(axis=0) + 1) // 2)


def kernel_error(shape: tuple[int, int], size: int) -> Residues:
    """Return an error in a product that a vector of ones does not see: each column adds up to zero."""
    error = np.zeros(shape, dtype=np.int64)
    error[0], error[1] = size, -size
    return error
