"""R4: two functions are read through one another before either is written, and the lint lets it pass.

``back(there(x)) == x`` reads ``there`` at ``x``, which is a value of ``back``, and ``back`` at a value of ``there``.
The lint takes a value to have been assigned, so each read excuses the other. But both functions hold anything at
first. Only one first value was explored, with which nobody but the first party could ``use``.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, flag, function, implies

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


there = function("there", Party, to=Party, kind=Kind.STATE, of=SOMEBODY, says="who it was paired with")
back = function("back", Party, to=Party, kind=Kind.STATE, of=SOMEBODY, says="who was paired with it")
paired = flag("paired", of=SOMEBODY, says="a pair was made")
used = flag("both_used", of=SOMEBODY, says="two parties used their pairs")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("circle", "A circle of reads")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{x} and {y} are a pair", source="found")
    def pair(step: Step, x: Party, y: Party) -> None:
        step.set(there(x), y)
        step.set(back(y), x)
        step.insert(paired)

    @small.action(by=SOMEBODY, says="{x} and {y} use their pairs", source="found")
    def use(step: Step, x: Party, y: Party) -> None:
        step.require("two", x != y)
        step.require("there and back", (back(there(x)) == x) & (back(there(y)) == y))
        step.insert(used)

    @small.claim(name="made first", sentence="Pairs are made.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return implies(used, paired)

    return small
