"""How large an instance a trace may ask for: checked before anything of it is built."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from carnet_check.errors import UsageError
from carnet_check.wording.sentences import listed
from carnet_spec.trace import Header

MOST_DRAWN: Final = 100_000
"""The largest size that only says how many values may be drawn fresh."""
MOST_OF_ONE: Final = 1_000
"""The largest of any other size."""
MOST_PAIRS: Final = 1_000_000
"""How much those others may be when multiplied, the largest twice: some tables have a row for every pair."""


def check_extent(header: Header, fresh_sizes: Collection[str]) -> None:
    """Refuse an instance that would take minutes or gigabytes to build.

    Args:
        header: says which sizes the instance has.
        fresh_sizes: those that only say how many values may be drawn fresh, as the family declares them.

    Raises:
        UsageError: a size, or several together, are too large.
    """
    for name, size in header.sizes:
        most = MOST_DRAWN if name in fresh_sizes else MOST_OF_ONE
        if size > most:
            raise UsageError(f"line 1: the size '{name}' is above {most:,}, the largest that a trace may have")
    others = [size for name, size in header.sizes if size and name not in fresh_sizes]
    if math.prod(others) * max(others, default=1) > MOST_PAIRS:
        raise UsageError(
            f"line 1: {_without(fresh_sizes)} make more than {MOST_PAIRS:,} when multiplied, the largest twice"
        )


def _without(fresh_sizes: Collection[str]) -> str:
    """Name the sizes that are not drawn fresh."""
    return f"the sizes other than {listed(sorted(fresh_sizes))}" if fresh_sizes else "the sizes"
