"""The family of Fastrack: axioms, threat models, instances and findings."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.fastrack.claims import TEXT, state_properties
from carnet_spec.protocols.fastrack.protocol import specify
from carnet_spec.protocols.fastrack.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- design ------------------------------------------------------------------------------------------------------------

ID = "fastrack"
TITLE = "Fastrack: a user's data goes to the GPU directly, in chunks that are verified in parallel"


def fastrack(variant: str) -> Draft:
    """Draft the named variant of Fastrack."""
    draft = Draft(ID, TITLE, variant)
    # In the shape of the steps are: what a tag verifies for, what is out of reach, what a kernel does.
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3", "A5"))
    draft.axiom("certificates tell", forall(lambda g: implies(certified(g), genuine(g)), Gpu), assumption="A4")
    draft.axiom("reviewed code", forall(lambda c: implies(vetted(c), ~leaks(c)), Code), assumption="A6")
    StrictOrder("places", Position, before, "A7").assume_linear(draft, first)
    draft.threat(
        "outsider", "the CPU TEE follows the protocol; host, network and other users do not", cpu_honest=~corrupt(cpu)
    )
    draft.threat("collusion", "the CPU TEE may be corrupt, too, and colludes with all others")
    specify(draft)
    state_properties(draft)
    return draft


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances of Fastrack: who takes part, and how much is sent.

#: For each size what it is, unless a profile or ``--set`` says otherwise, and what it counts.
SIZES = {
    "users": (1, "honest user"),
    "gpus": (1, "GPU"),
    "fakes": (0, "fake GPU"),
    "open_gpus": (0, "open GPU"),
    "user_keys": (1, "key"),
    "own_keys": (0, "key of the adversary's"),
    "transfers": (1, "transfer"),
    "chunks": (2, "place"),
    "user_blocks": (2, "block to a user"),
}


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest users, the CPU TEE, and one agent who is whoever else is corrupt.

    Under ``collusion`` the CPU TEE is corrupt, too. ``fakes`` are GPUs that no vendor made, and ``open_gpus`` are
    genuine GPUs out of confidential mode.
    """
    size = sizes_for(scale, SIZES, protocol.id)
    users = first_names(HONEST, "user", size["users"])
    gpus = numbered_names("gpu", size["gpus"])
    fakes = numbered_names("fake", size["fakes"])
    plain = numbered_names("open", size["open_gpus"])
    blocks = {user: numbered_names(f"{user}'s ", size["user_blocks"]) for user in users}
    blocks["mallory"] = ("mallory's",)
    places = numbered_names("place", size["chunks"])
    own, hers = numbered_names("k", size["user_keys"]), numbered_names("m", size["own_keys"])
    return Instance(
        elements={
            "Agent": (*users, "cpu", "mallory"),
            "Gpu": (*gpus, *fakes, *plain),
            "Key": (*own, *hers),
            "Transfer": numbered_names("transfer", size["transfers"]),
            "Position": places,
            "Block": tuple(block for each in blocks.values() for block in each),
            "Code": ("kernel", "copier"),
        },
        relations={
            "corrupt": unary(("mallory", *(("cpu",) if threat == "collusion" else ()))),
            "genuine": unary((*gpus, *plain)),
            "certified": unary((*gpus, *plain)),
            "closed": unary((*gpus, *fakes)),
            "vetted": unary(("kernel",)),
            "leaks": unary(("copier",)),
            "before": InLine(places),
        },
        functions={
            "cpu": {(): "cpu"},
            "first": {(): places[0]},
            "owner": {(block,): agent for agent, each in blocks.items() for block in each},
        },
        pools={("open_exchange", "k"): own, ("open_own", "k"): hers},
        describes=sizes_in_words(size, SIZES),
    )


# -- family ------------------------------------------------------------------------------------------------------------
# What the three optimisations need, which the abstract of the paper does not say.
# Each is an attack on a reading of the abstract. The paper itself may exclude it.

STOCK = "the stock protocol"
_finding = Findings("collusion", "the abstract of the paper, read literally")

#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.OTHERS,
        "other users",
        Visibility.HIDDEN,
        "what passes on links that they share with the host",
        limited_by=("confidentiality",),
    ),
    PartyView(
        PartyKind.TEE,
        "CPU TEE",
        Visibility.HIDDEN,
        "chunks under a key that it never has",
        limited_by=("confidentiality", "key-isolation"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "GPU",
        Visibility.CLEAR,
        "what it decrypts after the tags verify",
        trusted_for="keeping keys and data from the host, and the mode that it reported",
        assumed_in=("A3", "A4", "A5"),
    ),
    PartyView(
        PartyKind.HOST,
        "host and network",
        Visibility.HIDDEN,
        "chunks, their places and when they pass",
        limited_by=("confidentiality",),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=fastrack,
    instance=instance,
    variants=VARIANTS,
    profiles=by_name(
        Profile("tiny", {"fakes": 1, "open_gpus": 1, "own_keys": 1}, title="one transfer of one or two chunks"),
        Profile("transfers", {"fakes": 1, "own_keys": 1, "transfers": 2, "chunks": 1}, title="two short transfers"),
        Profile("ci", {"chunks": 3}, title="one transfer of up to three chunks"),
    ),
    hunts=(
        Profile("one chunk", {"fakes": 1, "open_gpus": 1, "own_keys": 1, "chunks": 1, "user_blocks": 1}, budget=2),
        Profile("two chunks", {"own_keys": 1}, budget=1),
        Profile("two transfers", {"transfers": 2, "chunks": 1}, budget=1),
        Profile("the adversary's own", {"user_keys": 0, "own_keys": 1}),
        Profile("three chunks", {"chunks": 3, "user_blocks": 3}, budget=1),
    ),
    findings=(
        _finding(1, "through-the-cpu", "confidentiality", threat="outsider", about=STOCK)(
            "re-encryption: the CPU TEE, honest or not, reads what the user sends"
        ),
        _finding(2, "cpu-launches", "confidentiality")(
            "the CPU TEE is out of the data path and still submits the work: its kernel copies the data out"
        ),
        _finding(3, "independent-tags", "chunk-agreement")("chunks that are authenticated independently change places"),
        _finding(4, "no-length", "whole-transfer")(
            "a tag that binds neither number nor last: the transfer is cut short"
        ),
        _finding(5, "prefix-start", "whole-transfer")(
            "every chunk that is read was verified, and the transfer is cut short all the same"
        ),
        _finding(6, "decrypt-in-place", "verified-release")(
            "decryption overlaps and writes in place: a kernel reads what no tag covers"
        ),
        _finding(7, "two-fetches", "verified-release")(
            "tag and plaintext come from two reads of host memory: what was verified is not what is read"
        ),
    ),
    default_threat="collusion",
    fresh_sizes=frozenset({"user_keys"}),
    round_goal="answer-taken",
    views=VIEWS,
    text=TEXT,
)
