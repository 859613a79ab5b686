"""The vocabulary of PipeLLM: sorts, parties, symbols of the state, and designs.

A *channel* leads from a tenant's confidential VM to a GPU; its key names it. An *IV* is a value of the channel's
counter, and the messages of the channel are counted by the same values. A *copy* is what the application asks for, by
its number. What is encrypted before anybody asks for it is *staged*.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import by_name

# -- sorts -------------------------------------------------------------------------------------------------------------


class Agent(Individual):
    """A party that can know things: tenants, each with a confidential VM, and the host."""


class Key(Individual, fresh=True):
    """The key of one channel, and the channel itself."""


class Iv(Individual):
    """A value of a channel's counter."""


class Page(Individual):
    """A page of the application's memory."""


class Copy(Individual):
    """A copy that the application asks for, by its number, which also stands for where the copy goes."""


class Block(Individual):
    """What a page holds: some of somebody's data."""


# -- parties -----------------------------------------------------------------------------------------------------------

TENANT = Role("tenant")
GPU = Role("gpu")
ADVERSARY = Role("adversary", honest=False)

host = constant("host", Agent, says="the hypervisor, which sees and changes shared memory")
zeros = constant("zeros", Block, says="what a NOP and a page that was not written yet hold")

corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH, says="the agent does what the adversary wants")
owner = rigid_function("owner", Block, to=Agent, says="whose data it is")
home = rigid_function("home", Page, to=Agent, says="whose page it is")
before = rigid_relation("before", Iv, Iv, says="the first IV comes before the second")
follows = rigid_relation("follows", Iv, Iv, says="the second IV is the one after the first")
start = constant("start", Iv, says="the IV that every counter begins with")
earlier = rigid_relation("earlier", Copy, Copy, says="the first copy has the smaller number")
none = constant("none", Copy, says="the number before that of every copy")

# -- a tenant's state --------------------------------------------------------------------------------------------------

_tenant_state = partial(relation, kind=Kind.STATE, of=TENANT)
opened = _tenant_state("opened", Agent, Key, says="the tenant opened the channel")
_tenant_function = partial(function, kind=Kind.STATE, of=TENANT)
due = _tenant_function("due", Key, to=Iv, says="the IV of the next message")
content = _tenant_function("content", Page, to=Block, says="what the page holds")
latest = _tenant_function("latest", Key, to=Copy, says="the copy that was asked for last")
pending = _tenant_state("pending", Key, Copy, says="the copy was asked for, and not sent yet")
source = _tenant_function("source", Key, Copy, to=Page, says="the page that is to be copied")
staged = _tenant_state(
    "staged", Key, Iv, Page, Block, says="the page was encrypted ahead, under that IV, when it held that block"
)
spent = _tenant_state("spent", Key, Iv, says="something was encrypted ahead under the IV")

# -- a GPU's state -----------------------------------------------------------------------------------------------------

counter = function("counter", Key, to=Iv, kind=Kind.STATE, of=GPU, says="the IV under which the GPU decrypts next")
dead = relation("dead", Key, kind=Kind.STATE, of=GPU, says="a message did not verify, and the channel has ended")
landed = relation(
    "landed",
    *(Key, Iv, Copy, Block),
    kind=Kind.STATE,
    of=GPU,
    says="at that value of the counter, the block was decrypted to where the copy goes",
)

# -- messages ----------------------------------------------------------------------------------------------------------

_message = partial(relation, kind=Kind.MESSAGE)
session = _message("session", Key, says="a tenant and the GPU agreed on the key")
exposed = _message("exposed", Key, Iv, Block, says="the ciphertext of the block under that IV is in shared memory")
changed = _message("changed", Key, Block, says="bytes without their tag decrypt to this")
command = _message("command", Key, Iv, Copy, says="under the key: the message of that number is the copy")
scratch = _message("scratch", Key, Iv, says="under the key: the message of that number is a NOP, to be discarded")
ahead = _message("ahead", Key, Iv, Copy, says="under the key: the NOP of that number goes to where that copy will go")

# -- knowledge ---------------------------------------------------------------------------------------------------------

knows = relation("knows", Agent, Key, kind=Kind.KNOWLEDGE, says="the agent can use the key")
learnt = relation("learnt", Agent, Block, kind=Kind.KNOWLEDGE, says="the agent learnt the data")

# -- history -----------------------------------------------------------------------------------------------------------

_history = partial(relation, kind=Kind.GHOST)
asked = _history("asked", Key, Copy, Block, says="the page held that block when the copy was asked for")
placed = _history("placed", Key, Iv, Iv, says="the message of the first number was encrypted under the second IV")
gone = _history("gone", Key, Iv, says="a message took the IV")
late = _history("late", Key, Iv, says="a message was encrypted under the IV after it was gone")
guessed = _history("guessed", Key, Copy, says="the copy was sent as it was encrypted ahead")
served = _history("served", Key, Copy, says="the copy was sent")
place = function("place", Key, Copy, to=Iv, kind=Kind.GHOST, says="the number of the message that is the copy")
filled = _history("filled", Key, Copy, says="something was decrypted to where the copy goes")


# -- words -------------------------------------------------------------------------------------------------------------


def honest(tenant: Agent) -> Formula:
    """Whether a tenant follows the protocol."""
    return ~corrupt(tenant)


def own(tenant: Agent, key: Key) -> Formula:
    """Whether the channel is that of an honest tenant."""
    return opened(tenant, key) & honest(tenant)


# -- designs -----------------------------------------------------------------------------------------------------------
# PipeLLM, readings of it that would not be safe, one that stages in shared memory and is, and what its code does.

FLUSHED = "flushed-guesses"
SHARED = "shared-staging"
AHEAD = "nops-ahead"

VARIANTS = by_name(
    Variant("private-guesses", "guesses stay in private memory until they are sent, and NOPs move the counter on"),
    Variant(
        FLUSHED,
        "guesses wait in shared memory, an IV encrypts once, and what was guessed wrong is sent to scratch memory",
        without=("private-staging",),
    ),
    Variant(
        AHEAD,
        "a NOP is a byte to where the next copy goes, and kernels read there after that copy",
        without=("pad-discarded",),
    ),
    Variant(SHARED, "guesses wait in shared memory, where they are sent from", without=("private-staging",)),
    Variant("no-invalidation", "a write leaves what was staged of the page", without=("write-invalidates",)),
    Variant("asynchronous-writes", "the application writes on while a copy is pending", without=("write-waits",)),
    Variant("hits-first", "a guess that was right overtakes copies that were not guessed", without=("in-order",)),
    Variant("iv-of-a-miss", "what is encrypted anew leaves its IV to a guess", without=("miss-advances",)),
    Variant("free-nops", "a NOP leaves its IV to what comes next", without=("pad-advances",)),
    Variant("no-padding", "a guess is sent whenever its page is asked for", without=("behind-anew", "pad-first")),
    Variant("iv-from-the-host", "the IV comes with the message", without=("implicit-counter",)),
    Variant("old-key", "a channel begins again at the first IV, with its old key", without=("new-key",)),
)
