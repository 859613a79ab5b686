"""Two proof obligations have one name, and one of them is never asked.

The prover calls an obligation ``step/<action>/<claim>``. That a step ``a/b`` keeps ``c``, and that a step ``a`` keeps
``b/c``, are two questions with the name ``step/a/b/c``; they are kept in a dictionary by it. So ``c`` was PROVED,
though ``a/b`` violates it with three parties. The explored instance has two, so nothing contradicts the proof.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, exists, relation

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


seen = relation("seen", Party, kind=Kind.STATE, of=SOMEBODY, says="was seen")
crowded = relation("crowded", Party, kind=Kind.STATE, of=SOMEBODY, says="was one of three")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("obligations", "Two obligations of one name")
    small.threat("any", "nothing is assumed")

    def crowd(step: Step, x: Party, y: Party, z: Party) -> None:
        step.insert(crowded(x), when=(x != y) & (y != z) & (x != z))

    def see(step: Step, x: Party) -> None:
        step.insert(seen(x))

    crowd.__name__, see.__name__ = "a/b", "a"
    small.action(by=SOMEBODY, says="{x}, {y} and {z} meet", source="found")(crowd)
    small.action(by=SOMEBODY, says="{x} is seen", source="found")(see)

    @small.claim(name="c", sentence="There are no three.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return ~exists(crowded, Party)

    @small.claim(name="b/c", sentence="A thing is itself.", requirement="R-1", source="found", under=("any",))
    def _(x: Party) -> Formula:
        return ~(seen(x) & ~seen(x))

    return small
