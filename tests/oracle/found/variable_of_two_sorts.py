"""R9: a claim's variable and a condition's have one name and two sorts, and meet in a proof obligation.

The condition under which ``told`` is inserted quantifies over keys by the variable that the claim quantifies over
parties by. They are two variables in the language, and were one in the obligation's text: the run ended with an error.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, exists, forall, relation

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


class Key(Individual):
    """A key."""


held = relation("held", Party, Key, kind=Kind.STATE, of=SOMEBODY, says="holds the key")
told = relation("told", Party, kind=Kind.STATE, of=SOMEBODY, says="was told")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("two-sorts", "A variable of two sorts")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="{x} takes {k}", source="found")
    def take(step: Step, x: Party, k: Key) -> None:
        step.insert(held(x, k))

    @small.action(by=SOMEBODY, says="all who hold a key are told", source="found")
    def tell(step: Step) -> None:
        party = step.each(Party)
        step.insert(told(party), when=exists(lambda x: held(party, x), Key))

    @small.claim(name="untold", sentence="Nobody is told.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return forall(lambda x: ~told(x), Party)

    return small
