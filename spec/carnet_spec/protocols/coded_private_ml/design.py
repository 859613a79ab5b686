"""The family of CodedPrivateML: its claims and threat models."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.coded_private_ml.claims import COLLUDING, TEXT, lemma_claims

ID = "coded-private-ml"
TITLE = "CodedPrivateML: training on blocks of data that are coded with random ones"


def coded_private_ml(variant: str) -> Draft:
    """Draft the only variant: no step is spoken of, and nothing is first-order."""
    draft = Draft(ID, TITLE, variant)
    assumptions_from(draft, TEXT, built_in=("A1",))
    draft.threat(COLLUDING, "some workers put together what they are sent")
    lemma_claims(draft)
    return draft


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Return the only instance: there is no sort, and nothing to choose."""
    sizes_for(scale, {}, protocol.id)
    return Instance(elements={}, relations={}, functions={})


#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.ACCELERATOR,
        "workers",
        Visibility.MASKED,
        "values of a polynomial with random blocks, while no more of them work together than there are random blocks",
        limited_by=("threshold",),
        trusted_for="computing right, and not working together in larger numbers",
        assumed_in=("few-together",),
    ),
    PartyView(
        PartyKind.HOST,
        "network",
        Visibility.MASKED,
        "what it reads on the way to workers: each link that is read counts as a worker",
        limited_by=("threshold",),
        trusted_for="not reading what workers are sent",
        assumed_in=("A1",),
    ),
)


FAMILY = Family(
    id=ID, title=TITLE, draft=coded_private_ml, instance=instance, default_threat=COLLUDING, views=VIEWS, text=TEXT
)
