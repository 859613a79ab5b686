"""The family of PipeLLM: axioms, threat models, instances and findings."""

from itertools import pairwise

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.pipellm.claims import TEXT, state_properties
from carnet_spec.protocols.pipellm.protocol import specify
from carnet_spec.protocols.pipellm.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- design ------------------------------------------------------------------------------------------------------------

ID = "pipellm"
TITLE = "PipeLLM: blocks are encrypted before they are asked for, under the IV that will be due then"


def pipellm(variant: str) -> Draft:
    """Draft the named variant of PipeLLM."""
    draft = Draft(ID, TITLE, variant)
    # In the shape of the steps are: what verifies, what is out of reach, and that a write is seen.
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3", "A4", "A5"))
    draft.axiom("the host is corrupt", corrupt(host), assumption="A2")
    draft.axiom("zeros are no secret", owner(zeros) == host, assumption="A6")
    StrictOrder("IVs", Iv, before, "A7", names="ijm").assume_linear(draft, start)
    draft.axiom(
        "nothing is between an IV and the next",
        forall(
            lambda i, j, m: implies(follows(i, j), before(i, j) & implies(before(i, m), (m == j) | before(j, m))),
            *(Iv, Iv, Iv),
        ),
        assumption="A7",
    )
    StrictOrder("copies", Copy, earlier, "A7", names="rst").assume_linear(draft, none)
    alone = forall(lambda a: implies(corrupt(a), a == host), Agent)
    draft.threat("lone-host", "the host sees and changes shared memory; every tenant follows the protocol", alone=alone)
    draft.threat("collusion", "tenants may be corrupt, too, and collude with the host")
    specify(draft)
    if draft.variant == FLUSHED:
        draft.defence("encrypt-once", "an IV under which something was encrypted ahead encrypts nothing else")
    state_properties(draft)
    return draft


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances of PipeLLM: who takes part, and how much is sent.

