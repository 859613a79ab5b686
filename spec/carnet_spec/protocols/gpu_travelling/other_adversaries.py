"""The designs in which the adversary has more than in the main ones: what each excludes, another lets happen."""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.language.family import Variant
from carnet_spec.protocols.gpu_travelling import endorsed, rolled_back, survivors
from carnet_spec.protocols.gpu_travelling.endorsed import Endorsed
from carnet_spec.protocols.gpu_travelling.late import (
    LATE,
    LateCorruption,
    LateCorruptionOnEngine,
    Turning,
    state_late_claims,
)
from carnet_spec.protocols.gpu_travelling.rolled_back import ROLLED_BACK, RolledBack, state_rolled_back
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import Scope
from carnet_spec.protocols.gpu_travelling.survivors import LEAKED, LeakedDevice, state_survivors

WITH_MORE = (
    Variant(
        "leaked-device",
        "a device key has leaked, and nobody asks whether it is revoked",
        without=("revocation-check",),
        hunts=survivors.HUNTS,
    ),
    Variant(
        "leaked-device-timed",
        "the same, with clock, leases and limits of keys",
        without=("revocation-check",),
        over="leaked-device",
    ),
    Variant(
        "late-corruption",
        "holders are compromised after their epochs; a fresh key for every epoch",
        label="needs firmware",
    ),
    Variant(
        "late-corruption-engine",
        "holders are compromised after their epochs; an engine per holder",
        label="needs firmware",
    ),
    Variant(
        "rolled-back-holder",
        "holders can be rolled back, and have the orchestrator confirm what they encrypt",
        label="needs firmware",
        hunts=rolled_back.HUNTS,
    ),
    Variant(
        "endorsed-instance",
        "every holder endorses one instance, and takes grants only from the one that all endorsed",
        label="needs firmware",
        hunts=endorsed.HUNTS,
    ),
)
"""The variants, each with the adversary that an assumption of the main designs excludes."""

KINDS: dict[str, type[Schedule]] = {
    "leaked-device": LeakedDevice,
    "late-corruption": LateCorruption,
    "late-corruption-engine": LateCorruptionOnEngine,
    "rolled-back-holder": RolledBack,
    "endorsed-instance": Endorsed,
}
"""What becomes of keys, parties and data in each."""

SCOPES: dict[str, Scope] = {
    "leaked-device": LEAKED,
    "late-corruption": LATE,
    "late-corruption-engine": LATE,
    "rolled-back-holder": ROLLED_BACK,
}
"""Under which threat models the usual claims are made there."""

DONE_WITHOUT = {"late-corruption": "A2", "late-corruption-engine": "A2", "rolled-back-holder": "A15"}
"""The assumption that the steps of the main designs have built in, and those of the variant do not."""


def state_more(draft: Draft, schedule: Schedule) -> None:
    """Add the claims that only such a design makes, and say which of the usual ones fall there."""
    if isinstance(schedule, Turning):
        state_late_claims(draft, schedule)
    if isinstance(schedule, LeakedDevice):
        state_survivors(draft, schedule)
    if isinstance(schedule, RolledBack):
        state_rolled_back(draft)
