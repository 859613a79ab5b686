"""A theory of sums and products as relations, for blinding, unblinding and the check of products.

That two elements have a sum, and each an opposite, is nowhere assumed: a claim names the elements that it needs as
parameters, so that all obligations stay decidable. In a finite field they exist.
"""

from collections.abc import Callable
from dataclasses import dataclass

from carnet_spec.language import Draft, Formula, Individual, Relation, Row, forall, implies


@dataclass(frozen=True)
class Field:
    """A sort whose elements are added and multiplied."""

    sort: type[Individual]  #: the elements.
    sums: Relation  #: whether the sum of the first two is the third.
    zero: Individual  #: the neutral element.
    products: Relation  #: whether the product of the first two is the third.

    def assume_group(self, draft: Draft, assumption: str) -> None:
        """Assume that sums are those of a commutative group."""
        sums, zero = self.sums, self.zero
        state = _stating(draft, self.sort, assumption)
        state("there is one sum", "abcd", lambda a, b, c, d: implies(sums(a, b, c) & sums(a, b, d), c == d))
        state("zero adds nothing", "a", lambda a: sums(a, zero, a))
        state("sums commute", "abc", lambda a, b, c: implies(sums(a, b, c), sums(b, a, c)))
        state(
            "sums associate",
            "abcuvw",
            lambda a, b, c, u, v, w: implies(sums(a, b, u) & sums(b, c, v) & sums(u, c, w), sums(a, v, w)),
        )

    def assume_cancellation(self, draft: Draft, assumption: str) -> None:
        """Assume that a factor other than zero can be cancelled, which no ring with zero divisors allows."""
        times, zero = self.products, self.zero
        _stating(draft, self.sort, assumption)(
            "factors cancel",
            "abcd",
            lambda a, b, c, d: implies(times(a, c, d) & times(b, c, d) & (c != zero), a == b),
        )


def _stating(draft: Draft, sort: type[Individual], assumption: str) -> Callable[..., None]:
    def state(name: str, letters: str, body: Callable[..., Formula]) -> None:
        draft.axiom(name, forall(body, *(sort,) * len(letters), names=letters), assumption=assumption)

    return state


def residues(modulus: int) -> tuple[str, ...]:
    """Return the names of the residues in instances."""
    return tuple(f"residue {number}" for number in range(modulus))


def table(modulus: int, operation: Callable[[int, int], int]) -> frozenset[Row]:
    """Return an operation on residues as the rows of a relation."""
    names, numbers = residues(modulus), range(modulus)
    return frozenset((names[a], names[b], names[operation(a, b) % modulus]) for a in numbers for b in numbers)
