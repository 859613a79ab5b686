"""Whether the keys of a session still have room for a hand-over: looked at before the GPU travels, while it is clean.

It is looked at after training, too: where there is no room for another hand-over, the model comes home first.

A key that is due to rotate, or has no room for what is to come, is not used for another hand-over. Where a rotation
makes new keys there is nothing to do; where it goes back to the same ones, only a new session has others. A hand-over
that does not fit under new keys fits under none.
"""

from __future__ import annotations

from typing import Final

from carnet_ref.device import TRAINING_CODE
from carnet_ref.keys import Budget, Direction, KeyUsage, UsageState
from carnet_ref.systems.gpu_travelling.device.commands import Logged, Model, Upload, size_of
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.job import Job

_ANY_CHUNK = Budget.of([0])
"""What a turn takes of a holder's key at least: one chunk."""
ORDERS: Final = Budget.of([256] * 8)
"""What a hand-over takes of each of the session's own keys at most: that many orders, or reports on them."""


def at_home(model: int) -> dict[Direction, Budget]:
    """Return what one return takes of the orchestrator's keys, if a model of so many bytes goes home."""
    uploads, replies = [size_of(Upload(TRAINING_CODE, b""))], [size_of(Logged(0.0)), size_of(Model(b"")) + model]
    return {Direction.H2D: Budget.of(uploads), Direction.D2H: Budget.of(replies)}


def shortage(job: Job, holder: str) -> str:
    """Return why the next hand-over, to ``holder``, should be under other keys than this session's; nothing if not."""
    away = {Direction.H2D: job.needs.get(holder, _ANY_CHUNK), Direction.D2H: Budget()}
    uses = [
        (owner, way, job.live.usage(owner, way), needs[way])
        for owner, needs in ((holder, away), (ORCHESTRATOR, at_home(len(job.kept.model))))
        for way in Direction
    ]
    for owner, way, usage, needs in uses:
        if short := _short(job, usage, needs):
            return f"{owner}'s {way.value} key {short}"
    for what, usage in job.live.own_usage.items():
        if short := _short(job, usage, ORDERS):
            return f"the session's key for {what} {short}"
    return ""


def _short(job: Job, usage: KeyUsage, needs: Budget) -> str:
    """Say what a key lacks; in a session that was never lent, a key that is due is used up to its limit."""
    left = usage.left
    if needs.messages > left.messages:
        return f"has {left.messages:,} messages left, and {needs.messages:,} are needed"
    if needs.units > left.units:
        return f"has {left.units:,} work units left, and {needs.units:,} are needed"
    return "is due to rotate" if usage.state is UsageState.ROTATION_DUE and job.lendings else ""
