"""The composition of GPU Travelling over Fastrack's link: a holder's copies of one epoch are one Fastrack transfer.

In one direction Fastrack is the link that GPU Travelling takes for granted. In the other the session that the
orchestrator opened and attested is the key exchange that Fastrack takes for granted, and what runs on the GPU is what
the orchestrator checked.
"""

from functools import partial

from carnet_spec.language import Formula, constant, exists, false
from carnet_spec.language.composition import Composition, End, Interpretation
from carnet_spec.protocols.fastrack import FAMILY as FASTRACK
from carnet_spec.protocols.fastrack import vocabulary as link
from carnet_spec.protocols.gpu_travelling import FAMILY as TRAVELLING
from carnet_spec.protocols.gpu_travelling import vocabulary as job
from carnet_spec.protocols.gpu_travelling.engines import session_revealed

COMPOSITION = Composition(
    "travelling-over-fastrack",
    "GPU Travelling over Fastrack's link",
    upper=TRAVELLING,
    lower=FASTRACK,
    threats=tuple((id, "collusion") for id in ("outsider", "holder", "hypervisor", "collusion")),
    fits=(
        "Fastrack's collusion lets the CPU TEE, host, network and other users do what they like. That is all that the "
        "platform, other holders and outsiders can be to a link. GPU Travelling's past-keys has no counterpart: "
        "Fastrack gives no key away, so nothing is said under it."
    ),
)

# -- GPU Travelling's link, in Fastrack's words ------------------------------------------------------------------------

user = constant("the_user", link.Agent, says="the user that is looked at: the owner of the epoch")
home = constant("the_home", link.Agent, says="the orchestrator")
move = constant("the_move", link.Transfer, says="the transfer that has the copies of the epoch")

LINK = Interpretation(
    "a link of GPU Travelling is a key exchange of Fastrack",
    sorts={
        job.Agent: link.Agent,
        job.Gpu: link.Gpu,
        job.Session: link.Key,
        job.Key: link.Key,
        job.Slot: link.Position,
        job.Data: link.Block,
    },
    glue=(user, home, move),
)
LINK.renames(job.before, link.before)
LINK.renames(job.first, link.first)
LINK.renames(job.corrupt, link.corrupt)
LINK.renames(job.answered, link.answered)
LINK.renames(job.in_session, link.holds)
LINK.renames(job.live_h2d, link.holds)
LINK.renames(job.stale, link.holds)
LINK.renames(job.knows_h2d, link.knows)
LINK.renames(job.knows_d2h, link.knows)
LINK.renames(job.data_owner, link.owner)
LINK.renames(job.orchestrator, home)


@LINK.defines(job.key_session)
def key_session(k: link.Key) -> link.Key:
    """A key exchange is a session with one key."""
    return k


@LINK.defines(job.owner)
def owner(k: link.Key) -> link.Agent:
    """All keys that are looked at are the user's."""
    return user


@LINK.defines(job.issued)
def issued(k: link.Key) -> Formula:
    """An honest user sends under the key."""
    return link.honest(user) & exists(lambda g: link.attested(user, k, g), link.Gpu)


@LINK.defines(job.orchestrated)
def orchestrated(k: link.Key) -> Formula:
    """The user is honest."""
    return link.honest(user)


@LINK.defines(job.protected)
def protected(k: link.Key) -> Formula:
    """The user took a report for it."""
    return exists(lambda g: link.attested(user, k, g), link.Gpu)


@LINK.defines(job.sealed)
def sealed(a: link.Agent, k: link.Key, v: link.Position, m: link.Block) -> Formula:
    """The user sealed the chunk for that place."""
    return link.sealed(a, k, move, v, m)


@LINK.defines(job.taken)
def taken(k: link.Key, v: link.Position, m: link.Block) -> Formula:
    """A kernel may read the chunk in that place, under a key that an honest user sends under."""
    return issued(k) & exists(lambda g: link.released(g, k, move, v, m), link.Gpu)


@LINK.defines(job.taken_slot)
def taken_slot(k: link.Key, v: link.Position) -> Formula:
    """So with some chunk."""
    return exists(lambda m: taken(k, v, m), link.Block)


@LINK.defines(job.received)
def received(g: link.Gpu, k: link.Key, v: link.Position) -> Formula:
    """The transfer was handed to kernels, and the place was filled: chunks that merely arrived do not count."""
    return issued(k) & link.done(g, k, move) & link.filled(g, k, move, v)


