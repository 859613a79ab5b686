"""The claims of Slalom: first-order claims for any field, and lemma claims."""

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims, LemmaClaims, text_beside
from carnet_spec.protocols.slalom import counting
from carnet_spec.theories.field import Field

TEXT = text_beside(__file__)
CURIOUS, CHEATING = "curious", "cheating"


class Residue(Individual):
    """A residue: a value, a mask, what is seen, or a result."""


sums = rigid_relation("sums", Residue, Residue, Residue, says="{0} and {1} add up to {2}")
products = rigid_relation("products", Residue, Residue, Residue, says="{0} times {1} is {2}")
layer = rigid_relation("layer", Residue, Residue, says="the linear layer takes {0} to {1}")
zero = constant("zero", Residue, says="adds nothing")

FIELD = Field(Residue, sums, zero, products)
SLALOM = "Slalom, section 4.2"
CHECK = "Slalom, section 4.1; Freivalds 1977"


def assume(draft: Draft) -> None:
    """Assume a field, and a layer that is linear."""
    FIELD.assume_group(draft, "A1")
    FIELD.assume_cancellation(draft, "A2")
    draft.axiom(
        "the layer is linear",
        forall(
            lambda a, b, c, u, v, w: implies(layer(a, u) & layer(b, v) & layer(c, w) & sums(a, b, c), sums(u, v, w)),
            *(Residue,) * 6,
            names="abcuvw",
        ),
        assumption="A3",
    )


def theorems(draft: Draft) -> None:
    """State what is first-order of the lemma claims."""
    curious, cheating = Claims(draft, TEXT, (CURIOUS,)), Claims(draft, TEXT, (CHEATING,))

    @curious("one-mask", SLALOM)
    def one_mask(x: Residue, opposite: Residue, y: Residue, r: Residue, s: Residue) -> Formula:
        return implies(sums(x, opposite, zero) & sums(x, r, y) & sums(x, s, y), r == s)

    @curious("some-mask", SLALOM)
    def some_mask(x: Residue, opposite: Residue, y: Residue, r: Residue) -> Formula:
        return implies(sums(x, opposite, zero) & sums(opposite, y, r), sums(x, r, y))

    @curious("same-difference", SLALOM)
    def same_difference(x: Residue, z: Residue, d: Residue, r: Residue, y: Residue, w: Residue) -> Formula:
        return implies(sums(z, d, x) & sums(x, r, y) & sums(z, r, w), sums(w, d, y))

    @curious("unblinded", SLALOM)
    def unblinded(
        x: Residue, r: Residue, y: Residue, u: Residue, v: Residue, w: Residue, opposite: Residue, t: Residue
    ) -> Formula:
        computed = sums(x, r, y) & layer(x, u) & layer(r, v) & layer(y, w)
        return implies(computed & sums(v, opposite, zero) & sums(w, opposite, t), t == u)

    @cheating("one-passing-entry", CHECK)
    def one_passing_entry(a: Residue, b: Residue, error: Residue, e: Residue, f: Residue, rest: Residue) -> Formula:
        passing = products(a, error, e) & products(b, error, f) & sums(rest, e, zero) & sums(rest, f, zero)
        return implies(passing & (error != zero), a == b)


def lemma_claims(draft: Draft) -> None:
    """State the lemma claims."""
    curious, cheating = LemmaClaims(draft, TEXT, (CURIOUS,)), LemmaClaims(draft, TEXT, (CHEATING,))
    two = "every pair of values modulo 2, 3, 4, 5 and 7"
    curious(
        "blinding-hides",
        SLALOM,
        (
            Hypothesis("uniform-mask", "Every element is equally likely to be the mask.", "REQ-MASK-01"),
            Hypothesis("independent-mask", "The mask is drawn without regard to the value.", "REQ-MASK-01"),
            Hypothesis("reduced-sum", "The sum of value and mask is reduced.", "REQ-FIELD-03"),
        ),
        Examination(
            Means.COUNTING,
            f"{two}, by how often each sum is seen",
            counting.blinding,
            ("uniform-mask", "independent-mask", "reduced-sum"),
        ),
        theorems=("one-mask", "some-mask"),
    )
    curious(
        "reuse-leaks",
        SLALOM,
        (
            Hypothesis("same-mask", "Both values have one mask.", "REQ-MASK-02"),
            Hypothesis("reduced-difference", "The difference of what is seen is reduced."),
        ),
        Examination(Means.COUNTING, f"{two}, under every mask", counting.reuse, ("same-mask", "reduced-difference")),
        theorems=("same-difference",),
    )
    curious(
        "unblinding-exact",
        SLALOM,
        (
            Hypothesis("linear-layer", "The layer is linear."),
            Hypothesis(
                "factor-of-the-mask", "The factor is what the layer makes of the mask that was added.", "REQ-FACTOR-01"
            ),
            Hypothesis(
                "result-fits", "The result is a centred residue: it is at most half of the modulus.", "REQ-FIELD-01"
            ),
        ),
        Examination(
            Means.COUNTING,
            "every pair of weights, of values and of masks modulo 3 and 5",
            counting.unblinding,
            ("linear-layer", "factor-of-the-mask", "result-fits"),
        ),
        theorems=("unblinded",),
    )
    cheating(
        "freivalds-bound",
        CHECK,
        (
            Hypothesis("prime-modulus", "The modulus is prime.", "REQ-FIELD-02"),
            Hypothesis("uniform-vector", "Every vector is equally likely.", "REQ-CHECK-01"),
            Hypothesis("secret-vector", "The vector is not known to who computes the product.", "REQ-CHECK-01"),
        ),
        Examination(
            Means.COUNTING,
            "every error in a product of two rows and two columns modulo 2, 3 and 5, and every vector",
            counting.freivalds,
            ("prime-modulus", "uniform-vector", "secret-vector"),
        ),
        theorems=("one-passing-entry",),
    )
