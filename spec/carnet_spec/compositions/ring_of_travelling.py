"""The composition of ring all-reduce over GPU Travelling: each rank is a GPU that an orchestrator of its own lends.

In one direction the session of a travelling GPU is what a rank's report tells, and data that the GPU holds is what a
rank contributes. In the other direction the hops of the ring are one more way on which data leaves a GPU, of which GPU
Travelling knows nothing.
"""

from functools import partial

from carnet_spec.language import (
    Formula,
    Individual,
    constant,
    exists,
    false,
    implies,
    member,
    rigid_function,
    rigid_relation,
)
from carnet_spec.language.composition import Composition, End, Interpretation
from carnet_spec.protocols.gpu_travelling import FAMILY as TRAVELLING
from carnet_spec.protocols.gpu_travelling import vocabulary as job
from carnet_spec.protocols.gpu_travelling.engines import session_carried
from carnet_spec.protocols.gpu_travelling.vocabulary import checked, guarded
from carnet_spec.protocols.ring_all_reduce import FAMILY as RING
from carnet_spec.protocols.ring_all_reduce import vocabulary as ring

COMPOSITION = Composition(
    "ring-of-travelling",
    "Ring all-reduce between travelling GPUs",
    upper=RING,
    lower=TRAVELLING,
    threats=(("links", "collusion"), ("tenants", "collusion")),
    fits=(
        "The ring's adversary has links, hosts and network, and under tenants GPUs of its own. GPU Travelling's "
        "collusion lets platform, holders and outsiders do what they like, GPUs elsewhere included; only the "
        "orchestrator is honest. Each rank has a job of its own, so what is said of one GPU is said by its job."
    ),
)


class Shown(Individual):
    """What a rank's report says of its mode."""

    CONFIDENTIAL = member()
    OPEN = member()


class Told(Individual):
    """What a rank's report says of its code."""

    TRAINER = member()
    OTHER = member()


class Turn(Individual):
    """A training iteration of the ring."""


class Piece(Individual):
    """A chunk of the gradients."""


next_to = rigid_relation("next_to", job.Gpu, job.Gpu, says="the second GPU is placed after the first")

RANKS = Interpretation(
    "a rank is a GPU that was lent and checked",
    sorts={
        ring.Endpoint: job.Gpu,
        ring.Key: job.Session,
        ring.Vector: job.Data,
        ring.Iteration: Turn,
        ring.Chunk: Piece,
        ring.Mode: Shown,
        ring.Code: Told,
    },
    glue=(next_to,),
)
RANKS.renames(ring.genuine, job.genuine)
RANKS.renames(ring.certified, job.certified)
RANKS.renames(ring.closed, job.confidential)
RANKS.renames(ring.ends, job.in_session)


def trains_now(g: job.Gpu) -> Formula:
    """Whether the GPU is at home and training, in the job that is looked at."""
    return (job.phase == job.Phase.TRAINING) & job.attested_live(g)


def works(g: job.Gpu) -> Formula:
    """Whether the GPU trains now, or holds data of an honest holder."""
    return trains_now(g) | exists(lambda m: job.resident(g, m) & job.honest_data(m) & ~job.exposed(m), job.Data)


@RANKS.defines(ring.trains)
def trains(g: job.Gpu) -> Formula:
    """Nobody else's code is there, so the code in the manifest is what runs."""
    return ~job.foreign(g)


@RANKS.defines(ring.follows)
def follows(g: job.Gpu, h: job.Gpu) -> Formula:
    """A place is given to a GPU only while it trains or holds honest data, and a ring has two or more."""
    return next_to(g, h) & works(g) & works(h) & (g != h)


@RANKS.defines(ring.part)
def part(m: job.Data, i: Turn, c: Piece, r: job.Gpu) -> Formula:
    """What a rank contributes derives from data that it holds while it trains, whoever's they are."""
    return trains_now(r) & job.resident(r, m)


