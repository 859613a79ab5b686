"""The vocabulary of one run of SGX-LKL: sorts, parties, symbols of the state, and designs.

A *tick* is a quantum that the host gives; the ticks stand in line. In the ticks up to the manifest's bound a hand-over
sends chunks, and afterwards the enclave sends frames. A *message* is what a frame carries: a call of the application,
or nothing, which is the dummy. Messages of kind MESSAGE are what the host sees.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import by_name

# -- sorts -------------------------------------------------------------------------------------------------------------


class Tick(Individual):
    """A quantum of time that the host gives."""


class Message(Individual):
    """What a frame carries: a call of the application, or the dummy."""


class Size(Individual):
    """How long something is."""


class Block(Individual):
    """A block of the host's disk, or a buffer of its network."""


class Moment(Individual):
    """When in a tick a frame leaves."""


class Operation(Individual):
    """What the host is asked for."""

    READ = member()
    WRITE = member()
    PACKET = member()


class Phase(Individual):
    """How far a run has come."""

    PLANNED = member()
    LOADING = member()
    RUNNING = member()
    OVER = member()


class Ending(Individual):
    """What a run shows of its end."""

    NONE = member()
    DONE = member()
    FAILED = member()


# -- parties -----------------------------------------------------------------------------------------------------------

HOLDER = Role("holder")
ENCLAVE = Role("enclave")
HOST = Role("host")
ADVERSARY = Role("adversary", honest=False)

hostile = rigid_flag("hostile", says="the host refuses calls and makes answers up")
shuffled = rigid_relation("shuffled", says="blocks are put in an order that nobody knows, once")()
filled = rigid_relation("filled", Operation, says="its turns are filled with dummies, even where no others are")

# -- the public shape --------------------------------------------------------------------------------------------------

before = rigid_relation("before", Tick, Tick, says="the first tick comes before the second")
start = constant("start", Tick, says="the first tick")
manifest = constant("manifest", Tick, says="the last tick of the hand-over, as the manifest says")
deadline = constant("deadline", Tick, says="the tick in which the run ends")
turn = rigid_function("turn", Tick, to=Operation, says="what the tick is for")
sweep = rigid_function("sweep", Tick, to=Block, says="the block whose turn it is")
bound = constant("bound", Size, says="the size of every frame, chunk and result")
edge = constant("edge", Moment, says="the end of a tick")

# -- what messages are -------------------------------------------------------------------------------------------------

dummy = constant("dummy", Message, says="nothing to say")
fits = rigid_relation("fits", Message, says="the message is no longer than a frame")
length = rigid_function("length", Message, to=Size, says="how long the message is")
aim = rigid_function("aim", Message, to=Operation, says="what the message asks for")
place = rigid_function("place", Message, to=Block, says="the block that the message is about")
effort = rigid_function("effort", Message, to=Moment, says="when the message is ready to leave")
tail = constant("tail", Size, says="the size of a chunk that is not full")

# -- a run's own state -------------------------------------------------------------------------------------------------

extent = variable("extent", Tick, of=HOLDER, says="the tick of the last chunk that has data")
waiting = relation("waiting", Message, kind=Kind.STATE, of=ENCLAVE, says="the application waits for it")
underway = relation("underway", Message, kind=Kind.STATE, of=ENCLAVE, says="it is on its way, and nobody answered")
carried = function("carried", Tick, to=Message, kind=Kind.STATE, of=ENCLAVE, says="what the frame of the tick carries")
failed = flag("failed", of=ENCLAVE, says="an answer did not verify")

# -- what the host sees ------------------------------------------------------------------------------------------------

_message_function = partial(function, kind=Kind.MESSAGE)
now = _message_function("now", to=Tick, says="the tick that the host has given")()
phase = _message_function("phase", to=Phase, says="how far the run has come")()
_message = partial(relation, kind=Kind.MESSAGE)
chunk = _message("chunk", Tick, says="a chunk was sent in the tick")
chunk_size = _message_function("chunk_size", Tick, to=Size, says="how long the chunk of the tick is")
frame = _message("frame", Tick, says="a frame left in the tick")
size = _message_function("size", Tick, to=Size, says="how long the frame of the tick is")
moment = _message_function("moment", Tick, to=Moment, says="when the frame of the tick left")
operation = _message_function("operation", Tick, to=Operation, says="what the frame of the tick asks for")
address = _message_function("address", Tick, to=Block, says="the block that the frame of the tick names")
revisit = _message("revisit", Tick, Tick, says="the frames of both ticks name one block")
alike = _message("alike", Tick, Tick, says="the frames of both ticks are equal, bit for bit")
answered = _message("answered", Tick, says="the host answered the frame of the tick, or refused it")
resent = _message("resent", Tick, says="the frame of the tick was sent again at once")
status = _message_function("status", to=Ending, says="what the run shows of its end")()
result_size = _message_function("result_size", to=Size, says="how long the result is")()

# -- history -----------------------------------------------------------------------------------------------------------

twice = relation("twice", Tick, kind=Kind.GHOST, says="two frames, two chunks or two ends were in the tick")
misled = relation("misled", Tick, kind=Kind.GHOST, says="the application took an answer that the host made up")


# -- words -------------------------------------------------------------------------------------------------------------


def within(tick: Tick, last: Tick) -> Formula:
    """Whether the tick comes no later than ``last``."""
    return (tick == last) | before(tick, last)


# -- designs -----------------------------------------------------------------------------------------------------------
# The interface with a fixed shape, and readings of "oblivious" that would not be enough.

SHUFFLED = "shuffled-blocks"
ON_DEMAND = "disk-on-demand"

VARIANTS = by_name(
    Variant("fixed-shape", "one frame for each tick, alike in all but its content"),
    Variant(SHUFFLED, "blocks are shuffled once, and each is fetched when it is needed", without=("fixed-scan",)),
    Variant(ON_DEMAND, "dummies keep the network busy; the disk is asked on demand", without=("dummy-calls",)),
    Variant(
        "protected-only",
        "content is encrypted, and nothing else is hidden",
        without=("pad-frames", "dummy-calls", "fixed-order", "constant-rate", "fixed-scan"),
    ),
    Variant("early-end", "a run ends when nothing waits", without=("fixed-end",)),
    Variant("needed-retry", "what was refused is sent again only if it was a call", without=("retry-alike",)),
    Variant("calls-checked", "answers to dummies are thrown away unread", without=("check-dummies",)),
    Variant(
        "bare-hand-over",
        "a hand-over has as many chunks as the holder has data",
        without=("fill-chunks", "fixed-hand-over", "pad-chunks"),
    ),
)


def has(variant: str, *defences: str) -> bool:
    """Whether a variant has all these defences."""
    return not set(defences) & set(VARIANTS[variant].without)
