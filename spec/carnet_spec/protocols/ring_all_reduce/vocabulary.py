"""The words of ring all-reduce: sorts, parties, every symbol a state is made of, and the designs.

A *key* stands for a key exchange, too: a rank opens it for the hop to the next rank, and whoever answers it first is
its other end. A *vector* is what a chunk of gradients, or a sum of such chunks, is at one moment; ``part`` says whose
contributions are in it. For each chunk the ring is cut open at the rank where its sum begins, so the ranks stand in
line.
"""

from __future__ import annotations

from carnet_spec.language import Formula, Individual, Kind, Role, member, relation, rigid_function, rigid_relation
from carnet_spec.language.authoring import by_name
from carnet_spec.language.family import Variant

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

genuine = rigid_relation("genuine", Endpoint, kind=Kind.TRUTH, says="it is a GPU that its vendor made")
certified = rigid_relation("certified", Endpoint, says="the certificate chain under its name verifies")
closed = rigid_relation("closed", Endpoint, kind=Kind.TRUTH, says="it is in confidential mode")
trains = rigid_relation("trains", Endpoint, kind=Kind.TRUTH, says="it runs the trainer of this job")
follows = rigid_relation("follows", Endpoint, Endpoint, says="the second rank is the next in the ring after the first")
first = rigid_function("first", Chunk, to=Endpoint, says="the rank at which the sum of the chunk begins")
last = rigid_function("last", Chunk, to=Endpoint, says="the rank at which the sum of the chunk is whole")
ahead = rigid_relation("ahead", Chunk, Endpoint, Endpoint, says="the chunk comes to the first rank before the second")
turn = rigid_function("turn", Phase, Chunk, Endpoint, to=SubStep, says="the sub-step in which the rank sends the chunk")

# -- a rank's state ----------------------------------------------------------------------------------------------------

opened = relation(
    "opened", Endpoint, Key, kind=Kind.STATE, of=RANK, says="the rank opened the exchange for its next hop"
)
ends = relation("ends", Endpoint, Key, kind=Kind.STATE, of=RANK, says="the rank answered the exchange")
outgoing = relation(
    "outgoing", Endpoint, Key, Endpoint, kind=Kind.STATE, of=RANK, says="the rank sends under the key to that next rank"
)
incoming = relation(
    "incoming",
    *(Endpoint, Key, Endpoint),
    kind=Kind.STATE,
    of=RANK,
    says="the rank takes what is under the key from that rank",
)
partial = relation(
    "partial",
    *(Endpoint, Iteration, Chunk, Vector),
    kind=Kind.STATE,
    of=RANK,
    says="the partial sum with the rank's own part",
)
added = relation(
    "added",
    *(Endpoint, Iteration, Chunk),
    kind=Kind.STATE,
    of=RANK,
    says="the rank added its own contribution to the chunk",
)
total = relation(
    "total",
    *(Endpoint, Iteration, Chunk, Vector),
    kind=Kind.STATE,
    of=RANK,
    says="what the rank takes to be the whole sum",
)
settled = relation(
    "settled", Endpoint, Iteration, Chunk, kind=Kind.STATE, of=RANK, says="the rank has the sum of the chunk"
)
spent = relation(
    "spent",
    *(Endpoint, Key, Iteration, Phase, Chunk),
    kind=Kind.STATE,
    of=RANK,
    says="the rank sealed the chunk in the phase",
)
finished = relation("finished", Endpoint, Iteration, kind=Kind.STATE, of=RANK, says="the rank finished the iteration")
alarmed = relation("alarmed", Endpoint, kind=Kind.STATE, of=RANK, says="the rank raised the alarm")

# -- messages and evidence ---------------------------------------------------------------------------------------------

asked = relation("asked", Key, kind=Kind.MESSAGE, says="the key exchange was sent")
answered = relation("answered", Key, kind=Kind.MESSAGE, says="the key exchange was answered")
report = relation(
    "report",
    *(Endpoint, Key, Mode, Code, Endpoint),
    kind=Kind.MESSAGE,
    says="a signed report that names the exchange, the mode, the code and a place in the ring",
)
ciphertext = relation("ciphertext", Key, Vector, kind=Kind.MESSAGE, says="a message under the key has this content")
altered = relation("altered", Key, Vector, kind=Kind.MESSAGE, says="untagged bytes decrypt to this under the key")
masked = relation(
    "masked", *(Key, Iteration, Phase, Chunk, Vector), kind=Kind.MESSAGE, says="a message with that IV has this content"
)
tag = relation(
    "tag",
    *(Key, Iteration, Phase, SubStep, Chunk, Vector),
    kind=Kind.MESSAGE,
    says="a tag for the content, the iteration, the phase, the sub-step and the chunk",
)

# -- knowledge ---------------------------------------------------------------------------------------------------------

knows = relation("knows", Endpoint, Key, kind=Kind.KNOWLEDGE, says="it can use the key")
learnt = relation("learnt", Endpoint, Vector, kind=Kind.KNOWLEDGE, says="it learnt the vector")

# -- history -----------------------------------------------------------------------------------------------------------

exposed = relation("exposed", Key, kind=Kind.GHOST, says="the adversary is an end of the exchange")
part = relation(
    "part", Vector, Iteration, Chunk, Endpoint, kind=Kind.GHOST, says="the rank's contribution is in the vector"
)
doubled = relation("doubled", Vector, kind=Kind.GHOST, says="some contribution is in the vector twice")
made = relation("made", Vector, kind=Kind.GHOST, says="something that the adversary made is in the vector")
sealed = relation(
    "sealed", Endpoint, Iteration, Phase, Chunk, Vector, kind=Kind.GHOST, says="the rank sealed it for the phase"
)
took = relation(
    "took", Endpoint, Iteration, Chunk, Vector, kind=Kind.GHOST, says="the rank added its own to it in reduce-scatter"
)
copied = relation("copied", Endpoint, Iteration, Chunk, Vector, kind=Kind.GHOST, says="the rank took it in all-gather")
ivs = relation("ivs", Key, Iteration, Phase, Chunk, kind=Kind.GHOST, says="a rank sealed something with that IV")
reused = relation("reused", Key, Iteration, Phase, Chunk, kind=Kind.GHOST, says="two were sealed with that IV")
unheeded = relation("unheeded", Endpoint, kind=Kind.GHOST, says="the rank went on after its alarm")


# -- words -------------------------------------------------------------------------------------------------------------


def sound(endpoint: Endpoint) -> Formula:
    """Whether it is a GPU TEE of the ring: genuine, in confidential mode, with the trainer of this job."""
    return genuine(endpoint) & closed(endpoint) & trains(endpoint)


def upto(chunk: Chunk, rank: Endpoint, here: Endpoint) -> Formula:
    """Whether the chunk comes to the rank no later than here."""
    return (rank == here) | ahead(chunk, rank, here)


# -- designs -----------------------------------------------------------------------------------------------------------
# Ring all-reduce among GPU TEEs, and readings of the paper's abstract that would not be safe.

MAIN = ("attested-hops",)
CERTIFICATE_ONLY = "certificate-only"

VARIANTS = by_name(
    Variant("attested-hops", "a key for each hop from an attested exchange, and messages that say where they belong"),
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
