"""R2: the explorer's generated code refers to two relations by one name.

It named what belongs to a symbol by the symbol's name and a running number: ``key`` with 12 and ``key1`` with 2 are the
same. Which two meet depends on the order in which symbols are mentioned; in this one a guard reads another relation,
the explorer takes a step that is not possible, and the run ends with an error. Elsewhere a false claim was EXHAUSTED.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Relation, Role, Step, relation

SOMEBODY = Role("somebody")
ORDER = ("8", "13", "2", "", "9", "12", "1", "7")


class Party(Individual):
    """Somebody."""


keys = [relation(f"key{ending}", Party, kind=Kind.STATE, of=SOMEBODY, says="has the key") for ending in ORDER]


def draft() -> Draft:
    """Write the protocol down: each key is taken after the one before."""
    small = Draft("numbers", "Names that end in numbers")
    small.threat("any", "nothing is assumed")
    for before, after in zip([None, *keys], keys, strict=False):
        _take(small, before, after)

    @small.claim(name="never", sentence="The last is not taken.", requirement="R-1", source="found", under=("any",))
    def _(x: Party) -> Formula:
        return ~keys[-1](x)

    return small


def _take(small: Draft, before: Relation | None, after: Relation) -> None:
    def take(step: Step, x: Party) -> None:
        if before is not None:
            step.require("has the one before", before(x))
        step.insert(after(x))

    take.__name__ = f"take_{after.symbol.name}"
    small.action(by=SOMEBODY, says="{x} takes the next key", source="found")(take)
