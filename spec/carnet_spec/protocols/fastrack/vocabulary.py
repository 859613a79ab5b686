"""The vocabulary of Fastrack: sorts, parties, symbols of the state, and designs.

A *key* stands for a key exchange, too: a user opens it, and whoever answers it first is its other end. A *place* is
where a chunk belongs in a transfer; the places stand in line. What arrives and is decrypted is *staged*; what a kernel
may read is *released*.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import by_name

# -- sorts -------------------------------------------------------------------------------------------------------------


class Agent(Individual):
    """A party that can know things: users, the CPU TEE, and whoever runs the host and the network."""


class Gpu(Individual):
    """A GPU, genuine or fake."""


class Key(Individual, fresh=True):
    """The key of one exchange between a user and a GPU, and the exchange itself."""


class Transfer(Individual):
    """The number of a transfer; under another key it is another transfer."""


class Position(Individual):
    """Where a chunk belongs in its transfer."""


class Block(Individual):
    """What a chunk says: some of somebody's data."""


class Code(Individual):
    """A kernel, by its digest."""


class Mode(Individual):
    """What a GPU's report says of it."""

    CONFIDENTIAL = member()
    OPEN = member()


class Mark(Individual):
    """Whether a chunk is the last of its transfer."""

    MORE = member()
    LAST = member()


# -- parties -----------------------------------------------------------------------------------------------------------

USER = Role("user")
GPU = Role("gpu")
ADVERSARY = Role("adversary", honest=False)

cpu = constant("cpu", Agent, says="the CPU TEE, which forwards between users and GPUs")

_truth = partial(rigid_relation, kind=Kind.TRUTH)
corrupt = _truth("corrupt", Agent, says="the agent does what the adversary wants")
genuine = _truth("genuine", Gpu, says="the GPU was made by its vendor")
certified = rigid_relation("certified", Gpu, says="the certificate chain under the GPU's name verifies")
closed = _truth("closed", Gpu, says="the GPU was booted in confidential mode")
vetted = rigid_relation("vetted", Code, says="users reviewed the code")
leaks = _truth("leaks", Code, says="the code writes what it reads where others see it")
owner = rigid_function("owner", Block, to=Agent, says="whose data it is")
before = rigid_relation("before", Position, Position, says="the first place comes before the second")
first = constant("first", Position, says="the first place of every transfer")

# -- a user's state ----------------------------------------------------------------------------------------------------

_user_state = partial(relation, kind=Kind.STATE, of=USER)
opened = _user_state("opened", Agent, Key, says="the user opened the key exchange")
attested = _user_state("attested", Agent, Key, Gpu, says="the user took the GPU's report, and sends under the key")
begun = _user_state("begun", Agent, Key, Transfer, says="the user began the transfer")
extent = function(
    "extent", Key, Transfer, to=Position, kind=Kind.STATE, of=USER, says="the last place, as the user said"
)
spent = _user_state("spent", Agent, Key, Transfer, Position, says="a worker sealed a chunk for the place")
took = _user_state("took", Agent, Key, Transfer, says="the user took the answer to the transfer")

# -- a GPU's state -----------------------------------------------------------------------------------------------------

_gpu_state = partial(relation, kind=Kind.STATE, of=GPU)
confidential = _gpu_state("confidential", Gpu, says="confidential mode is on")
holds = _gpu_state("holds", Gpu, Key, says="the GPU is the other end of the key exchange")
started = _gpu_state("started", Gpu, Key, Transfer, says="the GPU began to receive the transfer")
expected = function(
    "expected", Gpu, Key, Transfer, to=Position, kind=Kind.STATE, of=GPU, says="the last place, as the GPU was told"
)
arrived = _gpu_state("arrived", Gpu, Key, Transfer, Position, says="its chunk arrived")
staged = _gpu_state("staged", Gpu, Key, Transfer, Position, Block, says="what the chunk decrypted to")
verified = _gpu_state("verified", Gpu, Key, Transfer, Position, says="the tag of the chunk verified")
released = _gpu_state("released", Gpu, Key, Transfer, Position, Block, says="a kernel may read it there")
done = _gpu_state("done", Gpu, Key, Transfer, says="the transfer was handed to kernels")
failed = _gpu_state("failed", Gpu, Key, Transfer, says="the GPU gave the transfer up")
runs = _gpu_state("runs", Gpu, Key, Code, says="the code runs on the data of the key")

