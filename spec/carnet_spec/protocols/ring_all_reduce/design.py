"""The family of ring all-reduce: axioms, threat models, instances and findings."""

import functools
from itertools import combinations

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.ring_all_reduce.claims import TEXT, state_properties
from carnet_spec.protocols.ring_all_reduce.protocol import specify
from carnet_spec.protocols.ring_all_reduce.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- design ------------------------------------------------------------------------------------------------------------

ID = "ring-all-reduce"
TITLE = "Ring all-reduce among GPU TEEs: sums of gradients go round over links that nobody trusts"


def ring_all_reduce(variant: str) -> Draft:
    """Draft the named variant of ring all-reduce."""
    draft = Draft(ID, TITLE, variant)
    # In the shape of the steps are: what a tag verifies for, what is out of reach, what a place is.
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3", "A5"))
    _assume(draft)
    draft.threat(
        "links",
        "links, hosts and network are the adversary's, and every genuine GPU is a rank of the ring",
        no_other_gpu=forall(lambda n: implies(genuine(n), sound(n)), Endpoint),
    )
    draft.threat("tenants", "the adversary has GPUs of its own, too: out of confidential mode, or with other code")
    specify(draft)
    state_properties(draft)
    return draft


def _assume(draft: Draft) -> None:
    draft.axiom("certificates tell", forall(lambda n: implies(certified(n), genuine(n)), Endpoint), assumption="A4")

    two, three = (Endpoint,) * 2, (Endpoint,) * 3
    axiom = functools.partial(draft.axiom, assumption="A6")
    axiom("the ring is of ranks", forall(lambda g, h: implies(follows(g, h), sound(g) & sound(h) & (g != h)), *two))
    axiom("one rank after each", forall(lambda g, h, r: implies(follows(g, h) & follows(g, r), h == r), *three))
    axiom("one rank before each", forall(lambda g, h, r: implies(follows(g, r) & follows(h, r), g == h), *three))

    StrictOrder("lines", Endpoint, ahead, "A7", each=(Chunk,), names="crst").assume(draft)
    axiom = functools.partial(draft.axiom, assumption="A7")
    axiom("lines have a start", forall(lambda c, r: implies(sound(r), ~ahead(c, r, first(c))), Chunk, Endpoint))
    to_the_end = forall(lambda c, r: implies(sound(r), (r == last(c)) | ahead(c, r, last(c))), Chunk, Endpoint)
    axiom("lines have an end", to_the_end)
    axiom("lines follow the ring", forall(_in_line, Chunk, *two))
    axiom("nobody is between neighbours", forall(_nobody_between, Chunk, *three))
    axiom("one rank in a sub-step", forall(_one_rank, Phase, Chunk, *two))
    axiom("another sub-step in each phase", forall(_one_phase, Phase, Phase, Chunk, Endpoint))


def _in_line(c: Chunk, f: Endpoint, g: Endpoint) -> Formula:
    return implies(follows(f, g) & (first(c) != g), ahead(c, f, g))


def _nobody_between(c: Chunk, f: Endpoint, g: Endpoint, r: Endpoint) -> Formula:
    beyond = follows(f, g) & (first(c) != g) & ahead(c, r, g) & sound(r)
    return implies(beyond, (r == f) | ahead(c, r, f))


def _one_rank(p: Phase, c: Chunk, g: Endpoint, h: Endpoint) -> Formula:
    return implies(sound(g) & sound(h) & (turn(p, c, g) == turn(p, c, h)), g == h)


def _one_phase(p: Phase, o: Phase, c: Chunk, g: Endpoint) -> Formula:
    return implies(sound(g) & (turn(p, c, g) == turn(o, c, g)), p == o)


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances of ring all-reduce: how many ranks, chunks and iterations, and who else is on the network.

