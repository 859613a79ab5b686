"""R10: a claim reads a variable that nothing has written yet, and only its first value was explored."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Role, Step, flag, variable

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


turn = variable("turn", Party, of=SOMEBODY, says="whose turn it is")
first = variable("first", Party, of=SOMEBODY, says="who began")
moved = flag("moved", of=SOMEBODY, says="somebody moved")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("unwritten", "A variable without a first value")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{x} moves", source="found")
    def move(step: Step, x: Party) -> None:
        step.require("not yet", ~moved)
        step.set(turn, x)
        step.set(first, x)
        step.insert(moved)

    @small.claim(name="same", sentence="Who began is on.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return turn == first

    return small