# -- messages and evidence ---------------------------------------------------------------------------------------------

_message = partial(relation, kind=Kind.MESSAGE)
asked = _message("asked", Key, says="the key exchange was sent")
answered = _message("answered", Key, says="the key exchange was answered")
report = _message("report", Gpu, Key, Mode, says="a signed report that names the key exchange")
named = _message("named", Key, Code, says="under the key: this code may run on the data")
ciphertext = _message("ciphertext", Key, Block, says="a chunk under the key has this content")
masked = _message("masked", Key, Transfer, Position, Block, says="a chunk with that IV has this content")
changed = _message("changed", Key, Block, says="untagged bytes decrypt to this under the key")
tag = _message(
    "tag",
    *(Key, Transfer, Position, Position, Mark, Block),
    says="a tag for the content, the transfer, the place, the last place and the mark",
)
answer = _message("answer", Key, Transfer, says="under the key: the answer to the transfer")

# -- knowledge ---------------------------------------------------------------------------------------------------------

knows = relation("knows", Agent, Key, kind=Kind.KNOWLEDGE, says="the agent can use the key")
learnt = relation("learnt", Agent, Block, kind=Kind.KNOWLEDGE, says="the agent learnt the data")

# -- history -----------------------------------------------------------------------------------------------------------

_history = partial(relation, kind=Kind.GHOST)
exposed = _history("exposed", Key, says="the adversary is an end of the key exchange, or reads that end")
sealed = _history(
    "sealed", Agent, Key, Transfer, Position, Block, says="the user sealed it for the place of the transfer"
)
sent = _history("sent", Agent, Key, Block, says="the user sealed it under the key, for any place")
reused = _history("reused", Key, Transfer, Position, says="two chunks were sealed with that IV")
ivs = _history("ivs", Key, Transfer, Position, says="an honest user sealed a chunk with that IV")
filled = _history("filled", Gpu, Key, Transfer, Position, says="the place was filled when it was released")
handed = _history("handed", Key, Transfer, says="a GPU handed the transfer to kernels")
again = _history("again", Key, Transfer, says="the transfer was handed to kernels twice")


# -- words -------------------------------------------------------------------------------------------------------------


def within(place: Position, last: Position) -> Formula:
    """Whether a transfer that ends at ``last`` has the place."""
    return (place == last) | before(place, last)


def honest(user: Agent) -> Formula:
    """Whether a user follows the protocol; the CPU TEE is no user."""
    return ~corrupt(user) & (user != cpu)


# -- designs -----------------------------------------------------------------------------------------------------------
# Fastrack, the protocol that it improves on, and readings of its abstract that would not be safe.

THROUGH_THE_CPU = "through-the-cpu"

VARIANTS = by_name(
    Variant("direct-channel", "a direct key, chunks that say where they belong, release of whole verified transfers"),
    Variant(THROUGH_THE_CPU, "the stock protocol: the CPU TEE decrypts, and encrypts again", without=("direct-key",)),
    Variant(
        "independent-tags",
        "each chunk has a tag of its own, which says nothing of where it belongs",
        without=("tag-transfer", "tag-place", "tag-number", "tag-last"),
    ),
    Variant("no-length", "a tag binds transfer and place only", without=("tag-number", "tag-last")),
    Variant("prefix-start", "kernels start on the chunks that are there and verified", without=("whole-transfer",)),
    Variant("decrypt-in-place", "overlapped decryption writes where kernels read", without=("private-staging",)),
    Variant("two-fetches", "tag and plaintext are computed from two reads of host memory", without=("one-fetch",)),
    Variant("cpu-launches", "the CPU TEE chooses what runs, as its driver does today", without=("kernel-named",)),
)