@LINK.defines(job.forges_h2d)
def forges_h2d(x: link.Agent, k: link.Key) -> Formula:
    """A repeated IV gives the authentication key away."""
    return link.corrupt(x) & exists(lambda t, i: link.reused(k, t, i), link.Transfer, link.Position)


@LINK.defines(job.forges_d2h)
def forges_d2h(x: link.Agent, k: link.Key) -> Formula:
    """So in the other direction, which has the same key."""
    return forges_h2d(x, k)


@LINK.defines(session_revealed)
def revealed(k: link.Key) -> Formula:
    """Fastrack gives no key away."""
    return false


@LINK.defines(job.exposed)
def exposed(m: link.Block) -> Formula:
    """So nothing is exposed."""
    return false


@LINK.defines(job.learned)
def learned(x: link.Agent, m: link.Block) -> Formula:
    """Somebody else than the owner learnt it."""
    return link.learnt(x, m) & (x != link.owner(m))


@LINK.defines(job.dataset)
def dataset(m: link.Block) -> Formula:
    """It is a user's, and the CPU TEE is no user."""
    return link.owner(m) != link.cpu


link_bond = partial(COMPOSITION.bond, of=End.UPPER, reading=LINK)

link_bond(
    "counters do not wrap",
    assumes=("assumption A12",),
    by=("assumption A7",),
    part_of=("A12",),
    discharges="Counters under a link key are places of a transfer: they stand in line, and have a first.",
    leaves="An assumption rests on an assumption. That a transfer has enough places for an epoch is Fastrack's A7.",
)
link_bond(
    "taken is what was sealed",
    assumes=("lemma reception_is_counted",),
    by=(
        "claim chunk-agreement",
        "claim gpu-genuine",
        "lemma released_stays",
        "lemma arrived_in_a_transfer",
        "lemma done_is_whole",
        "lemma what_is_used",
    ),
    part_of=("A1", "A17"),
    discharges=(
        "What the GPU takes under the key is what its owner sealed for that counter value (A1, for chunks), and goes "
        "where the place says (A17)."
    ),
    leaves=(
        "Fastrack's own A1 stands. That somebody submits the copies is availability, which neither promises, and at "
        "which address a transfer begins is no word of Fastrack's. Hash, quote, session and orders are no part of the "
        "link."
    ),
)
link_bond(
    "received without gaps",
    assumes=("lemma received_in_order",),
    by=(
        "claim whole-transfer",
        "claim gpu-genuine",
        "lemma done_is_handed",
        "lemma arrived_in_a_transfer",
        "axiom places are ordered",
    ),
    part_of=("A1",),
    discharges="If a counter value was received, so was every smaller one.",
    leaves=(
        "Fastrack's chunks arrive and are verified in any order. So a value counts as received when the whole transfer "
        "is handed to kernels, and a count that is read earlier reads nothing. That the owner spent each of these "
        "values (received_was_sent) does not follow: of a place Fastrack says that it was filled, and no lemma says "
        "that there is a chunk which filled it."
    ),
)
link_bond(
    "only the user has the key",
    assumes=("lemma secret_keys",),
    by=("claim key-isolation",),
    part_of=("A1",),
    discharges=(
        "A secret link key is known to its owner only; not even to the orchestrator, of whom GPU Travelling allows it."
    ),
    leaves=(
        "Fastrack's user agrees on the key itself. That the orchestrator hands a key of its session on is GPU "
        "Travelling's own step; and that one key is live at a time is its own claim, since a GPU of Fastrack has "
        "many."
    ),
)
link_bond(
    "nobody forges",
    assumes=("lemma nobody_forges",),
    by=("claim iv-unique",),
    part_of=("A1",),
    discharges="No IV is used twice under a link key, so no authentication key of GCM is lost.",
    leaves="The IVs of what the GPU sends home: Fastrack models no more of an answer than which transfer it is about.",
)
link_bond(
    "chunks stay secret",
    assumes=("lemma learned_is_exposed",),
    by=("claim confidentiality",),
    part_of=("A1",),
    discharges="What an honest owner sends over the link is learnt from it by nobody else.",
    leaves="What the model and what training sends home say of the data: that is GPU Travelling's A6.",
)

# -- Fastrack's surroundings, in GPU Travelling's words ----------------------------------------------------------------

SESSION = Interpretation(
    "a key exchange of Fastrack is a session that the orchestrator opened",
    sorts={
        link.Agent: job.Agent,
        link.Gpu: job.Gpu,
        link.Key: job.Session,
        link.Code: job.Gpu,
    },
)
SESSION.renames(link.genuine, job.genuine)
SESSION.renames(link.confidential, job.confidential)
SESSION.renames(link.corrupt, job.corrupt)
SESSION.renames(link.cpu, job.platform)
SESSION.renames(link.holds, job.in_session)


