"""The vocabulary of Teechain for custody: sorts, parties, symbols of the state, and designs.

A *replica* is one launch of an enclave; a launch that has lost its keys is that replica no more. A *chain* is a list of
replicas in line, drawn up once: its head issues epochs, and each of its members logs them first. A chain *follows* the
one that it takes over from. A *quorum* is a set of members whose votes are enough to take their chain over.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import by_name

# -- sorts -------------------------------------------------------------------------------------------------------------


class Replica(Individual):
    """One launch of an enclave."""


class Chain(Individual):
    """A list of replicas in line, by its name."""


class Quorum(Individual):
    """A set of members of a chain."""


class Epoch(Individual):
    """The number of a grant of custody."""


class Holder(Individual):
    """Whom custody is granted to."""


# -- parties -----------------------------------------------------------------------------------------------------------

REPLICA = Role("replica")
HOLDER = Role("holder")
ADVERSARY = Role("adversary", honest=False)

sound = rigid_relation(
    "sound", Replica, kind=Kind.TRUTH, says="its TEE is genuine and unbroken, and it runs the custody program"
)
certified = rigid_relation("certified", Replica, says="the certificate chain under its quote verifies")
measured = rigid_relation("measured", Replica, says="its quote states the measurement of the custody program")

origin = constant("origin", Chain, says="the first chain, which holders agreed on")
head = rigid_function("head", Chain, to=Replica, says="the primary of the chain")
tail = rigid_function("tail", Chain, to=Replica, says="the last replica of the chain")
belongs = rigid_relation("belongs", Chain, Replica, says="the replica is a member of the chain")
ahead = rigid_relation("ahead", Chain, Replica, Replica, says="in the chain, the first replica comes before the second")
follows = rigid_relation("follows", Chain, Chain, says="the second chain is drawn up to take over from the first")
earlier = rigid_relation("earlier", Chain, Chain, says="the second chain comes after the first by such steps")

quorum = rigid_relation("quorum", Chain, Quorum, says="the votes of this quorum are enough to take the chain over")
within = rigid_relation("within", Quorum, Replica, says="the replica is in the quorum")
meet = rigid_function("meet", Quorum, Quorum, to=Replica, says="a replica that is in both quorums of one chain")

before = rigid_relation("before", Epoch, Epoch, says="the first epoch comes before the second")
zero = constant("zero", Epoch, says="what comes before every epoch that is issued")

# -- a replica's state -------------------------------------------------------------------------------------------------

_replica_state = partial(relation, kind=Kind.STATE, of=REPLICA)
opened = _replica_state("opened", Replica, Chain, says="the replica opened the chain, as its head")
joined = _replica_state("joined", Replica, Chain, says="the replica keeps a log for the chain")
last = function(
    "last", Replica, Chain, to=Epoch, kind=Kind.STATE, of=REPLICA, says="the last epoch in the log, or before it"
)
counter = function(
    "counter",
    Replica,
    Chain,
    to=Epoch,
    kind=Kind.STATE,
    of=REPLICA,
    says="the state that the replica's monotonic counter stands for, by its last epoch",
)
logged = _replica_state("logged", Replica, Chain, Epoch, Holder, says="the replica logged the epoch")
frozen = _replica_state("frozen", Replica, Chain, says="the replica froze the chain for good")
polled = _replica_state("polled", Chain, Replica, says="the head of the new chain has the replica's vote")

# -- a holder's state --------------------------------------------------------------------------------------------------

accepted = relation(
    "accepted", Holder, Chain, Epoch, kind=Kind.STATE, of=HOLDER, says="the holder took custody for the epoch"
)

# -- messages and evidence ---------------------------------------------------------------------------------------------

_message = partial(relation, kind=Kind.MESSAGE)
announced = _message("announced", Chain, Epoch, says="the head's quote names the chain, which starts after this epoch")
answered = _message("answered", Chain, Replica, says="the call to the replica was answered")
quote = _message("quote", Replica, Chain, says="a quote of the replica, for its key in the chain")
listed = _message("listed", Chain, Replica, says="the head's list of the chain has a key for the replica")
passed = _message(
    "passed", Replica, Chain, Epoch, Holder, says="under the replica's key in the chain: it logged the epoch"
)
vote = _message(
    "vote",
    *(Replica, Chain, Chain, Epoch),
    says="under the replica's key in the chain: it froze it for this next one, and its log ends there",
)
sealed = _message("sealed", Replica, Chain, Epoch, says="a sealed state of the replica, whose log ends there")
grant = _message("grant", Chain, Epoch, Holder, says="the head granted the epoch to the holder")

# -- history -----------------------------------------------------------------------------------------------------------

imposed = relation(
    "imposed", Chain, Replica, kind=Kind.TRUTH, says="the adversary answered in place of the replica, with its own key"
)
_history = partial(relation, kind=Kind.GHOST)
issued = _history("issued", Chain, Epoch, Holder, says="a head that runs the custody program granted the epoch")
over = _history("over", Chain, says="the chain was taken over")
ousted = function("ousted", Chain, to=Quorum, kind=Kind.GHOST, says="the quorum by which the chain was taken over")
bar = function("bar", Chain, to=Epoch, kind=Kind.GHOST, says="the epoch after which the next chain started")
leaked = _history("leaked", Chain, says="the adversary read in the log of the chain")
acknowledged = _history("acknowledged", Replica, Chain, Epoch, Holder, says="the replica itself passed the epoch on")
voted = _history("voted", Replica, Chain, Chain, Epoch, says="the replica itself froze the chain for that next one")


# -- words -------------------------------------------------------------------------------------------------------------


def upto(epoch: Epoch, limit: Epoch) -> Formula:
    """Whether the epoch comes no later than the limit."""
    return ~before(limit, epoch)


def credible(replica: Replica) -> Formula:
    """Whether a quote of the replica is one of the custody program on a certified platform."""
    return certified(replica) & measured(replica)


def own(chain: Chain, replica: Replica) -> Formula:
    """Whether what is under the replica's key in the chain can only be its own."""
    return sound(replica) & ~imposed(chain, replica)


# -- designs -----------------------------------------------------------------------------------------------------------
# Teechain for custody, and readings of the published designs that would not be safe.

MAIN = "committee-chain"
TAIL_ALONE = "tail-alone"

VARIANTS = by_name(
    Variant(MAIN, "every member passes an epoch on, a quorum of frozen members takes a chain over"),
    Variant(
        TAIL_ALONE, "the acknowledgement of the tail is enough, as in chain replication", without=("every-member",)
    ),
    Variant("any-survivor", "a backup that finds the primary silent takes over, by itself", without=("quorum",)),
    Variant("copied-out", "the state is read out, and the chain goes on", without=("freeze",)),
    Variant("sealed-storage", "a replica starts from any sealed state", without=("counter-check",)),
    Variant("uncounted", "a replica passes on first and counts later", without=("increment-first",)),
    Variant("kept-key", "a launch with an empty memory has the replica's key", without=("launch-identity",)),
    Variant("any-log", "the next chain starts from the log of any voter", without=("newest-log",)),
)
