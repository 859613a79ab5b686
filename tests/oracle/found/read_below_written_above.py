"""R6: a layer opens what the design below reads and never opens, and what is proved below falls in the layer."""

from __future__ import annotations

from carnet_check.loading.default_instance import default_instance
from carnet_spec.language import (
    Draft,
    Family,
    Formula,
    Individual,
    Kind,
    Profile,
    Role,
    Step,
    Variant,
    flag,
    implies,
    relation,
)

SOMEBODY = Role("somebody")


class Acceptor(Individual):
    """A way in."""


opened = relation("opened", Acceptor, kind=Kind.STATE, of=SOMEBODY, says="is open")
entered = flag("entered", of=SOMEBODY, says="somebody went in")
noted = flag("noted", of=SOMEBODY, says="somebody took a note")


def draft(variant: str = "main") -> Draft:
    """Write the design down, or the layer over it."""
    small = Draft("doors", "Doors that nobody opens", variant)
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="somebody enters by {x}", source="found")
    def enter(step: Step, x: Acceptor) -> None:
        step.require("open", opened(x))
        step.insert(entered)

    if variant == "main":
        _below(small)
    else:
        _above(small)
    return small


def _below(small: Draft) -> None:
    @small.lemma
    def shut(x: Acceptor) -> Formula:
        """No door is open."""
        return ~opened(x)

    @small.claim(name="empty", sentence="Nobody is in.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return ~entered


def _above(small: Draft) -> None:
    @small.superpose("enter")
    def _(step: Step) -> None:
        step.insert(noted)

    @small.action(by=SOMEBODY, says="{x} is opened", source="found")
    def unlock(step: Step, x: Acceptor) -> None:
        step.insert(opened(x))

    @small.claim(name="notes", sentence="Notes are true.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return implies(noted, entered)


FAMILY = Family(
    id="doors",
    title="Doors that nobody opens",
    draft=draft,
    instance=default_instance,
    variants={"main": Variant("main", "as written"), "layer": Variant("layer", "with keys", over="main")},
    main=("main",),
    profiles={"tiny": Profile("tiny", {})},
)
