"""The order of steps when the GPU is back: the order is the defence.

At return the link is rotated first, in both directions, so that whatever the last holder still sends or forges is dead;
only then contexts are fenced, and code and model uploaded and checked.
"""

from __future__ import annotations

from enum import Enum, auto

from carnet_ref.systems.gpu_travelling.defences import Defences


class Stage(Enum):
    """One step of homecoming; those that replace it in weaker designs stand beside it."""

    ROTATE = auto()
    KEEP_KEY = auto()
    CHECK_FIRST = auto()
    ROTATE_LATE = auto()
    FENCE_EARLY = auto()
    ROTATE_AFTER_FENCE = auto()
    RELY_ON_EARLY_FENCE = auto()
    FENCE = auto()
    SKIP_FENCE = auto()
    UPLOAD = auto()
    READ_BACK = auto()


def stages(defences: Defences, first: bool) -> tuple[Stage, ...]:
    """Return the stages in order; at ``first``, before anybody had the GPU, there is nothing to rotate away from."""
    fence = (Stage.FENCE if defences.stands("fence") else Stage.SKIP_FENCE,)
    check = (Stage.UPLOAD, Stage.READ_BACK)
    if first:
        return (*fence, *check)
    if not defences.stands("rotation-in"):
        return (Stage.KEEP_KEY, *fence, *check)
    if not defences.stands("rotation-before-check"):
        return (Stage.CHECK_FIRST, *fence, *check, Stage.ROTATE_LATE)
    if not defences.stands("rotation-before-fence"):
        return (Stage.FENCE_EARLY, Stage.ROTATE_AFTER_FENCE, Stage.RELY_ON_EARLY_FENCE, *check)
    return (Stage.ROTATE, *fence, *check)
