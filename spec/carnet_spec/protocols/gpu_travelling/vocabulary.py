"""The vocabulary of GPU Travelling: sorts, parties, symbols of the state, and phrases for sentences.

A *state symbol* belongs to one party; a *message symbol* holds what was put on a wire or shown as evidence and is
never taken back, since the network records everything; *truth* is what no honest party can look at; *ghosts* are
history kept for the claims.
"""

from collections.abc import Callable
from functools import partial

from carnet_spec.language import *
from carnet_spec.language.requirements import text_beside

# -- sorts -------------------------------------------------------------------------------------------------------------


class Agent(Individual):
    """A party that can know things: the orchestrator, holders, the platform, outsiders and the CVMs they start."""


class Gpu(Individual):
    """A GPU, genuine or fake."""


class Session(Individual, fresh=True):
    """A session between a GPU and whoever opened it; it stands for its master secret and its attestation nonce too."""


class Key(Individual, fresh=True):
    """The link key of one epoch, both directions; with its own space of IVs."""


class Data(Individual):
    """A chunk of somebody's dataset, or the model."""


class Version(Individual):
    """A version of the model: weights and optimiser state, as their digest tells them apart."""


class Slot(Individual):
    """A position in a message counter, from which the IV is made."""


class Address(Individual):
    """A place in device memory that a copy can go to."""


class Mode(Individual):
    """What a GPU's report says of it: the mode flags, the debug flag, and whether its measurements are the reference's.

    A report of several flaws is refused for any of them, so the first that is found stands for all.
    """

    CONFIDENTIAL = member()
    OPEN = member()
    DEBUG = member()
    OUTDATED = member()


class Custody(Individual):
    """How the last custody ended, as the orchestrator sees it."""

    NONE = member()
    RETURNED = member()
    EVICTED = member()


class Order(Individual):
    """What the orchestrator orders the firmware to do, inside the session, and what the firmware reports there."""

    ROTATE = member()
    FENCE = member()
    READ_BACK = member()
    CODE_GOOD = member()
    NO_CONTEXT = member()
    TRAIN = member()
    SAVE = member()
    SCRUB = member()


class Phase(Individual):
    """What the orchestrator is doing."""

    SETUP = member()
    OPENED = member()
    ROTATED_IN = member()
    FENCING = member()
    FENCED = member()
    UPLOADED = member()
    CHECKING = member()
    CHECKED = member()
    ROTATING_LATE = member()
    VERIFIED = member()
    TRAINING = member()
    TRAINED = member()
    SAVING = member()
    SAVED = member()
    SCRUBBING = member()
    CLEAN = member()
    ROTATING_OUT = member()
    GRANTING = member()
    AWAY = member()
    BACK = member()
    FENCING_EARLY = member()
    FENCED_EARLY = member()
    ROTATING_IN = member()


# -- parties -----------------------------------------------------------------------------------------------------------

ORCHESTRATOR = Role("orchestrator")
HOLDER = Role("holder")
GPU = Role("gpu")
PLATFORM = Role("platform")
ADVERSARY = Role("adversary", honest=False)

orchestrator = constant("orchestrator", Agent, says="the orchestrator CVM that runs the job")
platform = constant("platform", Agent, says="hypervisor, PCIe MUX, bus and storage")

