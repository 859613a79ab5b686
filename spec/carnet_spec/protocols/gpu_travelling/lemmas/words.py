"""Words that the lemmas share: groups of phases, and keys of protected sessions."""

from __future__ import annotations

from carnet_spec.language import Formula, any_of
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Key,
    Order,
    Phase,
    done,
    key_session,
    orchestrated,
    phase,
    protected,
)

BEFORE_CHECK = (Phase.ROTATED_IN, Phase.FENCING, Phase.FENCED, Phase.UPLOADED, Phase.CHECKING)
CHECKED = (
    Phase.VERIFIED,
    Phase.TRAINING,
    Phase.TRAINED,
    Phase.SAVING,
    Phase.SAVED,
    Phase.SCRUBBING,
    Phase.CLEAN,
)
HOME = BEFORE_CHECK + CHECKED
FENCED_TOO_EARLY = (Phase.FENCING_EARLY, Phase.FENCED_EARLY)
OUT = (Phase.GRANTING, Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY, Phase.ROTATING_IN)
UNREACHED = (Phase.CHECKED, Phase.ROTATING_LATE)


def during(*phases: Phase) -> Formula:
    """Whether the orchestrator is in one of ``phases``."""
    return any_of(*(phase == each for each in phases))


def active() -> Formula:
    """Whether the orchestrator has attested its session."""
    return (phase != Phase.SETUP) & (phase != Phase.OPENED)


def checked(key: Key) -> Formula:
    """Whether the firmware found the code good in that epoch, and no context left."""
    return done(key, Order.CODE_GOOD) & done(key, Order.NO_CONTEXT)


def guarded(key: Key) -> Formula:
    """Whether the key is of a session that the orchestrator opened with a protected GPU."""
    return protected(key_session(key)) & orchestrated(key_session(key))
