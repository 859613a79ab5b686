"""A sort called ``Bool`` is taken for the truth values.

``Sort("Bool")`` equals the language's own sort of formulas, so it is left out of the protocol's sorts and its elements
are compared as formulas are: every exploration ended with an error, exit code 5. The name should be refused.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, relation

SOMEBODY = Role("somebody")


class Bool(Individual):
    """A sort of an unlucky name."""


seen = relation("seen", Bool, kind=Kind.STATE, of=SOMEBODY, says="was seen")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("bool", "A sort called Bool")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{x} is seen", source="found")
    def see(step: Step, x: Bool) -> None:
        step.insert(seen(x))

    @small.claim(name="unseen", sentence="Nothing is seen.", requirement="R-1", source="found", under=("any",))
    def _(x: Bool) -> Formula:
        return ~seen(x)

    return small