_truth = partial(rigid_relation, kind=Kind.TRUTH)
corrupt = _truth("corrupt", Agent, says="the agent does what the adversary wants")
enrolled = rigid_relation("enrolled", Agent, says="the job manifest names the agent as a data holder")
measured = rigid_relation("measured", Agent, says="the agent's quote shows the orchestrator's measurement")
job_manifest = rigid_relation("job_manifest", Agent, says="the agent's quote binds the manifest of this job")
agreed = rigid_relation("agreed", Agent, says="the holders agreed on this instance, by the key that its quote names")
genuine = _truth("genuine", Gpu, says="the GPU was made by its vendor")
certified = rigid_relation("certified", Gpu, says="the certificate chain under the GPU's name verifies")
leaked = _truth("leaked", Gpu, says="the adversary has the GPU's device key")
revoked = rigid_relation("revoked", Gpu, says="the vendor says that the GPU's certificate is revoked")
elsewhere = _truth("elsewhere", Gpu, says="an outsider owns the GPU, on another machine")
installed = _truth("installed", Gpu, says="the GPU is in the slot at first")
dataset = rigid_relation("dataset", Data, says="the data is a chunk of a holder's dataset")
data_owner = rigid_function("data_owner", Data, to=Agent, says="whose data it is")
precedes = rigid_relation("precedes", Data, Data, says="the first chunk comes before the second in its dataset")
the_model = constant("the_model", Data, says="the model being trained")
the_buffer = constant("the_buffer", Address, says="where the dataset buffer is")
first_version = constant("first_version", Version, says="the version that the manifest names")
rubble = constant("rubble", Version, says="what is left of a model that was overwritten, or was never there")
before = rigid_relation("before", Slot, Slot, says="the first counter value is smaller")
first = constant("first", Slot, says="where every message counter starts")
some_holder_corrupt = rigid_flag("some_holder_corrupt", says="at least one enrolled holder is corrupt")
interferes = rigid_flag("interferes", says="the corrupt do more than record and compute")
past_keys_leak = rigid_flag("past_keys_leak", says="the adversary is given link keys the GPU no longer accepts")

# -- the orchestrator's state ------------------------------------------------------------------------------------------

phase = variable("phase", Phase, of=ORCHESTRATOR, says="what the orchestrator is doing")
custody = variable("custody", Custody, of=ORCHESTRATOR, says="how the last custody ended")
session = variable("session", Session, of=ORCHESTRATOR, says="the session with the GPU")
link_h2d = variable("link_h2d", Key, of=ORCHESTRATOR, says="the key of the host-to-device half of the link")
link_d2h = variable("link_d2h", Key, of=ORCHESTRATOR, says="the key of the device-to-host half of the link")
pending = variable("pending", Key, of=ORCHESTRATOR, says="the key a rotation is under way to")
lent_key = variable("lent_key", Key, of=ORCHESTRATOR, says="the key last granted to a holder")
next_holder = variable("next_holder", Agent, of=ORCHESTRATOR, says="the holder the GPU goes to")
count = variable("count", Slot, of=ORCHESTRATOR, says="the message count that the holder returned")
latest = variable("latest", Version, of=ORCHESTRATOR, says="the version last produced")
kept = variable("kept", Version, of=ORCHESTRATOR, says="the version last brought home, which is what is published")
_orchestrator_state = partial(relation, kind=Kind.STATE, of=ORCHESTRATOR)
ledger = _orchestrator_state("ledger", Version, Version, Key, says="made from the second, on that epoch's data")
taken_back = _orchestrator_state("taken_back", Key, says="a return of the epoch was accepted")
secured = _orchestrator_state("secured", Key, says="a version made since it came home")
lost = _orchestrator_state("lost", Key, says="the epoch is recorded as lost with its session")
tenanted = _orchestrator_state("tenanted", Session, says="the session's GPU was lent already")
consumed = _orchestrator_state("consumed", Key, Slot, says="the counter value is known to be used under the key")
told = _orchestrator_state("told", Key, Slot, says="an order about the epoch went out with that number")
issued = _orchestrator_state("issued", Key, says="the orchestrator uses, or used, the key for the job")
admitted = _orchestrator_state("admitted", Agent, Agent, says="the holder's channel ends at the second agent")
granted = _orchestrator_state("granted", Agent, Key, Slot, says="the key was granted to the holder, from there")

granted_at = _orchestrator_state("granted_at", Agent, Key, Address, says="the grant of the key states that address")

# -- the holders' state ------------------------------------------------------------------------------------------------

