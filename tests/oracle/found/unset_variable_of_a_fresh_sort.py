"""R10 and R1 together: a variable that nothing has written holds a key that nobody has drawn.

Unused keys are alike as long as nothing names one of them. Here ``last`` does from the start: it holds any key. The
explorer gave it the first key, and drew the first key first, so the claim was EXHAUSTED. To start ``last`` at every key
*up to renaming* would not help: with ``last`` at the first key, it is the second one that has to be drawn.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, implies, relation, used, variable

SOMEBODY = Role("somebody")


class Key(Individual, fresh=True):
    """A key."""


last = variable("last", Key, of=SOMEBODY, says="the key of the last run")
seen = relation("seen", Key, kind=Kind.MESSAGE, says="was seen")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("unset-key", "A variable that holds an unused key")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{key} is drawn", message="a -> b: {key}", source="found")
    def draw(step: Step, key: Key) -> None:
        step.fresh(key)
        step.insert(seen(key))

    @small.claim(name="used", sentence="The last key is used.", requirement="R-1", source="found", under=("any",))
    def _(key: Key) -> Formula:
        return implies(seen(key), used(last))

    return small
