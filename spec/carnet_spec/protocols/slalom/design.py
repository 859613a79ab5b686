"""The family of Slalom: assumptions, claims, and the fields of its cases."""

from operator import add, mul

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.slalom.claims import CHEATING, CURIOUS, TEXT, assume, lemma_claims, theorems
from carnet_spec.theories.field import residues, table

ID = "slalom"
TITLE = "Slalom: linear layers on an untrusted processor, blinded and checked"
#: How many elements the field has, unless a profile or ``--set`` says otherwise; a prime.
SIZES = {"modulus": (3, "residue")}


def slalom(variant: str) -> Draft:
    """Draft the only variant: no step is spoken of."""
    draft = Draft(ID, TITLE, variant)
    assumptions_from(draft, TEXT)
    draft.threat(CURIOUS, "the processor looks at everything that it is sent")
    draft.threat(CHEATING, "the processor returns what it likes")
    assume(draft)
    theorems(draft)
    lemma_claims(draft)
    return draft


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the field of so many residues, with the layer that doubles."""
    size = sizes_for(scale, SIZES, protocol.id)
    modulus = size["modulus"]
    names = residues(modulus)
    return Instance(
        elements={"Residue": names},
        relations={
            "sums": table(modulus, add),
            "products": table(modulus, mul),
            "layer": frozenset((names[at], names[2 * at % modulus]) for at in range(modulus)),
        },
        functions={"zero": {(): names[0]}},
        describes=sizes_in_words(size, SIZES),
    )


#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.TEE,
        "enclave",
        Visibility.CLEAR,
        "the values, and the masks",
        trusted_for="drawing masks that it uses once, and checking with vectors that nobody knows",
        assumed_in=("uniform-mask", "independent-mask", "secret-vector"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "processor",
        Visibility.MASKED,
        "values under masks that are used once",
        limited_by=("blinding-hides", "one-mask", "some-mask"),
    ),
    PartyView(
        PartyKind.HOST,
        "who has the link to the processor",
        Visibility.MASKED,
        "what the processor is sent",
        limited_by=("blinding-hides", "one-mask", "some-mask"),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=slalom,
    instance=instance,
    profiles=by_name(
        Profile("tiny", {}, title="the field of three elements"),
        Profile("ci", {"modulus": 5}, title="the field of five elements"),
    ),
    default_threat=CURIOUS,
    views=VIEWS,
    text=TEXT,
)