_holder_state = partial(relation, kind=Kind.STATE, of=HOLDER)
channel = _holder_state("channel", Agent, Agent, says="the holder attested its channel, which ends at the agent")
accepted = _holder_state("accepted", Agent, Agent, Key, Slot, says="the holder accepted a grant from the agent")
spent = _holder_state("spent", Agent, Key, Slot, says="the holder used the counter value")
supplied = _holder_state("supplied", Agent, Key, Data, says="the holder sent the chunk already")
gave_back = _holder_state("gave_back", Agent, Key, Slot, says="the holder gave the GPU back with the count")
aims = _holder_state("aims", Agent, Key, Address, says="the holder's copies go to that address")
finished = _holder_state("finished", Agent, Key, says="the holder gave the GPU back")

# -- the GPU's state ---------------------------------------------------------------------------------------------------

_gpu_state = partial(relation, kind=Kind.STATE, of=GPU)
confidential = _gpu_state("confidential", Gpu, says="confidential mode is on, no debug flag, firmware as it should be")
debugging = _gpu_state("debugging", Gpu, says="it was booted with its debug flag set")
outdated = _gpu_state("outdated", Gpu, says="it was booted with firmware that has a known hole")
occupied = _gpu_state("occupied", Gpu, says="the GPU has a session")
in_session = _gpu_state("in_session", Gpu, Session, says="the GPU's session")
live_h2d = _gpu_state("live_h2d", Gpu, Key, says="the GPU decrypts host-to-device traffic with it")
live_d2h = _gpu_state("live_d2h", Gpu, Key, says="the GPU encrypts device-to-host traffic with it")
stale = _gpu_state("stale", Gpu, Key, says="the key's epoch is not above the last accepted")
received = _gpu_state("received", Gpu, Key, Slot, says="the implicit receive counter passed it")
heard = _gpu_state("heard", Gpu, Key, Slot, says="the epoch's order of that number was heard")
transmitted = _gpu_state("transmitted", Gpu, Key, Slot, says="the send counter passed it")
buffer = _gpu_state("buffer", Gpu, Data, says="the dataset buffer holds the chunk")
placed = _gpu_state("placed", Gpu, Slot, Data, says="the chunk is at that place of the buffer")
workspace = _gpu_state("workspace", Gpu, Data, says="memory holds something derived from it")
stash = _gpu_state("stash", Gpu, Data, says="planted code put a copy where no scrub looks")
holds_model = _gpu_state("holds_model", Gpu, says="the model is in memory")
memory_version = function(
    "memory_version", Gpu, to=Version, kind=Kind.STATE, of=GPU, says="the version of the model in memory"
)
planted = _gpu_state("planted", Gpu, says="somebody else's code is in code memory")
context = _gpu_state("context", Gpu, says="somebody else's kernel is still running")

# -- the platform's state ----------------------------------------------------------------------------------------------

in_slot = relation("in_slot", Gpu, kind=Kind.STATE, of=PLATFORM, says="the orchestrator's slot is wired to the GPU")
mux = variable("mux", Agent, of=PLATFORM, says="the agent whose VM the MUX routes the GPU to")

# -- messages and evidence ---------------------------------------------------------------------------------------------