@RANKS.defines(ring.opened)
def opened(g: job.Gpu, s: job.Session) -> Formula:
    """The orchestrator opens sessions, and no GPU does."""
    return false


@RANKS.defines(ring.report)
def report(g: job.Gpu, s: job.Session, m: Shown, q: Told, h: job.Gpu) -> Formula:
    """A report of the GPU for the session that it is still in, and a verdict of its firmware on the code.

    The vendor does not say that its device key leaked.
    """
    mode = implies(m == Shown.CONFIDENTIAL, job.report(g, s, job.Mode.CONFIDENTIAL))
    found_good = exists(
        lambda k: checked(k) & job.live_h2d(g, k) & (job.owner(k) == job.orchestrator) & guarded(k), job.Key
    )
    code = implies(q == Told.TRAINER, found_good)
    return job.in_session(g, s) & ~job.revoked(g) & mode & code & (h == g)


#: What makes a GPU sound while it trains.
IN_TRAINING = (
    "claim trains-verified",
    "claim no-silent-reset",
    "lemma attested_is_protected",
    "lemma mode_is_kept",
    "lemma session_ends_here",
)

rank_bond = partial(COMPOSITION.bond, of=End.UPPER, reading=RANKS)

rank_bond(
    "certificates tell",
    assumes=("assumption A4",),
    by=("axiom certificates tell",),
    part_of=("A4",),
    discharges="Both mean the vendor's certificates, and assume the same of them.",
    leaves=(
        "An assumption rests on an assumption: this part of A4 is in GPU Travelling's A1. That device keys do not leak "
        "has no formula in the ring; GPU Travelling lets them leak and has them revoked (its A13)."
    ),
)
rank_bond(
    "reports are true, and stay so",
    assumes=("lemma reports_are_true",),
    by=("lemma reports_tell_the_mode", "lemma code_stays_good", "axiom what leaked is revoked"),
    part_of=("A3",),
    discharges=(
        "While the session lives that the report was made for, the GPU is in the mode that it reported; and while the "
        "key lives in whose epoch its code was found good, nobody else's code is there."
    ),
    leaves=(
        "The key of that epoch dies when the GPU travels on. So a GPU leaves the ring before it is lent, and its hops "
        "end with it: the ring's steps have to see to that, and all-reduce fits in one training phase."
    ),
)
rank_bond(
    "ranks are sound",
    assumes=("axiom the ring is of ranks",),
    by=("claim gpu-genuine", "claim no-implant", *IN_TRAINING),
    part_of=("A6",),
    discharges=(
        "A GPU that trains, or holds honest data, is genuine, in confidential mode, and runs nobody else's code."
    ),
    leaves=(
        "Who is given which place, that each place is given once, and that there are two: GPU Travelling knows one "
        "GPU in a job and no places. Of a GPU that neither trains nor holds honest data nothing is said, so it must "
        "have no place."
    ),
)
rank_bond(
    "contributions are made by ranks",
    assumes=("lemma contributions_are_of_ranks",),
    by=IN_TRAINING,
    part_of=("A5",),
    discharges=(
        "What is contributed lies, while training lasts, in the memory of a genuine GPU in confidential mode on which "
        "nobody else's code runs, also where the holder was corrupt who sent the data."
    ),
    leaves=(
        "That keys and partial sums are out of reach there is GPU Travelling's A3 and A20, without a formula. What a "
        "rank states of its own place is the trainer's word (A7 of GPU Travelling)."
    ),
)

# -- GPU Travelling's traffic, in the words of the ring -------------------------------------------------

home = constant("the_home", ring.Endpoint, says="the orchestrator of the rank's own job")
whose = rigid_function("whose", ring.Vector, to=ring.Endpoint, says="for whom a vector counts as data")

