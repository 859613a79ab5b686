"""A theory of strict linear orders: counters, versions, places, clock ticks.

A protocol assumes as much of the order as its proofs need: a strict order, or one in which any two elements are
comparable, with a first element or without.
"""

from collections.abc import Callable
from dataclasses import dataclass

from carnet_spec.language import Draft, Formula, Individual, Relation, forall, implies

_SINGULAR = {"do": "does", "are": "is", "have": "has"}


@dataclass(frozen=True)
class StrictOrder:
    """A relation by which a sort is ordered, and the assumption that says so."""

    things: str  #: what the elements are called in the names of the axioms, such as ``places``.
    sort: type[Individual]  #: the sort that is ordered.
    before: Relation  #: whether its first element comes before its second.
    assumption: str  #: the id of the assumption that the axioms state.
    #: sorts whose every element has an order of its own; ``before`` takes these elements first.
    each: tuple[type[Individual], ...] = ()
    names: str = "uvw"  #: a letter for each bound variable: those of ``each``, and three of ``sort``.
    singular: bool = False  #: whether ``things`` is a word in the singular, such as ``time``.

    def assume(self, draft: Draft, first: Individual | None = None) -> None:
        """Assume that the order is a strict one, and that none is before ``first``."""
        before = self.before
        self._state(draft, 1, "do not loop", lambda c, u: ~before(*c, u, u))
        self._state(
            draft, 3, "are ordered", lambda c, u, v, w: implies(before(*c, u, v) & before(*c, v, w), before(*c, u, w))
        )
        self._starts(draft, first)

    def assume_linear(self, draft: Draft, first: Individual | None = None) -> None:
        """Assume that any two elements are comparable, too."""
        before = self.before
        self.assume(draft)
        self._state(draft, 2, "are in line", lambda c, u, v: before(*c, u, v) | (u == v) | before(*c, v, u))
        self._starts(draft, first)

    def _starts(self, draft: Draft, first: Individual | None) -> None:
        if first is not None:
            self._state(draft, 1, "have a start", lambda c, u: ~self.before(*c, u, first))

    def _state(self, draft: Draft, count: int, says: str, body: Callable[..., Formula]) -> None:
        """State an axiom about ``count`` elements, for each element of the sorts that have orders of their own."""
        fixed = len(self.each)
        sorts, names = (*self.each, *(self.sort,) * count), self.names[: fixed + count]
        verb, _, rest = says.partition(" ")
        name = f"{self.things} {_SINGULAR[verb] if self.singular else verb} {rest}"
        formula = forall(lambda *these: body(these[:fixed], *these[fixed:]), *sorts, names=names)
        draft.axiom(name, formula, assumption=self.assumption)
