"""The lemma claims of CodedPrivateML."""

from carnet_spec.language import *
from carnet_spec.language.authoring import LemmaClaims, text_beside
from carnet_spec.protocols.coded_private_ml import cases

TEXT = text_beside(__file__)
COLLUDING = "colluding"
CODED = "CodedPrivateML, abstract; Lagrange coded computing"


def lemma_claims(draft: Draft) -> None:
    """State the lemma claims."""
    claim = LemmaClaims(draft, TEXT, (COLLUDING,))
    sizes = f"up to {cases.MOST} blocks of each kind modulo {cases.PRIME:,}"
    claim(
        "threshold",
        CODED,
        (
            Hypothesis("points-apart", "No worker has the point of a block of data.", "REQ-POINTS-01"),
            Hypothesis("few-together", "No more workers work together than there are random blocks.", "REQ-RANDOM-02"),
            Hypothesis("uniform-noise", "Every element is equally likely in a random block.", "REQ-RANDOM-01"),
            Hypothesis("fresh-noise", "Random blocks are drawn anew.", "REQ-RANDOM-01"),
        ),
        Examination(
            Means.COUNTING,
            "all workers together that may be, modulo 2, 3 and 5, for up to three blocks",
            cases.threshold_counted,
            ("points-apart", "few-together", "uniform-noise", "fresh-noise"),
        ),
        Examination(
            Means.CALCULATION,
            f"all that may be together of {cases.WORKERS} workers, for {sizes}, by ranks",
            cases.threshold_calculated,
            ("points-apart", "few-together"),
        ),
    )
    claim(
        "decoding",
        CODED,
        (
            Hypothesis("enough-results", "There is a result more than the polynomial's degree.", "REQ-RESULTS-01"),
            Hypothesis("points-of-the-blocks", "Results are read at the points of the blocks.", "REQ-POINTS-02"),
        ),
        Examination(
            Means.COUNTING,
            "squares of all data and random values modulo 5 and 7, for up to three blocks",
            cases.decoding_counted,
            ("enough-results", "points-of-the-blocks"),
        ),
        Examination(
            Means.CALCULATION,
            f"all powers of polynomials of degree one to three, for {sizes}",
            cases.decoding_calculated,
            ("enough-results", "points-of-the-blocks"),
        ),
    )