_message = partial(relation, kind=Kind.MESSAGE)
key_exchange = _message(
    "key_exchange", Session, Key, says="the orchestrator asked for the session, with this first key"
)
answered = _message("answered", Session, says="the session's key exchange was answered")
responder = _message("responder", Session, Gpu, says="the GPU signed the session's key exchange")
report = _message("report", Gpu, Session, Mode, says="a signed report for the nonce exists")
report_inside = _message("report_inside", Session, Gpu, Session, Mode, says="the report arrived inside the session")
enrolment_proof = _message(
    "enrolment_proof", Agent, Agent, says="the channel's far end, the second agent, proved the key"
)
rotate_out_order = _message(
    "rotate_out_order", Session, Key, says="an order to rotate to a holder's key, in the session"
)
rotate_in_order = _message("rotate_in_order", Session, Key, says="an order to rotate to the orchestrator's key")
older = _message("older", Key, Key, says="by their orders, the first key's epoch is smaller")
ordered = _message("ordered", Key, Slot, Order, says="inside the session: an order about the epoch, with its number")
submitted = _message("submitted", Key, Order, says="the order, under the link key, by somebody who never had it sent")
replied = _message("replied", Key, Slot, Order, says="inside the session: the firmware's report on that order")
acknowledged = _message("acknowledged", Key, Order, says="a report on the epoch that the orchestrator would believe")
uploaded = _message("uploaded", Key, Slot, says="the code, sealed under the key, with its IV")
model_uploaded = _message("model_uploaded", Key, Slot, says="the model was sealed together with it")
digested = _message("digested", Key, Version, says="reported in the epoch: the digest of the model is that version's")
trained_to = _message("trained_to", Key, Version, says="reported in the epoch: training ended with that version")
sent_as = _message("sent_as", Key, Version, says="reported in the epoch: the model that went home is that version")
streamed = _message("streamed", Key, Slot, says="the GPU protected a message home, with that IV")
upload_version = function(
    "upload_version", Key, to=Version, kind=Kind.MESSAGE, says="the version of the model that was sealed under the key"
)
model_sent = _message("model_sent", Key, says="the model went home under the key")
semaphore = _message("semaphore", Order, says="the plain host-visible semaphore says done")
counter_asked = _message(
    "counter_asked", Key, Key, says="a read-back in the first key's epoch asks for the second's counter"
)
counted = _message("counted", Key, Key, Slot, says="reported in the first key's epoch: the second's receive counter")
traffic = _message("traffic", Key, Data, says="training traffic derived from it, under the key")
offer = _message("offer", Agent, Agent, Key, Slot, says="a grant sent by one agent to another")
addressed = _message(
    "addressed", Agent, Agent, Key, Address, says="the grant from one agent to another states the address"
)
rumoured = _message("rumoured", Address, says="somebody says that the buffer is there")
mux_request = _message("mux_request", Agent, says="the orchestrator asked for the route")
sealed = _message("sealed", Agent, Key, Slot, Data, says="the holder's ciphertext, with its IV")
returned = _message("returned", Agent, Key, Slot, says="the holder's return, with its count")

# -- what agents know --------------------------------------------------------------------------------------------------

_knowledge = partial(relation, kind=Kind.KNOWLEDGE)
knows_h2d = _knowledge("knows_h2d", Agent, Key, says="knows the host-to-device half")
knows_d2h = _knowledge("knows_d2h", Agent, Key, says="knows the device-to-host half")
forges_h2d = _knowledge("forges_h2d", Agent, Key, says="can forge messages out, without the key")
forges_d2h = _knowledge("forges_d2h", Agent, Key, says="can forge messages home, without the key")
knows_master = _knowledge("knows_master", Agent, Session, says="knows the session's master secret")
knows_launch = _knowledge("knows_launch", Agent, Session, says="knows the launch key")
learned = _knowledge("learned", Agent, Data, says="knows the plaintext, or what derives from it")

# -- truth and ghosts --------------------------------------------------------------------------------------------------

