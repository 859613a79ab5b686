"""The vocabulary of ring all-reduce: sorts, parties, symbols of the state, and designs.

A *key* stands for a key exchange, too: a rank opens it for the hop to the next rank, and whoever answers it first is
its other end. A *vector* is what a chunk of gradients, or a sum of such chunks, is at one moment; ``part`` says whose
contributions are in it. For each chunk the ring is cut open at the rank where its sum begins, so the ranks stand in
line.
"""

import functools

from carnet_spec.language import *
from carnet_spec.language.authoring import by_name

# -- sorts -------------------------------------------------------------------------------------------------------------


class Endpoint(Individual):
    """Whoever can know things: the GPU TEEs of the ring, and any other GPU or machine on the network."""


class Key(Individual, fresh=True):
    """The key of one exchange between two neighbours, and the exchange itself."""


class Vector(Individual, fresh=True):
    """A chunk of gradients, or a sum of such chunks, as it is at one moment."""


class Iteration(Individual):
    """The number of a training iteration."""


class Chunk(Individual):
    """A piece of the gradients; each rank has its own contribution to it."""


class SubStep(Individual):
    """The number of a sub-step of a phase."""


class Phase(Individual):
    """A half of all-reduce."""

    REDUCE = member()
    GATHER = member()


class Mode(Individual):
    """What a report says of the mode of a GPU."""

    CONFIDENTIAL = member()
    OPEN = member()


class Code(Individual):
    """What a report says of the code that runs: the trainer of this job, or something else."""

    TRAINER = member()
    OTHER = member()


# -- parties and the ring ----------------------------------------------------------------------------------------------

RANK = Role("rank")
ADVERSARY = Role("adversary", honest=False)

_truth = functools.partial(rigid_relation, kind=Kind.TRUTH)
genuine = _truth("genuine", Endpoint, says="it is a GPU that its vendor made")
certified = rigid_relation("certified", Endpoint, says="the certificate chain under its name verifies")
closed = _truth("closed", Endpoint, says="it is in confidential mode")
trains = _truth("trains", Endpoint, says="it runs the trainer of this job")
follows = rigid_relation("follows", Endpoint, Endpoint, says="the second rank is the next in the ring after the first")
first = rigid_function("first", Chunk, to=Endpoint, says="the rank at which the sum of the chunk begins")
last = rigid_function("last", Chunk, to=Endpoint, says="the rank at which the sum of the chunk is whole")
ahead = rigid_relation("ahead", Chunk, Endpoint, Endpoint, says="the chunk comes to the first rank before the second")
turn = rigid_function("turn", Phase, Chunk, Endpoint, to=SubStep, says="the sub-step in which the rank sends the chunk")

# -- a rank's state ----------------------------------------------------------------------------------------------------

_rank_state = functools.partial(relation, kind=Kind.STATE, of=RANK)
opened = _rank_state("opened", Endpoint, Key, says="the rank opened the exchange for its next hop")
ends = _rank_state("ends", Endpoint, Key, says="the rank answered the exchange")
outgoing = _rank_state("outgoing", Endpoint, Key, Endpoint, says="the rank sends under the key to that next rank")
incoming = _rank_state("incoming", Endpoint, Key, Endpoint, says="the rank takes what is under the key from that rank")
partial = _rank_state("partial", Endpoint, Iteration, Chunk, Vector, says="the partial sum with the rank's own part")
added = _rank_state("added", Endpoint, Iteration, Chunk, says="the rank added its own contribution to the chunk")
total = _rank_state("total", Endpoint, Iteration, Chunk, Vector, says="what the rank takes to be the whole sum")
settled = _rank_state("settled", Endpoint, Iteration, Chunk, says="the rank has the sum of the chunk")
spent = _rank_state("spent", Endpoint, Key, Iteration, Phase, Chunk, says="the rank sealed the chunk in the phase")
finished = _rank_state("finished", Endpoint, Iteration, says="the rank finished the iteration")
alarmed = _rank_state("alarmed", Endpoint, says="the rank raised the alarm")

# -- messages and evidence ---------------------------------------------------------------------------------------------

