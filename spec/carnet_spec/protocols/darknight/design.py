"""The family of DarKnight: assumptions, claims, and the fields of its cases."""

from operator import add, mul

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.darknight.claims import COLLUDING, TEXT, lemma_claims, theorems
from carnet_spec.theories.field import residues, table

ID = "darknight"
TITLE = "DarKnight: batches of inputs, coded with noise, on processors that may work together"
#: How many elements the field has, unless a profile or ``--set`` says otherwise; a prime.
SIZES = {"modulus": (3, "residue")}


def darknight(variant: str) -> Draft:
    """Draft the only variant: no step is spoken of."""
    draft = Draft(ID, TITLE, variant)
    assumptions_from(draft, TEXT)
    draft.threat(COLLUDING, "some processors put together what they are sent")
    theorems(draft)
    lemma_claims(draft)
    return draft


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the field of so many residues."""
    size = sizes_for(scale, SIZES, protocol.id)
    modulus = size["modulus"]
    names = residues(modulus)
    return Instance(
        elements={"Residue": names},
        relations={"sums": table(modulus, add), "products": table(modulus, mul)},
        functions={"zero": {(): names[0]}},
        describes=sizes_in_words(size, SIZES),
    )


#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.TEE,
        "enclave",
        Visibility.CLEAR,
        "the batch, and the noise",
        trusted_for="drawing noise anew for each batch",
        assumed_in=("uniform-noise", "independent-noise"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "processors",
        Visibility.MASKED,
        "sums of inputs and noise, while no more of them work together than there are values of noise",
        limited_by=("criterion", "threshold", "one-noise"),
        trusted_for="computing right, and not working together in larger numbers",
        assumed_in=("few-together",),
    ),
    PartyView(
        PartyKind.HOST,
        "who has links to processors",
        Visibility.MASKED,
        "what these processors are sent: each link that is read counts as a processor",
        limited_by=("criterion", "threshold"),
        trusted_for="reading no more links than there are values of noise",
        assumed_in=("few-together",),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=darknight,
    instance=instance,
    profiles=by_name(
        Profile("tiny", {}, title="the field of three elements"),
        Profile("ci", {"modulus": 5}, title="the field of five elements"),
    ),
    default_threat=COLLUDING,
    views=VIEWS,
    text=TEXT,
)
