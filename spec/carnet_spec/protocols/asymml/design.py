"""The family of AsymML: assumptions, claims, and the sizes of its cases."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.asymml.claims import CURIOUS, TEXT, assume, lemma_claims, theorems
from carnet_spec.theories.field import residues, table

ID = "asymml"
TITLE = "AsymML: convolutions split between a TEE and a GPU that gets noised residuals"
#: How many tensors are added and how far residuals are apart at most, unless a profile or ``--set`` says otherwise.
SIZES = {"modulus": (3, "tensor"), "farthest": (3, "distance")}


def asymml(variant: str) -> Draft:
    """Draft the only variant: no step is spoken of."""
    draft = Draft(ID, TITLE, variant)
    assumptions_from(draft, TEXT)
    draft.threat(CURIOUS, "the GPU looks at everything that it is given")
    assume(draft)
    theorems(draft)
    lemma_claims(draft)
    return draft


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build residues as tensors with the layer that doubles, and residuals on a line."""
    size = sizes_for(scale, SIZES, protocol.id)
    modulus, numbers = size["modulus"], range(size["farthest"] + 1)
    names, points = residues(modulus), [f"residual {number}" for number in numbers]
    long = [f"distance {number}" for number in numbers]
    every = [(a, b) for a in numbers for b in numbers]
    return Instance(
        elements={"Tensor": names, "Residual": tuple(points), "Distance": tuple(long)},
        relations={
            "sums": table(modulus, lambda a, b: a + b),
            "layer": frozenset((names[at], names[2 * at % modulus]) for at in range(modulus)),
            "apart": frozenset((points[a], points[b], long[abs(a - b)]) for a, b in every),
            "at_most": frozenset((long[a], long[b]) for a, b in every if a <= b),
            "lengths": frozenset((long[a], long[b], long[min(a + b, size["farthest"])]) for a, b in every),
        },
        describes=sizes_in_words(size, SIZES),
    )


#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.TEE,
        "TEE",
        Visibility.CLEAR,
        "pictures, labels and the principal channels",
        trusted_for="keeping the principal channels, clipping the rest, and adding the noise",
        assumed_in=("always-clipped", "noise-of-its-own", "every-release-counted"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "GPU",
        Visibility.NOISED,
        "the rest of each picture, clipped and noised, and the same of the gradient",
        limited_by=("clipped-sensitivity", "composed-releases"),
        trusted_for="computing right, which nothing checks",
    ),
    PartyView(
        PartyKind.HOST,
        "who has the link to the GPU",
        Visibility.NOISED,
        "what the GPU is given",
        limited_by=("clipped-sensitivity", "composed-releases"),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=asymml,
    instance=instance,
    profiles=by_name(
        Profile("tiny", {}, title="three tensors and four residuals"),
        Profile("ci", {"modulus": 5, "farthest": 4}, title="five tensors and five residuals"),
    ),
    default_threat=CURIOUS,
    views=VIEWS,
    text=TEXT,
)
