"""R8: what a premise speaks of happens with three parties only, so the claim was VACUOUS; with three it is false."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Role, Step, flag, implies

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


crowd = flag("crowd", of=SOMEBODY, says="there was a crowd")
calm = flag("calm", of=SOMEBODY, says="all is calm")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("larger", "What only three can do")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{x}, {y} and {z} meet", source="found")
    def meet(step: Step, x: Party, y: Party, z: Party) -> None:
        step.require("three", (x != y) & (y != z) & (x != z))
        step.insert(crowd)

    @small.claim(name="calm", sentence="A crowd is calm.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return implies(crowd, calm)

    return small
