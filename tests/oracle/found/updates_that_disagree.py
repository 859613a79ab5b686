"""V5: two updates of one step disagree about one fact, and the engines let the last one win."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, relation

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


ready = relation("ready", Party, kind=Kind.STATE, of=SOMEBODY, says="is ready")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("disagree", "Updates that disagree")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{x} takes over from {y}", source="found")
    def take_over(step: Step, x: Party, y: Party) -> None:
        step.insert(ready(x))
        step.remove(ready(y))

    @small.claim(name="one", sentence="One is ready.", requirement="R-1", source="found", under=("any",))
    def _(x: Party, y: Party, z: Party) -> Formula:
        return ~(ready(x) & ready(y) & ready(z) & (x != y) & (y != z) & (x != z))

    return small
