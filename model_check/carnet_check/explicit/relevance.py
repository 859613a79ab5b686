"""Cone of influence: places that nothing reads need not be part of the state.

A place is relevant if an invariant, a goal or a guard reads it, or if it decides whether or what a relevant place is
written. Two states that agree on the relevant places enable the same steps, which lead to states that agree again,
and both satisfy the same invariants and goals: agreement on relevant places is a bisimulation. So leaving the others
out loses no violation, no goal and no shortest trace; only states that differed in nothing else fall together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from carnet_check.explicit.formulas import Formula, places_of
from carnet_check.explicit.lowering import GroundStep, Lowered

Steps = Mapping[str, tuple[GroundStep, ...]]


def relevant_places(lowered: Lowered, watched: Iterable[Formula]) -> set[int]:
    """Return the places that matter to the ``watched`` formulas and to whether any step can be taken."""
    steps = [step for kind in (lowered.steps, lowered.deductions) for group in kind.values() for step in group]
    relevant = {place for formula in watched for place in places_of(formula)}
    relevant |= {place for step in steps for part in step.guard for place in places_of(part)}
    writes = [(write.place, places_of(write.condition)) for step in steps for write in step.writes]
    grew = True
    while grew:
        before = len(relevant)
        for place, read in writes:
            if place in relevant:
                relevant |= read
        grew = len(relevant) > before
    return relevant


def without_writes_elsewhere(steps: Steps, relevant: set[int]) -> Steps:
    """Drop the writes to places that are not relevant."""
    return {
        name: tuple(
            replace(step, writes=tuple(write for write in step.writes if write.place in relevant)) for step in group
        )
        for name, group in steps.items()
    }
