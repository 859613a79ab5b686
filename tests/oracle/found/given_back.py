"""R1: a key that is given back is drawn again, or another one is: the explorer drew the least unused one only."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, exists, implies, relation, used

SOMEBODY = Role("somebody")


class Key(Individual, fresh=True):
    """A key."""


seen = relation("seen", Key, kind=Kind.MESSAGE, says="was seen")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("given-back", "A key that is given back")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{key} is drawn", message="a -> b: {key}", source="found")
    def draw(step: Step, key: Key) -> None:
        step.given("none is out", ~exists(used, Key))
        step.fresh(key)
        step.insert(seen(key))

    @small.action(by=SOMEBODY, says="{key} is given back", source="found")
    def give_back(step: Step, key: Key) -> None:
        step.given("it is out", used(key))
        step.remove(used(key))

    @small.claim(name="one key", sentence="There is one key.", requirement="R-1", source="found", under=("any",))
    def _(x: Key, y: Key) -> Formula:
        return implies(seen(x) & seen(y), x == y)

    return small
