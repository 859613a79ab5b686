"""The claims of DarKnight: first-order claims for any field, and lemma claims."""

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims, LemmaClaims, text_beside
from carnet_spec.protocols.darknight import cases
from carnet_spec.theories.field import Field

TEXT = text_beside(__file__)
COLLUDING = "colluding"


class Residue(Individual):
    """A residue: an input, noise, or what a processor sees."""


sums = rigid_relation("sums", Residue, Residue, Residue, says="{0} and {1} add up to {2}")
products = rigid_relation("products", Residue, Residue, Residue, says="{0} times {1} is {2}")
zero = constant("zero", Residue, says="adds nothing")

FIELD = Field(Residue, sums, zero, products)
DARKNIGHT = "DarKnight, abstract"


def theorems(draft: Draft) -> None:
    """State what is first-order of the claim about who works together, for one processor."""
    FIELD.assume_group(draft, "A1")
    FIELD.assume_cancellation(draft, "A2")

    @Claims(draft, TEXT, (COLLUDING,))("one-noise", DARKNIGHT)
    def one_noise(
        part: Residue, opposite: Residue, factor: Residue, r: Residue, s: Residue, u: Residue, v: Residue, seen: Residue
    ) -> Formula:
        noise = products(r, factor, u) & products(s, factor, v) & (factor != zero)
        return implies(sums(part, opposite, zero) & noise & sums(part, u, seen) & sums(part, v, seen), r == s)


_UNIFORM = Hypothesis("uniform-noise", "Every element is equally likely to be a value of the noise.", "REQ-NOISE-01")
_INDEPENDENT = Hypothesis("independent-noise", "Each value of the noise is drawn for itself.", "REQ-NOISE-01")
_DISTINCT = Hypothesis("distinct-points", "No two processors have one point.", "REQ-POINTS-01")
_FEW = Hypothesis("few-together", "No more processors work together than there are values of noise.", "REQ-NOISE-02")
_ENOUGH = Hypothesis("enough-results", "There are as many results as inputs and values of noise.", "REQ-RESULTS-01")
_SHARES = (
    "all shares of one input and one or two values of noise, of one or two processors, modulo 2 and 3, and modulo 5 "
    "but for two processors with two values"
)


def lemma_claims(draft: Draft) -> None:
    """State the lemma claims."""
    claim = LemmaClaims(draft, TEXT, (COLLUDING,))
    claim(
        "criterion",
        DARKNIGHT,
        (_UNIFORM, _INDEPENDENT),
        Examination(
            Means.COUNTING,
            f"{_SHARES}, by how often each view is seen",
            cases.criterion_counted,
            ("uniform-noise", "independent-noise"),
        ),
        Examination(Means.CALCULATION, f"{_SHARES}, by ranks", cases.criterion_calculated, ()),
    )
    claim(
        "threshold",
        DARKNIGHT,
        (_UNIFORM, _INDEPENDENT, _FEW),
        Examination(
            Means.COUNTING,
            "all coalitions of up to as many processors as there are values of noise, for up to three inputs and "
            "values of noise together, modulo 2, 3 and 5",
            cases.threshold_counted,
            ("uniform-noise", "independent-noise", "few-together"),
        ),
        Examination(
            Means.CALCULATION,
            f"all coalitions among {cases.PROCESSORS} processors modulo {cases.PRIME:,}, by ranks",
            cases.threshold_calculated,
            ("few-together",),
        ),
        theorems=("one-noise",),
    )
    claim(
        "decoding",
        DARKNIGHT,
        (_DISTINCT, _ENOUGH),
        Examination(
            Means.COUNTING,
            "all inputs and noise of up to three values together, modulo 2, 3 and 5",
            cases.decoding_counted,
            ("distinct-points", "enough-results"),
        ),
        Examination(
            Means.CALCULATION,
            f"all results of up to {cases.PROCESSORS} processors modulo {cases.PRIME:,}, by ranks",
            cases.decoding_calculated,
            ("distinct-points", "enough-results"),
        ),
    )