_truth_function = partial(function, kind=Kind.TRUTH)
owner = _truth_function("owner", Key, to=Agent, says="the agent whose epoch the key is")
key_session = _truth_function("key_session", Key, to=Session, says="the session the key belongs to")
ends_at = _truth_function("ends_at", Session, to=Gpu, says="the GPU that really is at the far end")
tenant = function("tenant", Session, to=Agent, kind=Kind.GHOST, says="the only holder the session is lent to")
_history = partial(relation, kind=Kind.GHOST)
orchestrated = _history("orchestrated", Session, says="the orchestrator opened the session")
protected = _history("protected", Session, says="opened with a genuine GPU in confidential mode")
attested = _history("attested", Session, says="the orchestrator attested the GPU in the session")
asked = _history("asked", Key, Order, says="the order was sent about the epoch")
done = _history("done", Key, Order, says="the GPU carried the order out in the epoch")
chained = _history("chained", Version, says="trained by verified code from the latest version, back to the first")
off_chain = _history("off_chain", Version, says="trained otherwise, in the session that was attested")
_hidden = partial(relation, kind=Kind.TRUTH)
made = _hidden("made", Version, says="the version exists: training made it, or it was there at first")
derives = _history("derives", Version, Version, says="the first was trained from the second")
trained_on = _history("trained_on", Version, Data, says="the chunk was in the buffer when it was made")
within = _history("within", Version, Data, says="the chunk went into it, or into one it was made from")
taken = _history("taken", Key, Slot, Data, says="the GPU took the chunk into the buffer")
taken_slot = _history("taken_slot", Key, Slot, says="some ciphertext with that IV was taken")
replayed = _history("replayed", Key, Slot, says="a ciphertext was taken twice")
repeated = _history("repeated", Key, Slot, says="the GPU protected two messages home with that IV")
stray = _history("stray", Key, says="a ciphertext was taken outside its own epoch")
took_grant = _history("took_grant", Agent, Key, says="the holder accepted a grant of the key")
accepted_twice = _history("accepted_twice", Agent, Key, says="a grant was accepted twice")
made_by = _history("made_by", Key, Agent, says="the GPU accepted a message that the agent made")
revealed = _history("revealed", Key, says="the key was given to the adversary after its epoch")
carried = _history("carried", Key, Data, says="the data, or what derives from it, was sent under it")
exposed = _history("exposed", Data, says="an epoch that carried the data was revealed")


# -- words used all over -----------------------------------------------------------------------------------------------


def honest(agent: Agent) -> Formula:
    """Whether the agent follows the protocol."""
    return ~corrupt(agent)


def honest_data(data: Data) -> Formula:
    """Whether it is a chunk of a holder that is not corrupt."""
    return dataset(data) & ~corrupt(data_owner(data))


def resident(gpu: Gpu, data: Data) -> Formula:
    """Whether the buffer or the workspace holds it, or something derived from it."""
    return buffer(gpu, data) | workspace(gpu, data)


def foreign(gpu: Gpu) -> Formula:
    """Whether somebody else's code is on the GPU: planted, or a kernel that still runs."""
    return planted(gpu) | context(gpu)


def shows(gpu: Gpu, mode: Mode) -> Formula:
    """Whether that is what a truthful report says of the GPU."""
    sound = (mode == Mode.CONFIDENTIAL) & confidential(gpu)
    debug = (mode == Mode.DEBUG) & ~confidential(gpu) & debugging(gpu)
    old = (mode == Mode.OUTDATED) & ~confidential(gpu) & outdated(gpu) & ~debugging(gpu)
    return sound | debug | old | ((mode == Mode.OPEN) & ~confidential(gpu) & ~debugging(gpu) & ~outdated(gpu))


def attested_live(gpu: Gpu) -> Formula:
    """Whether the orchestrator's session is alive on this GPU."""
    return in_session(gpu, session)


# -- history -----------------------------------------------------------------------------------------------------------
# What a claim needs to know beyond what parties keep: what was sent in which session, and which epoch came last.

sent_in = _history("sent_in", Session, Data, says="the chunk was sealed under a key of the session")
lent_last = _history("lent_last", Session, Key, says="the epoch was granted last in the session")
sealed_again = _hidden("sealed_again", Key, Slot, says="the orchestrator protected two uploads with that IV")
reported_again = _hidden("reported_again", Key, Slot, says="the firmware protected two reports with that number")


# -- counters ----------------------------------------------------------------------------------------------------------
# The IVs of one direction under one key are taken in order, each once.


def next_free(used_at: Callable[[Slot], Formula], slot: Slot) -> Formula:
    """Whether ``slot`` is the first counter value not used yet."""
    return ~used_at(slot) & forall(lambda u: implies(before(u, slot), used_at(u)), Slot)


# -- orders ------------------------------------------------------------------------------------------------------------
# How the orchestrator gives one to the firmware, and how the firmware carries it out and reports.
#
# Orders and reports travel inside the session, under keys that hang on its master and that firmware alone holds:
# neither whoever was lent a link key nor code on the GPU can make one. An order names the epoch it is about and has a
# number in it, and the report on it has the same: so no two messages of the session share an IV, and the firmware
# carries out the orders of the live epoch in their order, each once.


