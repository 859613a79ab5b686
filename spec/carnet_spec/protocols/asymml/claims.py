"""The claims of AsymML: first-order claims for any layer and metric, and lemma claims."""

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims, LemmaClaims, text_beside
from carnet_spec.protocols.asymml import cases

TEXT = text_beside(__file__)
CURIOUS = "curious"
SPLIT, CARNET, COMPOSED = "3LegRace, slides 6 to 9", "Carnet", "Dong, Roth and Su, Corollary 3.3"


class Tensor(Individual):
    """Features, a part of them, or what a layer makes of them."""


class Residual(Individual):
    """What leaves the TEE, as a point in space."""


class Distance(Individual):
    """A distance, or a bound on one."""


sums = rigid_relation("sums", Tensor, Tensor, Tensor, says="{0} and {1} add up to {2}")
layer = rigid_relation("layer", Tensor, Tensor, says="the linear layer takes {0} to {1}")
apart = rigid_relation("apart", Residual, Residual, Distance, says="{0} and {1} are {2} apart")
at_most = rigid_relation("at_most", Distance, Distance, says="{0} is at most {1}")
lengths = rigid_relation("lengths", Distance, Distance, Distance, says="{0} and {1} add up to {2}")


def assume(draft: Draft) -> None:
    """Assume sums, a linear layer, a metric and an order of lengths."""
    value, point, length = (Tensor,), (Residual,), (Distance,)
    draft.axiom(
        "there is one sum",
        forall(lambda a, b, c, d: implies(sums(a, b, c) & sums(a, b, d), c == d), *value * 4, names="abcd"),
        assumption="A1",
    )
    draft.axiom(
        "the layer is linear",
        forall(
            lambda a, b, c, u, v, w: implies(layer(a, u) & layer(b, v) & layer(c, w) & sums(a, b, c), sums(u, v, w)),
            *value * 6,
            names="abcuvw",
        ),
        assumption="A2",
    )
    draft.axiom(
        "no way over a third point is shorter",
        forall(
            lambda x, y, z, a, b, d, s: implies(
                apart(z, x, a) & apart(z, y, b) & apart(x, y, d) & lengths(a, b, s), at_most(d, s)
            ),
            *(*point * 3, *length * 4),
            names="xyzabds",
        ),
        assumption="A3",
    )
    draft.axiom(
        "lengths are ordered",
        forall(lambda a, b, c: implies(at_most(a, b) & at_most(b, c), at_most(a, c)), *length * 3, names="abc"),
        assumption="A4",
    )
    draft.axiom(
        "longer lengths add up to no less",
        forall(
            lambda a, b, c, d, s, t: implies(
                at_most(a, c) & at_most(b, d) & lengths(a, b, s) & lengths(c, d, t), at_most(s, t)
            ),
            *length * 6,
            names="abcdst",
        ),
        assumption="A4",
    )


def theorems(draft: Draft) -> None:
    """State what is first-order of the lemma claims."""
    claim = Claims(draft, TEXT, (CURIOUS,))

    @claim("recombined", SPLIT)
    def recombined(p: Tensor, r: Tensor, x: Tensor, u: Tensor, v: Tensor, y: Tensor, z: Tensor) -> Formula:
        parts = sums(p, r, x) & layer(p, u) & layer(r, v)
        return implies(parts & layer(x, y) & sums(u, v, z), z == y)

    @claim("within-twice", CARNET)
    def within_twice(
        o: Residual,
        x: Residual,
        y: Residual,
        a: Distance,
        b: Distance,
        d: Distance,
        c: Distance,
        s: Distance,
        t: Distance,
    ) -> Formula:
        clipped = apart(o, x, a) & at_most(a, c) & apart(o, y, b) & at_most(b, c)
        return implies(clipped & apart(x, y, d) & lengths(a, b, s) & lengths(c, c, t), at_most(d, t))


def lemma_claims(draft: Draft) -> None:
    """State the lemma claims."""
    claim = LemmaClaims(draft, TEXT, (CURIOUS,))
    always_clipped = Hypothesis("always-clipped", "Every residual is clipped, whatever it is of.", "REQ-CLIP-01")
    claim(
        "recombination",
        SPLIT,
        (
            Hypothesis("linear-layer", "The layer is linear."),
            Hypothesis("parts-add-up", "The GPU computes on the part that the TEE did not keep.", "REQ-SPLIT-01"),
            Hypothesis("every-product", "Of two split values, each part is multiplied by each.", "REQ-SPLIT-01"),
        ),
        Examination(
            Means.COUNTING,
            "every weight, and both parts of features and gradient, from −1 to 1 and from −2 to 2",
            cases.recombination,
            ("linear-layer", "parts-add-up", "every-product"),
        ),
        theorems=("recombined",),
    )
    claim(
        "clipped-sensitivity",
        CARNET,
        (
            always_clipped,
            Hypothesis("euclidean-norm", "What is clipped is the Euclidean norm of the whole.", "REQ-CLIP-01"),
        ),
        Examination(
            Means.COUNTING,
            "every two vectors of up to three whole numbers, clipped to 1, 2 and 3",
            cases.sensitivity_counted,
            ("always-clipped", "euclidean-norm"),
        ),
        Examination(
            Means.CALCULATION,
            f"every Gram matrix of whole numbers, for bounds up to {cases.LARGEST}, in any dimension",
            cases.sensitivity_calculated,
            ("always-clipped", "euclidean-norm"),
        ),
        theorems=("within-twice",),
    )
    needs = ("always-clipped", "noise-of-its-own", "every-release-counted")
    claim(
        "composed-releases",
        COMPOSED,
        (
            always_clipped,
            Hypothesis("noise-of-its-own", "The noise of each release is drawn for it alone.", "REQ-NOISE-01"),
            Hypothesis("every-release-counted", "Every release is counted.", "REQ-COUNT-01"),
        ),
        Examination(
            Means.COUNTING,
            "two releases with bounds and variances of 1 and 2, and every combination with factors from −2 to 2",
            cases.composition_counted,
            needs,
        ),
        Examination(
            Means.CALCULATION,
            "three releases with bounds of 1 and 2 and variances of 1 and 3, by the best combination that there is",
            cases.composition_calculated,
            needs,
        ),
    )