@SESSION.defines(link.certified)
def certified(g: job.Gpu) -> Formula:
    """The orchestrator attested a session that ends at the GPU."""
    return exists(lambda s: job.attested(s) & (job.ends_at(s) == g), job.Session)


@SESSION.defines(link.attested)
def attested(a: job.Agent, s: job.Session, g: job.Gpu) -> Formula:
    """The orchestrator attested the session, and the GPU is in it."""
    return (a == job.orchestrator) & job.attested(s) & job.in_session(g, s)


@SESSION.defines(link.opened)
def opened(a: job.Agent, s: job.Session) -> Formula:
    """The orchestrator opened the session."""
    return (a == job.orchestrator) & job.orchestrated(s)


@SESSION.defines(link.exposed)
def session_exposed(s: job.Session) -> Formula:
    """Somebody else has the session's master."""
    return exists(lambda x: job.knows_master(x, s), job.Agent)


@SESSION.defines(link.vetted)
def vetted(g: job.Gpu) -> Formula:
    """The code that is meant is what runs on a GPU with honest data: a kernel is told by its GPU."""
    return exists(lambda m: job.resident(g, m) & job.honest_data(m) & ~job.exposed(m), job.Data)


@SESSION.defines(link.leaks)
def leaks(g: job.Gpu) -> Formula:
    """Somebody else's code runs there."""
    return job.foreign(g)


session_bond = partial(COMPOSITION.bond, of=End.LOWER, reading=SESSION)

session_bond(
    "attested is genuine",
    assumes=("assumption A4",),
    by=("lemma attested_is_protected",),
    part_of=("A4",),
    discharges="A holder need not judge certificates: a session that the orchestrator attested ends at a genuine GPU.",
    leaves="That is proved from GPU Travelling's A1 (certificates) and A13 (a leaked device key is revoked).",
)
session_bond(
    "the mode is kept",
    assumes=("lemma attested_ends",),
    by=(
        "lemma attested_is_protected",
        "lemma mode_is_kept",
        "lemma masters_are_kept",
        "lemma session_ends_here",
        "axiom the orchestrator is honest",
        "axiom two parties",
    ),
    part_of=("A3",),
    discharges=(
        "While the GPU is in a session that was attested, it is genuine and in confidential mode, and nobody else has "
        "the session's master."
    ),
    leaves="That a GPU that changes its mode loses its session is GPU Travelling's A4.",
)
session_bond(
    "only checked code reads",
    assumes=("assumption A6",),
    by=("claim no-implant",),
    part_of=("A6",),
    discharges="While honest data is in a GPU's memory, nobody else's code is there: neither planted nor left running.",
    leaves="That the code in the manifest writes nothing out itself is GPU Travelling's A7.",
)

# -- what is left open -------------------------------------------------------------------------------------------------

COMPOSITION.leave_open(
    End.UPPER, "A2", "A15", why="Who is corrupt from the start, and which VM is rolled back, is no matter of a link."
)
COMPOSITION.leave_open(
    End.UPPER,
    *("A5", "A10", "A14", "A22"),
    why="Orchestrator, enrolment and the choice of one instance are above the link.",
)
COMPOSITION.leave_open(
    End.UPPER,
    *("A6", "A7", "A8", "A11", "A16", "A18", "A20"),
    why="What code, training, scrub and firmware do on the GPU: Fastrack moves data and says nothing of it.",
)
COMPOSITION.leave_open(
    End.UPPER,
    "A3",
    "A4",
    why="Built into the steps, with no formula. Fastrack assumes the same of a GPU, as its A5 and A3.",
)
COMPOSITION.leave_open(End.UPPER, "A9", "A21", why="Fastrack has no clock and no limit of a key.")
COMPOSITION.leave_open(
    End.UPPER, "A13", why="Fastrack assumes that no device key leaks (its A4), so it says nothing of revocation."
)
COMPOSITION.leave_open(
    End.LOWER,
    "A1",
    "A2",
    why="Ideal cryptography and fixed corruption are assumed by both, in the shape of their steps.",
)
COMPOSITION.leave_open(
    End.LOWER, "A5", why="Built into the steps, with no formula. GPU Travelling assumes the same, as its A3 and A20."
)
COMPOSITION.leave_open(
    End.LOWER, "A7", why="Places are Fastrack's own; GPU Travelling's counters rest on them, and not the reverse."
)
