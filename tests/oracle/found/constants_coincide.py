"""R7: the checker's own instance gives two constants two elements, and the claim is false where they are one.

EXHAUSTED was printed of the claim, for it was explored with one meaning of the rigid symbols.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, constant, implies, relation

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


boss = constant("boss", Party, says="who decides")
deputy = constant("deputy", Party, says="who decides when nobody else does")
asked = relation("asked", Party, kind=Kind.STATE, of=SOMEBODY, says="was asked")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("coincide", "Constants that coincide")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="the boss is asked", source="found")
    def ask(step: Step) -> None:
        step.insert(asked(boss))

    @small.claim(name="spared", sentence="No deputy is asked.", requirement="R-1", source="found", under=("any",))
    def _(x: Party) -> Formula:
        return implies(asked(x), x != deputy)

    return small
