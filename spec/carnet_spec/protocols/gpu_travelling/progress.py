"""Progress: what happens eventually, if the actions named are fair.

A grant ends because the orchestrator may evict. Everything else that it waits for is an answer of the firmware, which
comes in two steps: the GPU carries the order out, and the orchestrator sees the report. That these are taken fairly
assumes that the host delivers orders and reports in the end. Nothing else that anybody does keeps the answer from
coming for ever, but ending the session, which is a fail-stop.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Individual, exists
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Gpu,
    Phase,
    attested_live,
    link_h2d,
    pending,
    phase,
    session,
)

_NAMED = {
    "rotation-out": "to rotate before the GPU travels",
    "rotation-in": "to rotate at return",
    "fence": "to fence",
    "scrub": "to scrub",
}


def state_progress(draft: Draft, *, answers: bool) -> None:
    """Add what happens eventually to ``draft``; ``answers`` too, where the lemmas are that they rest on."""
    draft.eventually(
        "grant-ends",
        phase == Phase.AWAY,
        phase != Phase.AWAY,
        sentence="Every grant is followed by return, eviction or fail-stop.",
        fair=("evict",),
    )
    if answers:
        _state_answers(draft)


def _state_answers(draft: Draft) -> None:
    _answered(draft, "rotation-out", Phase.ROTATING_OUT, ("gpu_rotate_out", "rotated_out"), s=session, k=pending)
    _answered(draft, "rotation-in", Phase.ROTATING_IN, ("gpu_rotate_in", "rotated_in"), s=session, k=pending)
    _answered(draft, "fence", Phase.FENCING, ("exec_fence", "fenced"), k=link_h2d)
    _answered(draft, "scrub", Phase.SCRUBBING, ("exec_scrub", "scrubbed"), k=link_h2d)


def _answered(draft: Draft, order: str, waiting: Phase, fair: tuple[str, str], **given: Individual) -> None:
    """Add that the orchestrator sees an order carried out, if the GPU is fair to it, unless the session ends."""
    draft.eventually(
        f"{order}-answered",
        phase == waiting,
        (phase != waiting) | ~exists(attested_live, Gpu),
        sentence=f"Every order {_NAMED[order]} is seen carried out, or the session ends.",
        fair=fair,
        given={fair[0]: given},
    )
