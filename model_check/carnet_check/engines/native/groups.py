"""Groups of actions that are answered for together: as small as it takes for few answers to be worked out.

To work an answer out takes as long as to expand some fifty states, and to look it up no more than two successors. So
what an action does is asked for one element at a time if it depends on too many bits otherwise, and groups are joined
only if that hardly adds answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from carnet_check.engines.explicit.memory import Memo, kinds
from carnet_check.engines.explicit.model import CompiledStep
from carnet_check.engines.explicit.search import Moves

SAMPLE = 250
"""How many states decide how actions are grouped."""
FEW = 16
"""A group may have so many answers of its own for the sample, and more as more states are found:"""
PAYS = 500
"""one for so many states."""
MANY = 64
"""How many groups there are at most before any are joined: each is looked up for every state."""

Group = tuple[CompiledStep, Memo[Moves | None]]
"""Steps of one action, and what they do."""
Expander = Callable[[CompiledStep], Memo[Moves | None]]


def sample_of(found: Sequence[int]) -> list[int]:
    """Return some of the states found, spread over all."""
    return [found[place] for place in range(0, len(found), 1 + len(found) // SAMPLE)]


def most_answers(found: int) -> int:
    """Return how many states of a sample a group may tell apart, of which so many were found."""
    return max(FEW, min(SAMPLE // 4, found // PAYS))


def split(groups: Sequence[Group], sample: Sequence[int], most: int, expander: Expander) -> list[Group]:
    """Split groups, and what they fall into, as long as they tell more than ``most`` states of a sample apart."""
    small: list[Group] = []
    waiting = list(groups)
    while waiting:
        group = waiting.pop(0)
        room = MANY - len(small) - len(waiting)
        parts = _parts(group, sample, most, room, expander)
        waiting += parts
        small += [] if parts else [group]
    return small


def _parts(group: Group, sample: Sequence[int], most: int, room: int, expander: Expander) -> list[Group]:
    """Return what a group falls into, if each part tells at most half as many states apart; otherwise nothing."""
    step, memo = group
    whole = kinds(memo.reads, sample)
    for steps in step.parts() if whole > most else ():
        parts = [(part, expander(part)) for part in steps]
        if len(parts) <= room and all(2 * kinds(memo.reads, sample) <= whole for _, memo in parts):
            return parts
    return []