#: For each size what it is, unless a profile or ``--set`` says otherwise, and what it counts.
SIZES = {
    "ring_size": (2, "rank"),
    "chunks": (1, "chunk"),
    "buckets": (1, "bucket"),
    "iterations": (1, "iteration"),
    "outsiders": (1, "outsider"),
    "hop_keys": (2, "key"),
    "own_keys": (0, "key of the adversary's"),
    "vectors": (2, "vector"),
    "own_vectors": (0, "vector of the adversary's"),
}


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: ranks in a ring, and outsiders who are the adversary.

    Under ``links`` the outsiders are machines that pass for GPUs. Under ``tenants`` they are a fake, a genuine GPU out
    of confidential mode, and genuine ones that run other code, in this order.
    """
    size = sizes_for(scale, SIZES, protocol.id)
    ranks, chunks = numbered_names("rank", size["ring_size"]), numbered_names("chunk", size["chunks"] * size["buckets"])
    genuine = _OUTSIDERS[1 : size["outsiders"]] if threat == "tenants" else ()
    keys, hers = numbered_names("k", size["hop_keys"]), numbered_names("m", size["own_keys"])
    vectors, forged = numbered_names("v", size["vectors"]), numbered_names("x", size["own_vectors"])
    lines = {chunk: _cut_open(ranks, at % size["chunks"]) for at, chunk in enumerate(chunks)}
    drawn = {("contribute", "v"): vectors, ("add", "w"): vectors, ("go_on_alone", "w"): vectors, ("make", "v"): forged}
    actions = {action.name for action in protocol.actions}
    return Instance(
        elements={
            "Endpoint": (*ranks, *_OUTSIDERS[: size["outsiders"]]),
            "Key": (*keys, *hers),
            "Vector": (*vectors, *forged),
            "Iteration": numbered_names("iteration", size["iterations"]),
            "Chunk": chunks,
            "SubStep": numbered_names("step", size["ring_size"]),
        },
        relations={
            "genuine": unary((*ranks, *genuine)),
            "certified": unary((*ranks, *genuine)),
            "closed": unary((*ranks, *(each for each in genuine if each != "open"))),
            "trains": unary((*ranks, *(each for each in genuine if each == "open"))),
            "follows": frozenset(zip(ranks, (*ranks[1:], ranks[0]), strict=True)) if len(ranks) > 1 else frozenset(),
            "ahead": frozenset((chunk, *pair) for chunk, line in lines.items() for pair in combinations(line, 2)),
        },
        functions={
            "first": {(chunk,): line[0] for chunk, line in lines.items()},
            "last": {(chunk,): line[-1] for chunk, line in lines.items()},
            "turn": _turns(lines, _OUTSIDERS[: size["outsiders"]]),
        },
        pools={
            **{pool: names for pool, names in drawn.items() if pool[0] in actions},
            ("open_hop", "k"): keys,
            ("open_own", "k"): hers,
        },
        describes=sizes_in_words(size, SIZES),
    )


_OUTSIDERS = ("fake", "open", "other")


def _cut_open(ranks: Row, at: int) -> Row:
    """Return the ranks in the order in which they add to a chunk."""
    start = at % len(ranks)
    return ranks[start:] + ranks[:start]


def _turns(lines: dict[str, Row], outsiders: Row) -> dict[Row, str]:
    """Say in which sub-step a rank sends: the first in line at once, and the last one first when sums go round."""
    turns: dict[Row, str] = {}
    for chunk, line in lines.items():
        for place, rank in enumerate(line):
            turns["REDUCE", chunk, rank] = f"step{place + 1}"
            turns["GATHER", chunk, rank] = f"step{(place + 1) % len(line) + 1}"
        for phase in ("REDUCE", "GATHER"):
            turns |= {(phase, chunk, outsider): "step1" for outsider in outsiders}
    return turns


# -- family ------------------------------------------------------------------------------------------------------------
# What encryption and authentication of each hop need, which the abstract of the paper does not say.
# Each is an attack on a reading of the abstract. The paper itself may exclude it.

CHOICE = "a choice that the abstract leaves open"

_finding = Findings("tenants", CHOICE)

#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.OTHERS,
        "other tenants' GPUs",
        Visibility.HIDDEN,
        "what passes on links between ranks",
        limited_by=("confidentiality", "hop-isolation"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "ranks, which are GPU TEEs",
        Visibility.CLEAR,
        "the contribution of the rank before it, then sums that come by",
        trusted_for="staying in the mode and with the trainer that they reported",
        assumed_in=("A2", "A3", "A4", "A5", "A6"),
    ),
    PartyView(
        PartyKind.HOST,
        "hosts, links and network",
        Visibility.HIDDEN,
        "sums on each hop, and when they pass",
        limited_by=("confidentiality", "hop-isolation"),
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=ring_all_reduce,
    instance=instance,
    variants=VARIANTS,
    profiles=by_name(
        Profile("tiny", {"outsiders": 3, "own_keys": 1, "own_vectors": 1}, title="two ranks, one chunk, one iteration"),
        Profile("chunks", {"chunks": 2, "vectors": 4}, title="two ranks, two chunks, one iteration"),
        Profile("three", {"ring_size": 3, "hop_keys": 3, "vectors": 3}, title="three ranks, one chunk, one iteration"),
    ),
    hunts=(
        Profile("two ranks", {"outsiders": 3, "own_keys": 1, "own_vectors": 1}, budget=2),
        Profile("one vector more", {"vectors": 3}, budget=1),
        Profile("two buckets", {"buckets": 2, "vectors": 4}, budget=0),
        Profile("three ranks", {"ring_size": 3, "hop_keys": 3, "vectors": 3}, budget=0),
        Profile("two iterations", {"iterations": 2, "vectors": 4}, budget=0),
    ),
    findings=(
        _finding(1, "bare-mac", "whole-sum", about="the abstract of the paper, read literally")(
            "every message is encrypted and has a MAC, which says nothing of where it belongs: a "
            "partial sum passes for the"
            " whole one"
        ),
        _finding(2, "group-key", "iv-unique")(
            "one key for the whole ring: two ranks seal their partial sums under one IV"
        ),
        _finding(3, "unattested", "confidentiality", threat="links")(
            "ranks agree on keys with whoever answers: a fake GPU in the ring reads partial sums"
        ),
        _finding(4, "certificate-only", "nothing-else")(
            "a vendor's certificate is enough: a GPU of another tenant joins the ring and changes the sum"
        ),
        _finding(5, "any-iteration", "nothing-else")(
            "a tag that does not bind the iteration: a partial sum of an earlier iteration is added again"
        ),
        _finding(6, "any-phase", "sum-agreement")(
            "a tag that binds neither phase nor sub-step: a partial sum is taken for the whole one"
        ),
        _finding(7, "any-chunk", "partial-sum-agreement")(
            "more chunks than ranks, and a tag that does not bind the chunk: chunks of two buckets change places"
        ),
        _finding(8, "late-check", "nothing-else")(
            "addition does not wait for the tag: what was changed on the link is in the sum, and nobody takes it out"
        ),
        _finding(9, "goes-on", "whole-sum")(
            "a rank goes on after a failed tag: ranks finish with sums that lack contributions"
        ),
        _finding(10, "same-keys", "confidentiality")(
            "a job begins again from a checkpoint under the same keys: IVs repeat, and a link reads partial sums"
        ),
        _finding(11, "", "partial-sum-agreement", without=("hop-key", "bound-step"))(
            "one key for the whole ring, and the sub-step not bound: a rank adds what was sealed for another hop"
        ),
    ),
    default_threat="tenants",
    fresh_sizes=frozenset({"hop_keys", "own_keys", "vectors", "own_vectors"}),
    round_goal="iteration-finished",
    views=VIEWS,
    text=TEXT,
)