HOPS = Interpretation(
    "what leaves a GPU on a hop is traffic of its job",
    sorts={
        job.Agent: ring.Endpoint,
        job.Session: ring.Key,
        job.Key: ring.Key,
        job.Data: ring.Vector,
    },
    glue=(home, whose),
)
HOPS.renames(job.traffic, ring.ciphertext)
HOPS.renames(session_carried, ring.ciphertext)
HOPS.renames(job.data_owner, whose)
HOPS.renames(job.orchestrator, home)


@HOPS.defines(job.key_session)
def key_session(k: ring.Key) -> ring.Key:
    """A hop has one key."""
    return k


@HOPS.defines(job.owner)
def owner(k: ring.Key) -> ring.Endpoint:
    """A hop is of the job."""
    return home


@HOPS.defines(job.issued)
def issued(k: ring.Key) -> Formula:
    """Somebody answered the exchange, and the adversary is at no end of it."""
    return ring.answered(k) & ~ring.exposed(k)


@HOPS.defines(job.corrupt)
def corrupt(n: ring.Endpoint) -> Formula:
    """A party that is no GPU TEE of the ring."""
    return ~ring.sound(n)


@HOPS.defines(job.learned)
def learned(n: ring.Endpoint, v: ring.Vector) -> Formula:
    """Somebody who is no GPU TEE of the ring learnt it."""
    return ring.learnt(n, v) & ~ring.sound(n)


@HOPS.defines(job.dataset)
def dataset(v: ring.Vector) -> Formula:
    """A contribution of some rank is in it, so it derives from data."""
    return exists(lambda i, c, r: ring.part(v, i, c, r), ring.Iteration, ring.Chunk, ring.Endpoint)


@HOPS.defines(job.exposed)
def exposed(v: ring.Vector) -> Formula:
    """The ring gives no key away."""
    return false


hop_bond = partial(COMPOSITION.bond, of=End.LOWER, reading=HOPS)

hop_bond(
    "hops give nothing away",
    assumes=("lemma learned_is_exposed",),
    by=("claim confidentiality",),
    part_of=("A1",),
    discharges="What derives from data and leaves a GPU on a hop is learnt by GPU TEEs of the ring only.",
    leaves=(
        "All of the ring is trusted with all partial sums, whoever lent the GPU: what a sum says of one holder's data "
        "is GPU Travelling's A6, for the ring as a whole."
    ),
)
hop_bond(
    "hops carry data under keys of the job",
    assumes=("lemma traffic_is_carried",),
    by=("lemma contributions_are_under_hop_keys",),
    part_of=("A1",),
    discharges="What derives from data leaves a GPU only under a key at whose ends the adversary is not.",
    leaves="That such keys are not lent with the GPU: they are made by the code in the manifest, and end with it.",
)

COMPOSITION.leave_open(
    End.UPPER,
    "A1",
    why="Ideal cryptography of the hops is assumed in the shape of the ring's steps; a job has no hops.",
)
COMPOSITION.leave_open(
    End.UPPER,
    "A2",
    why=(
        "A GPU that travels is of the ring for a while only. That it is of it from the start holds within one "
        "training phase."
    ),
)
COMPOSITION.leave_open(End.UPPER, "A7", why="How ranks count is agreed in the trainer, of which a job says nothing.")
COMPOSITION.leave_open(
    End.LOWER,
    *("A2", "A5", "A9", "A10", "A14", "A15", "A22"),
    why="Who is corrupt, the orchestrator, enrolment, virtual machines and time: a ring has none of them.",
)
COMPOSITION.leave_open(
    End.LOWER,
    *("A3", "A4", "A8", "A11", "A13", "A16", "A18", "A20"),
    why=(
        "What a GPU and its firmware do in a session: a ring assumes the same (its A3 and A5) and establishes none of "
        "it."
    ),
)
COMPOSITION.leave_open(
    End.LOWER,
    "A6",
    "A7",
    why="Training is the declassifier, and its code is good: the ring's sum is a part of that code.",
)
COMPOSITION.leave_open(End.LOWER, "A12", "A17", "A21", why="The link of the holder is no hop of the ring.")