def send(step: Step, order: Order, at: Slot) -> None:
    """Send an order about the link's epoch, inside the session, with the next number."""
    step.require("next number", next_free(lambda u: told(link_h2d, u), at))
    step.insert(told(link_h2d, at))
    step.insert(ordered(link_h2d, at, order))
    step.insert(asked(link_h2d, order))


def seal(step: Step, at: Slot) -> None:
    """Protect a message to the GPU with the host-to-device half of the link, with the next IV."""
    step.require("next IV", next_free(lambda u: consumed(link_h2d, u), at), defence="sender-iv-monotonic")
    step.require("any IV up to the next", contiguous(at), unless="sender-iv-monotonic")
    step.insert(consumed(link_h2d, at))


def contiguous(at: Slot) -> Formula:
    """Whether every counter value below ``at`` is used under the link key."""
    return forall(lambda u: implies(before(u, at), consumed(link_h2d, u)), Slot)


def carry_out(step: Step, gpu: Gpu, key: Key, at: Slot, order: Order) -> None:
    """Take the next order about the live epoch, and report on it."""
    step.actor(gpu, genuine(gpu))
    step.require("live epoch", live_h2d(gpu, key))
    step.require("verifies", ordered(key, at, order), defence="session-orders")
    step.require("verifies on the link", ordered(key, at, order) | submitted(key, order), unless="session-orders")
    step.require("in order", next_free(lambda u: heard(gpu, key, u), at), defence="session-sequence")
    step.insert(heard(gpu, key, at))
    report_on(step, key, at, order)


def report_on(step: Step, key: Key, at: Slot, order: Order) -> None:
    """Report on an order inside the session, under its number."""
    step.insert(reported_again(key, at), when=exists(lambda o: replied(key, at, o), Order))
    step.insert(replied(key, at, order))
    step.insert(acknowledged(key, order))


def stream(step: Step, gpu: Gpu, key: Key, at: Slot) -> None:
    """Protect a message home with the live device-to-host half, with the next IV of that direction."""
    step.require("live key home", live_d2h(gpu, key))
    step.require("next IV home", next_free(lambda u: transmitted(gpu, key, u), at))
    step.insert(transmitted(gpu, key, at))
    step.insert(repeated(key, at), when=streamed(key, at))
    step.insert(streamed(key, at))


# -- words -------------------------------------------------------------------------------------------------------------
# Words that the lemmas share: groups of phases, and keys of protected sessions.

BEFORE_CHECK = (Phase.ROTATED_IN, Phase.FENCING, Phase.FENCED, Phase.UPLOADED, Phase.CHECKING)
CHECKED = (Phase.VERIFIED, Phase.TRAINING, Phase.TRAINED, Phase.SAVING, Phase.SAVED, Phase.SCRUBBING, Phase.CLEAN)
HOME = BEFORE_CHECK + CHECKED
FENCED_TOO_EARLY = (Phase.FENCING_EARLY, Phase.FENCED_EARLY)
OUT = (Phase.GRANTING, Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY, Phase.ROTATING_IN)
UNREACHED = (Phase.CHECKED, Phase.ROTATING_LATE)


def during(*phases: Phase) -> Formula:
    """Whether the orchestrator is in one of ``phases``."""
    return any_of(*(phase == each for each in phases))


def active() -> Formula:
    """Whether the orchestrator has attested its session."""
    return (phase != Phase.SETUP) & (phase != Phase.OPENED)


def checked(key: Key) -> Formula:
    """Whether the firmware found the code good in that epoch, and no context left."""
    return done(key, Order.CODE_GOOD) & done(key, Order.NO_CONTEXT)


def guarded(key: Key) -> Formula:
    """Whether the key is of a session that the orchestrator opened with a protected GPU."""
    return protected(key_session(key)) & orchestrated(key_session(key))


# -- the normative text ------------------------------------------------------------------------------------------------

TEXT = text_beside(__file__)