#: For each size what it is, unless a profile or ``--set`` says otherwise, and what it counts.
SIZES = {
    "tenants": (1, "honest tenant"),
    "tenant_keys": (1, "channel"),
    "own_keys": (0, "channel of the adversary's"),
    "sent_messages": (2, "message to a channel"),
    "tenant_pages": (1, "page to a tenant"),
    "copies": (2, "copy to a channel"),
    "tenant_blocks": (2, "block to a tenant"),
    "host_blocks": (0, "block to the host"),
}


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: honest tenants, the host, and a tenant who may collude with it.

    A channel has one IV more than messages, since the counter goes on after the last; nothing is guessed for that one.
    """
    size = sizes_for(scale, SIZES, protocol.id)
    tenants = first_names(HONEST, "tenant", size["tenants"])
    others = ("mallory",) if threat == "collusion" else ()
    blocks = {tenant: numbered_names(f"{tenant}'s ", size["tenant_blocks"]) for tenant in tenants}
    blocks["host"] = (*numbered_names("host's ", size["host_blocks"]), "zeros")
    pages = {tenant: numbered_names(f"{tenant}'s page ", size["tenant_pages"]) for tenant in tenants}
    ivs = numbered_names("iv", size["sent_messages"] + 1, start=0)
    copies = numbered_names("copy", size["copies"] + 1, start=0)
    own, hers = numbered_names("k", size["tenant_keys"]), numbered_names("m", size["own_keys"])
    return Instance(
        elements={
            "Agent": (*tenants, "host", *others),
            "Key": (*own, *hers),
            "Iv": ivs,
            "Page": tuple(page for each in pages.values() for page in each),
            "Copy": copies,
            "Block": tuple(block for each in blocks.values() for block in each),
        },
        relations={
            "corrupt": unary(("host", *others)),
            "before": InLine(ivs),
            "follows": frozenset(pairwise(ivs)),
            "earlier": InLine(copies),
        },
        functions={
            "host": {(): "host"},
            "zeros": {(): "zeros"},
            "start": {(): ivs[0]},
            "none": {(): copies[0]},
            "owner": {(block,): agent for agent, each in blocks.items() for block in each},
            "home": {(page,): agent for agent, each in pages.items() for page in each},
        },
        pools={
            ("open_channel", "k"): own,
            ("open_own", "k"): hers,
            ("open_own", "p"): others or ("host",),
            ("speculate", "i"): ivs[:-1],
        },
        describes=sizes_in_words(size, SIZES),
    )


# -- family ------------------------------------------------------------------------------------------------------------
# What speculative encryption needs, which the abstract of the paper does not say.
# Each is an attack on a reading of the abstract. The paper itself may exclude it.

_finding = Findings("lone-host", "the abstract of the paper, read literally")

#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.OTHERS,
        "other tenants",
        Visibility.HIDDEN,
        "what passes on links that they share with the host",
        limited_by=("confidentiality",),
    ),
    PartyView(
        PartyKind.TEE,
        "runtime in a confidential VM",
        Visibility.CLEAR,
        "the pages of its own tenant",
        trusted_for="sealing each block under the IV that will be due, and seeing each write to a staged page first",
        assumed_in=("A3", "A5"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "GPU",
        Visibility.CLEAR,
        "the blocks that it decrypts",
        trusted_for="memory that the host does not reach, and commands under the key of the channel",
        assumed_in=("A3", "A4"),
    ),
    PartyView(
        PartyKind.HOST,
        "host",
        Visibility.HIDDEN,
        "messages in order, those that were guessed among them",
        limited_by=("confidentiality", "iv-unique"),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=pipellm,
    instance=instance,
    variants=VARIANTS,
    profiles=by_name(
        Profile("tiny", {"tenant_pages": 2, "own_keys": 1, "tenant_blocks": 1}, title="two messages, of two pages"),
        Profile("ci", {"sent_messages": 3, "tenant_blocks": 1}, title="three messages of one page"),
    ),
    hunts=(
        Profile("one block", {"tenant_blocks": 1}, budget=1),
        Profile("one page", {}, budget=1),
        Profile("two pages", {"tenant_pages": 2, "tenant_blocks": 1}, budget=1),
        Profile("three messages", {"sent_messages": 3, "copies": 3}, budget=1),
        Profile("the adversary's own", {"tenant_keys": 0, "own_keys": 1}),
    ),
    findings=(
        _finding(1, "shared-staging", "confidentiality")(
            "a guess waits in shared memory: the host sees it and a NOP, or anything else, under one IV, and reads both"
        ),
        _finding(2, "shared-staging", "copy-agreement")(
            "a wrong guess in shared memory verifies still: the host lets the GPU decrypt it "
            "instead of what was asked for"
        ),
        _finding(3, "no-invalidation", "copy-agreement")(
            "a page is written after it was encrypted ahead, and what it held before is sent"
        ),
        _finding(4, "asynchronous-writes", "copy-agreement")(
            "the copy returns before the block is encrypted, and the application writes on"
        ),
        _finding(5, "hits-first", "order-kept")("a guess that was right overtakes a copy that was asked for before it"),
        _finding(6, "no-padding", "iv-unique")(
            "a guess that was right is sent before the counter is there: the IV comes again, and "
            "encrypts something else"
        ),
        _finding(7, "old-key", "iv-unique")(
            "relinquishing begins again with the old key: the counter comes back, and the IVs with it"
        ),
        Findings("lone-host", "the prototype, where kernels run on several streams")(
            8, AHEAD, "copy-agreement", without=("stream-order",)
        )("a NOP is a byte to where the next copy goes: a kernel on another stream reads it before the copy comes"),
    ),
    default_threat="collusion",
    fresh_sizes=frozenset({"tenant_keys"}),
    round_goal="hit-after-a-nop",
    views=VIEWS,
    text=TEXT,
)
