"""How the kernel finds the state that stands for another one, where all is said of one bundle at a time.

The same as :mod:`carnet_check.engines.explicit.symmetry.standing` does: bundles come in the order of their numbers, the
largest first.
"""

from __future__ import annotations

import numpy as np

from carnet_check.engines.native.compiling import inlined, nth
from carnet_check.engines.native.rows import put
from carnet_check.engines.native.tables import NONE, Alike, Kept, Number, Words

_ZERO = np.uint64(0)


@inlined
def have_shared(state: Words, alike: Alike) -> bool:
    """Whether a state says something of several bundles."""
    shared = _ZERO
    for word in range(alike.shared.shape[0]):
        shared |= state[nth(word)] & alike.shared[nth(word)]
    return bool(shared != _ZERO)


@inlined
def read_numbers(state: Words, alike: Alike) -> None:
    """Read the number of each bundle."""
    for place in range(alike.numbers.shape[0]):
        alike.numbers[nth(place)] = _ZERO
    for bundle in range(alike.order.shape[0]):
        at = bundle * alike.length
        for piece in range(alike.pieces[nth(bundle)], alike.pieces[nth(bundle + 1)]):
            bits = (state[nth(alike.sources[nth(piece)])] >> alike.shifts[nth(piece)]) & alike.fields[nth(piece)]
            alike.numbers[nth(at + alike.parts[nth(piece)])] |= bits << alike.turns[nth(piece)]


@inlined
def compared(one: Number, other: Number, alike: Alike) -> Number:
    """Return 1 if the number of a bundle is larger than that of another one, -1 if it is smaller, and 0 otherwise."""
    for back in range(1, alike.length + 1):
        first = alike.numbers[nth((one + 1) * alike.length - back)]
        second = alike.numbers[nth((other + 1) * alike.length - back)]
        if first != second:
            return 1 if first > second else -1
    return 0


@inlined
def order_bundles(alike: Alike) -> bool:
    """Put the bundles of each class in the order of their numbers; return whether any are not there already."""
    moved = False
    for number in range(alike.classes.shape[0] - 1):
        begin = alike.classes[nth(number)]
        for bundle in range(begin, alike.classes[nth(number + 1)]):
            place: Number = bundle
            while place > begin and compared(bundle, alike.order[nth(place - 1)], alike) > 0:
                alike.order[nth(place)] = alike.order[nth(place - 1)]
                place -= 1
                moved = True
            alike.order[nth(place)] = bundle
    return moved


@inlined
def put_in_order(state: Words, alike: Alike) -> None:
    """Change a state into the one that stands for it."""
    read_numbers(state, alike)
    if not order_bundles(alike):
        return
    for bundle in range(alike.order.shape[0]):
        at = alike.order[nth(bundle)] * alike.length
        for piece in range(alike.pieces[nth(bundle)], alike.pieces[nth(bundle + 1)]):
            field, shift = alike.fields[nth(piece)], alike.shifts[nth(piece)]
            bits = (alike.numbers[nth(at + alike.parts[nth(piece)])] >> alike.turns[nth(piece)]) & field
            word = alike.sources[nth(piece)]
            state[nth(word)] = (state[nth(word)] & ~(field << shift)) | (bits << shift)


@inlined
def ties(state: Words, alike: Alike) -> np.uint64:
    """Return in how many orders bundles of the same number can be."""
    read_numbers(state, alike)
    order_bundles(alike)
    found = np.uint64(1)
    for number in range(alike.classes.shape[0] - 1):
        same = np.uint64(1)
        for place in range(alike.classes[nth(number)] + 1, alike.classes[nth(number + 1)]):
            if compared(alike.order[nth(place)], alike.order[nth(place - 1)], alike) == 0:
                same += np.uint64(1)
                found *= same
            else:
                same = np.uint64(1)
    return found


@inlined
def put_changed(before: Words, after: Words, rows: Words, at: Number, kept: Kept) -> Number:
    """Write the words in which a state differs from another one into its row; return one that has too many values."""
    for word in range(after.shape[0]):
        if after[nth(word)] != before[nth(word)] and not put(word, after[nth(word)], rows, at, kept):
            return word
    return NONE
