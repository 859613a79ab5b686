"""A narrow update after a sweep over all is an exception to it: the order of writing is the meaning."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, implies, relation

SOMEBODY = Role("somebody")


class Seat(Individual):
    """Where somebody may sit."""


taken = relation("taken", Seat, kind=Kind.MESSAGE, says="is taken")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("seats", "One seat is taken")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{seat} is taken", message="a -> b: {seat}", source="found")
    def sit(step: Step, seat: Seat) -> None:
        step.remove(taken(step.each(Seat)))
        step.insert(taken(seat))

    @small.claim(name="one seat", sentence="One seat is taken.", requirement="R-1", source="found", under=("any",))
    def _(x: Seat, y: Seat) -> Formula:
        return implies(taken(x) & taken(y), x == y)

    @small.claim(name="no seat", sentence="No seat is taken.", requirement="R-1", source="found", under=("any",))
    def _none(x: Seat) -> Formula:
        return ~taken(x)

    return small