_message = functools.partial(relation, kind=Kind.MESSAGE)
asked = _message("asked", Key, says="the key exchange was sent")
answered = _message("answered", Key, says="the key exchange was answered")
report = _message(
    "report",
    *(Endpoint, Key, Mode, Code, Endpoint),
    says="a signed report that names the exchange, the mode, the code and a place in the ring",
)
ciphertext = _message("ciphertext", Key, Vector, says="a message under the key has this content")
altered = _message("altered", Key, Vector, says="untagged bytes decrypt to this under the key")
masked = _message("masked", Key, Iteration, Phase, Chunk, Vector, says="a message with that IV has this content")
tag = _message(
    "tag",
    *(Key, Iteration, Phase, SubStep, Chunk, Vector),
    says="a tag for the content, the iteration, the phase, the sub-step and the chunk",
)

# -- knowledge ---------------------------------------------------------------------------------------------------------

knows = relation("knows", Endpoint, Key, kind=Kind.KNOWLEDGE, says="it can use the key")
learnt = relation("learnt", Endpoint, Vector, kind=Kind.KNOWLEDGE, says="it learnt the vector")

# -- history -----------------------------------------------------------------------------------------------------------

_history = functools.partial(relation, kind=Kind.GHOST)
exposed = _history("exposed", Key, says="the adversary is an end of the exchange")
part = _history("part", Vector, Iteration, Chunk, Endpoint, says="the rank's contribution is in the vector")
doubled = _history("doubled", Vector, says="some contribution is in the vector twice")
made = _history("made", Vector, says="something that the adversary made is in the vector")
sealed = _history("sealed", Endpoint, Iteration, Phase, Chunk, Vector, says="the rank sealed it for the phase")
took = _history("took", Endpoint, Iteration, Chunk, Vector, says="the rank added its own to it in reduce-scatter")
copied = _history("copied", Endpoint, Iteration, Chunk, Vector, says="the rank took it in all-gather")
ivs = _history("ivs", Key, Iteration, Phase, Chunk, says="a rank sealed something with that IV")
reused = _history("reused", Key, Iteration, Phase, Chunk, says="two were sealed with that IV")
unheeded = _history("unheeded", Endpoint, says="the rank went on after its alarm")


# -- words -------------------------------------------------------------------------------------------------------------


def sound(endpoint: Endpoint) -> Formula:
    """Whether it is a GPU TEE of the ring: genuine, in confidential mode, with the trainer of this job."""
    return genuine(endpoint) & closed(endpoint) & trains(endpoint)


def upto(chunk: Chunk, rank: Endpoint, here: Endpoint) -> Formula:
    """Whether the chunk comes to the rank no later than here."""
    return (rank == here) | ahead(chunk, rank, here)


# -- designs -----------------------------------------------------------------------------------------------------------
# Ring all-reduce among GPU TEEs, and readings of the paper's abstract that would not be safe.

MAIN = "attested-hops"
CERTIFICATE_ONLY = "certificate-only"

VARIANTS = by_name(
    Variant(MAIN, "a key for each hop from an attested exchange, and messages that say where they belong"),
    Variant("group-key", "one key for the whole ring, which each rank hands on to the next", without=("hop-key",)),
    Variant(
        "unattested",
        "ranks agree on keys, and nobody asks what is at the other end",
        without=("report-bound", "gpu-certificate", "mode-check", "code-check"),
    ),
    Variant(
        CERTIFICATE_ONLY,
        "a certificate is enough: any GPU of the vendor may join",
        without=("mode-check", "code-check"),
    ),
    Variant("any-iteration", "a tag does not bind the iteration", without=("bound-iteration",)),
    Variant("any-phase", "a tag binds neither the phase nor the sub-step", without=("bound-phase", "bound-step")),
    Variant("any-chunk", "a tag binds the sub-step and not the chunk", without=("bound-chunk",)),
    Variant(
        "bare-mac",
        "a MAC of each message, which says nothing of where it belongs",
        without=("bound-iteration", "bound-phase", "bound-step", "bound-chunk"),
    ),
    Variant("late-check", "ranks add what arrives, and look at tags afterwards", without=("verify-first",)),
    Variant("goes-on", "a rank whose message fails goes on with its own contribution", without=("wait-for-sum",)),
    Variant("same-keys", "a job that begins again from a checkpoint keeps its keys", without=("iteration-once",)),
)
