"""Groups of actions that are answered for together, or of what is looked for: as small as it takes for few answers.

To work an answer out takes as long as to expand some fifty states, and to look it up no more than two successors. So
what an action does is asked for one element at a time if it depends on too many bits otherwise, and groups are joined
only if that hardly adds answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from carnet_check.engines.explicit.memory import Memo, kinds
from carnet_check.engines.explicit.model import CompiledStep, Monitor
from carnet_check.engines.explicit.search import Moves

SAMPLE = 250
"""How many states decide how actions are grouped."""
FEW = 16
"""A group may have so many answers of its own for the sample, and more as more states are found:"""
PAYS = 500
"""one for so many states."""
HALF = 0.5
"""A group falls into parts if each tells at most this share of the states apart that the whole does."""
MANY = 64
"""How many groups there are at most before any are joined: each is looked up for every state."""

Group = tuple[CompiledStep, Memo[Moves | None]]
"""Steps of one action, and what they do."""
Whole = TypeVar("Whole", CompiledStep, Monitor)
Answer = TypeVar("Answer")


def sample_of(found: Sequence[int]) -> list[int]:
    """Return some of the states found, spread over all."""
    return [found[place] for place in range(0, len(found), 1 + len(found) // SAMPLE)]


def most_answers(found: int) -> int:
    """Return how many states of a sample a group may tell apart, of which so many were found."""
    return max(FEW, min(SAMPLE // 4, found // PAYS))


def split(
    groups: Sequence[tuple[Whole, Memo[Answer]]],
    sample: Sequence[int],
    most: int,
    memo_of: Callable[[Whole], Memo[Answer]],
    *,
    share: float,
    many: int,
) -> list[tuple[Whole, Memo[Answer]]]:
    """Split groups, and what they fall into, as long as they tell more than ``most`` states of a sample apart.

    Each part tells at most a ``share`` of these apart, and there are at most ``many`` groups in the end.
    """
    small: list[tuple[Whole, Memo[Answer]]] = []
    waiting = list(groups)
    while waiting:
        group = waiting.pop(0)
        room = many - len(small) - len(waiting)
        parts = _parts(group, sample, most, room, memo_of, share)
        waiting += parts
        small += [] if parts else [group]
    return small


def _parts(
    group: tuple[Whole, Memo[Answer]],
    sample: Sequence[int],
    most: int,
    room: int,
    memo_of: Callable[[Whole], Memo[Answer]],
    share: float,
) -> list[tuple[Whole, Memo[Answer]]]:
    """Return what a group falls into, if each part tells few enough states apart; otherwise nothing."""
    each, memo = group
    whole = kinds(memo.reads, sample)
    for some in each.parts() if whole > most else ():
        parts = [(part, memo_of(part)) for part in some]
        if len(parts) <= room and all(kinds(memo.reads, sample) <= share * whole for _, memo in parts):
            return parts
    return []
