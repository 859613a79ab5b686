"""A sort that only a quantifier or a claim's parameter has is missing from the protocol's sorts.

``Protocol.sorts`` lists the sorts of symbols and of actions' parameters. A claim over a sort that no symbol speaks of
makes an instance without elements of it: every exploration ended with an error, exit code 5.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Role, Step, flag

SOMEBODY = Role("somebody")
done = flag("done", of=SOMEBODY, says="it was done")


class Party(Individual):
    """Somebody, of whom nothing is said."""


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("only-a-variable", "A sort that only a variable has")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="it is done", source="found")
    def do(step: Step) -> None:
        step.insert(done)

    @small.claim(name="one", sentence="There is one party.", requirement="R-1", source="found", under=("any",))
    def _(x: Party, y: Party) -> Formula:
        return x == y

    return small
