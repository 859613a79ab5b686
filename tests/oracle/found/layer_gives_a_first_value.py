"""R6, its other half: a layer gives a first value to what the design reads, and a claim proved below falls.

``Draft.superpose`` refuses to change what the design changes. Nothing refuses a first value: below, ``opened`` starts
empty and nothing opens a door, so ``entered`` is never true. In the layer every door is open at first, and erasing the
layer from a run leaves no run of the design.
"""

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
    true,
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

    def everywhere(x: Acceptor) -> Formula:
        return true

    small.initially(opened, everywhere)

    @small.claim(name="notes", sentence="Notes are true.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return implies(noted, entered)


FAMILY = Family(
    id="doors",
    title="Doors that nobody opens",
    draft=draft,
    instance=default_instance,
    variants={"main": Variant("main", "as written"), "layer": Variant("layer", "all is open", over="main")},
    main=("main",),
    profiles={"tiny": Profile("tiny", {})},
)
