"""The adversary's moves: what a corrupt platform, corrupt holders and outsiders can do.

Recording, delaying, dropping, replaying and reordering need no action: messages are facts that stay, and no delivery
is ever forced. What is listed here is active: each move counts against a budget. The adversary's own sessions, keys
and GPUs are as real as anybody's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling.vocabulary import *

# -- hardware ----------------------------------------------------------------------------------------------------------
# What the machines beneath the protocol let an adversary reach, and what the variants change of it.

located = relation("located", Agent, Session, kind=Kind.KNOWLEDGE, says="knows where the model lies in that session")


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the hardware of a variant permits."""

    confined: bool = False  #: the hardware limits a link key to the dataset buffer (the deck's outlook).
    #: a PCIe switch takes the place of the MUX, and every host on it reaches the GPU at any time.
    switched: bool = False
    hidden: bool = False  #: the model lies at an address that the orchestrator draws anew in each session.
    leads_to: Callable[[Agent], Formula] = lambda x: mux == x  #: whether the bus leads to a VM that the agent runs.

    def routes(self, x: Agent) -> Formula:
        """Whether data that ``x`` puts on the bus reaches the GPU."""
        return true if self.switched else corrupt(platform) | self.leads_to(x)

    def knows_model_address(self, x: Agent, key: Key) -> Formula:
        """Whether ``x`` knows the model's address in the key's session; today every holder does."""
        return located(x, key_session(key)) if self.hidden else true

    def taps(self) -> Formula:
        """Whether the adversary can read and write data on the bus, and in a GPU outside confidential mode."""
        return true if self.switched else corrupt(platform)

    def controls(self, gpu: Gpu) -> Formula:
        """Whether the adversary can reset the GPU, boot it in another mode and talk to it."""
        return interferes if self.switched else interferes & (corrupt(platform) | elsewhere(gpu))

    def reaches(self, x: Agent, gpu: Gpu, key: Key) -> Formula:
        """Whether corrupt ``x`` can access memory: it can send under the live key, and the bus leads to the GPU.

        What outsiders do to a GPU of their own, on another machine, is left out: nobody else ever uses it.
        """
        makes = knows_h2d(x, key) | forges_h2d(x, key)
        return interferes & corrupt(x) & makes & live_h2d(gpu, key) & ~elsewhere(gpu) & self.routes(x)


PLAIN = Hardware()  #: Today's hardware, as the deck uses it.


# -- imposture ---------------------------------------------------------------------------------------------------------
# What the adversary offers in the orchestrator's place, and its moves where a defence is missing.


def specify_impersonation(draft: Draft) -> None:
    """Add the adversary's moves at the end of a channel that a holder attested."""
    by_adversary = partial(draft.action, ADVERSARY)

    @by_adversary("Carnet (impersonated orchestrator, relay and diversion)", cost=1)
    def offer_known_key(step: Step, p: Agent, a: Agent, k: Key, v: Slot, b: Address) -> None:
        """At the end of a channel that a holder attested, anything can be offered."""
        step.says("{p} offers {a} the key {k}, which it knows.")
        step.message("{p} -> {a}: grant of {k}")
        step.given("at the far end", interferes & corrupt(p) & ~corrupt(a) & channel(a, p))
        step.given("knows it", knows_h2d(p, k))
        step.insert(offer(p, a, k, v), addressed(p, a, k, b))

    @by_adversary(
        "Carnet (impersonated orchestrator); a genuine instance with the attacker's inputs: its code leaks", cost=1
    )
    def offer_own_key(step: Step, p: Agent, a: Agent, k: Key, v: Slot, b: Address, s: Session) -> None:
        """An instance started with hostile inputs is the adversary's, whatever its quote measures."""
        step.says("{p} offers {a} a key of its own, {k}.")
        step.message("{p} -> {a}: grant of {k}")
        step.given("at the far end", interferes & corrupt(p) & ~corrupt(a) & channel(a, p))
        step.given("some session", answered(s))
        step.fresh(k)
        step.set(owner(k), p)
        step.set(key_session(k), s)
        step.insert(knows_h2d(p, k), knows_d2h(p, k), offer(p, a, k, v), addressed(p, a, k, b))


def specify_shortcut_moves(draft: Draft, hardware: Hardware) -> None:
    """Add the moves that exist only where a defence is missing."""
    by_adversary = partial(draft.action, ADVERSARY)

    @draft.rule(ADVERSARY, "Carnet (an address that nobody vouches for)", shortcut_of="address-in-grant")
    def spread_address(step: Step, b: Address) -> None:
        """Outside an attested channel anybody names any address."""
        step.says("Somebody says that the buffer is at {b}.")
        step.given("interferes", interferes)
        step.insert(rumoured(b))

    @by_adversary(
        "DEMY (arXiv 2507.02770): requests can be omitted; Carnet (half-done rotation)",
        cost=1,
        shortcut_of="atomic-rotation",
    )
    def half_rotation(step: Step, g: Gpu, k: Key) -> None:
        """The counters are cleared, the key is not changed."""
        step.says("The platform omits half of a rotation on {g}: counters restart under {k}.")
        step.message("adversary -> {g}: half a rotation of {k}")
        step.given("power over it", interferes & corrupt(platform) & live_h2d(g, k))
        step.remove(received(g, k, step.each(Slot)), transmitted(g, k, step.each(Slot)))

    @by_adversary(
        "open-gpu-kernel-modules cc_keystore.h: cpu_sec2_hmac_user; DEMY (arXiv 2507.02770): SEC2 channel",
        cost=1,
        shortcut_of="launch-key-kept",
    )
    def submit_work(step: Step, x: Agent, g: Gpu, s: Session) -> None:
        """The launch key does not rotate with the link."""
        step.says("{x} submits work to {g} with the launch key of {s}.")
        step.message("{x} -> {g}: a kernel, under the launch key of {s}")
        step.given("has it", interferes & corrupt(x) & knows_launch(x, s))
        step.given("reaches it", in_session(g, s) & hardware.routes(x))
        step.insert(context(g))

    @by_adversary(
        "open-gpu-kernel-modules conf_compute_gh100.c (feasibility not established)",
        cost=1,
        shortcut_of="no-engine-reload",
    )
    def reload_engine(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """Deriving keys again from the resident export master secret brings an earlier epoch back."""
        step.says("A copy engine of {g} is loaded again and takes {k} back.")
        step.message("adversary -> {g}: engine re-load, {k} again")
        step.given("power over it", interferes & corrupt(platform) & in_session(g, s))
        step.given("an earlier key", issued(k) & (key_session(k) == s) & stale(g, k))
        step.remove(live_h2d(g, step.each(Key)), name="forget h2d")
        step.insert(live_h2d(g, k), name="reload h2d")
        step.remove(live_d2h(g, step.each(Key)), name="forget d2h")
        step.insert(live_d2h(g, k), name="reload d2h")


# -- adversary ---------------------------------------------------------------------------------------------------------

WHOLE_GPU = "deck, Outlook: nothing limits a holder to the dataset buffer"


def specify_adversary(draft: Draft, hardware: Hardware = PLAIN) -> None:
    """Add the adversary's moves on that hardware."""
    by_adversary = partial(draft.action, ADVERSARY)

    @by_adversary("open-gpu-kernel-modules kernel_gsp_gh100.c: reset wipes memory and keys (A4)", cost=1)
    def reset(step: Step, g: Gpu, mode: Mode) -> None:
        """Reset a GPU and boot it in confidential mode, out of it, with its debug flag, or with older firmware."""
        step.says("The adversary resets {g} into mode {mode}.")
        step.message("adversary -> {g}: reset ({mode})")
        step.given("power over it", genuine(g) & hardware.controls(g))
        step.given("in the slot, or for a session", ~elsewhere(g) | (mode == Mode.CONFIDENTIAL))
        wipe(step, g)
        step.remove(confidential(g), when=mode != Mode.CONFIDENTIAL)
        for flaw, shown in ((debugging, Mode.DEBUG), (outdated, Mode.OUTDATED)):
            step.remove(flaw(g), when=mode != shown)
            step.insert(flaw(g), when=mode == shown)
        step.insert(confidential(g), when=mode == Mode.CONFIDENTIAL)

    @by_adversary("deck, Enabler: the MUX is under the host's control", cost=1)
    def rewire(step: Step, g: Gpu) -> None:
        """Any GPU can be put there, at any time."""
        step.says("The platform wires the orchestrator's slot to {g}.")
        step.message("adversary -> platform: slot to {g}")
        step.given("power over it", interferes & corrupt(platform) & ~in_slot(g) & ~elsewhere(g))
        step.remove(in_slot(step.each(Gpu)), name="unplug")
        step.insert(in_slot(g), name="plug in")

    @by_adversary("open-gpu-kernel-modules rmspdmrsakeys.h: the requester's key is public; one-way attestation", cost=1)
    def open_own_session(step: Step, x: Agent, g: Gpu, s: Session, k: Key) -> None:
        """Anybody can play the CVM towards a genuine GPU."""
        step.says("{x} opens a session {s} of its own with {g}, key {k}.")
        step.message("{x} -> {g}: KEY_EXCHANGE ({s})")
        step.given("power over it", corrupt(x) & genuine(g) & hardware.controls(g))
        step.given("one session per GPU", ~occupied(g))
        step.fresh(s)
        step.fresh(k)
        step.insert(answered(s), responder(s, g))
        step.set(ends_at(s), g)
        step.set(key_session(k), s)
        step.set(owner(k), x)
        step.insert(occupied(g), in_session(g, s), live_h2d(g, k), live_d2h(g, k), stale(g, k), knows_h2d(x, k))
        step.insert(knows_d2h(x, k), knows_launch(x, s))

    @draft.rule(ADVERSARY, "nvtrust: the signed bytes hold no session id (cuckoo attack)")
    def obtain_report(step: Step, g: Gpu, n: Session, mode: Mode) -> None:
        """Any genuine GPU the adversary can talk to signs any nonce; a nonce is sent once its session is answered.

        A GPU of its own, on another machine, it boots as it likes and back again, which is not told step by step.
        """
        step.says("The adversary obtains a report of {g}, mode {mode}, for the nonce {n}.")
        step.message("{g} -> adversary: MEASUREMENTS (nonce {n}, {mode})")
        step.given("power over it", genuine(g) & hardware.controls(g) & answered(n))
        own = elsewhere(g) & ~in_session(g, n)
        step.given("true mode", shows(g, mode) | own)
        step.insert(report(g, n, mode))

    @by_adversary("nvtrust mode flags: outside confidential mode the host reaches all memory", cost=1)
    def plant_in_open_mode(step: Step, g: Gpu) -> None:
        """Outside confidential mode, memory is the platform's."""
        step.says("The platform plants code on {g}, which is out of confidential mode.")
        step.message("adversary -> {g}: planted code")
        step.given("open mode", interferes & hardware.taps() & genuine(g) & ~elsewhere(g) & ~confidential(g))
        step.insert(planted(g))

    if not hardware.confined:
        _moves_on_whole_gpu(draft, hardware)

    @by_adversary("deck, How it works: Data Provisioning, by a corrupt holder", cost=1)
    def write_buffer(step: Step, x: Agent, g: Gpu, k: Key, v: Slot, m: Data) -> None:
        """A corrupt holder provides data too: its own, and whatever it has learned."""
        step.says("{x} writes {m} into the buffer of {g}, at {v}, under {k}.")
        step.message("{x} -> {g}: {m}, under {k}")
        step.given("access", hardware.reaches(x, g, k))
        step.given("has it", dataset(m) & (corrupt(data_owner(m)) | learned(x, m)))
        step.insert(buffer(g, m), placed(g, v, m), made_by(k, x))

    @by_adversary("deck, How it works: Data Provisioning, by a corrupt holder", cost=1)
    def erase_buffer(step: Step, x: Agent, g: Gpu, k: Key, m: Data) -> None:
        """What can be written can be overwritten."""
        step.says("{x} overwrites {m} in the buffer of {g}, under {k}.")
        step.message("{x} -> {g}: something over {m}, under {k}")
        step.given("access", hardware.reaches(x, g, k))
        step.given("there", buffer(g, m))
        step.remove(buffer(g, m), placed(g, step.each(Slot), m))
        step.insert(made_by(k, x))

    _moves_of_foreign_code(draft, hardware)
    specify_impersonation(draft)
    specify_shortcut_moves(draft, hardware)


def wipe(step: Step, gpu: Gpu) -> None:
    """Clear everything that a GPU holds: session, keys, counters and memory."""
    step.remove(occupied(gpu), in_session(gpu, step.each(Session)))
    for keys in (live_h2d, live_d2h, stale):
        step.remove(keys(gpu, step.each(Key)))
    for counter in (received, transmitted, heard):
        step.remove(counter(gpu, step.each(Key), step.each(Slot)))
    for memory in (buffer, workspace, stash):
        step.remove(memory(gpu, step.each(Data)))
    step.remove(placed(gpu, step.each(Slot), step.each(Data)))
    for fact in (holds_model, planted, context):
        step.remove(fact(gpu))
    step.set(memory_version(gpu), rubble)


def _another(gpu: Gpu, version: Version) -> Formula:
    """Whether that is another version that exists, or rubble."""
    return made(version) & (version != memory_version(gpu))


def _moves_on_whole_gpu(draft: Draft, hardware: Hardware) -> None:
    by_adversary = partial(draft.action, ADVERSARY)

    @by_adversary(WHOLE_GPU, cost=1)
    def plant(step: Step, x: Agent, g: Gpu, k: Key) -> None:
        """Whoever has the link key writes code memory."""
        step.says("{x} plants code on {g} through the link, under {k}.")
        step.message("{x} -> {g}: planted code, under {k}")
        step.given("access", hardware.reaches(x, g, k))
        step.insert(planted(g), made_by(k, x))

    @by_adversary(f"{WHOLE_GPU} (left running)", cost=1)
    def leave_context(step: Step, x: Agent, g: Gpu, k: Key) -> None:
        """A resident context outlives the key it was started under."""
        step.says("{x} leaves a kernel running on {g}, started under {k}.")
        step.message("{x} -> {g}: a kernel that keeps running, under {k}")
        step.given("access", hardware.reaches(x, g, k))
        step.insert(context(g), made_by(k, x))

    @by_adversary(f"{WHOLE_GPU} (altered model)", cost=1)
    def tamper(step: Step, x: Agent, g: Gpu, k: Key, n: Version) -> None:
        """Whoever has the link key writes model memory: an older version, or anything else."""
        step.says("{x} puts {n} in the model's place on {g} through the link, under {k}.")
        step.message("{x} -> {g}: altered model, under {k}")
        step.given("access", hardware.reaches(x, g, k))
        step.given("another", _another(g, n))
        step.given("knows where", hardware.knows_model_address(x, k))
        step.set(memory_version(g), n)
        step.insert(made_by(k, x))

    @by_adversary("Carnet (late write): why contexts are fenced", cost=1)
    def context_plants(step: Step, g: Gpu) -> None:
        """A kernel that still runs writes what it likes, whenever it likes."""
        step.says("The kernel left on {g} plants code again.")
        step.message("{g} -> {g}: the kernel left behind plants code")
        step.given("runs", context(g))
        step.insert(planted(g))


def _moves_of_foreign_code(draft: Draft, hardware: Hardware) -> None:
    by_adversary = partial(draft.action, ADVERSARY)

    @by_adversary("Carnet (planted code submits work): why the report on the code says that no context is left", cost=1)
    def code_stays(step: Step, g: Gpu) -> None:
        """Whoever runs planted code, if only for a moment, starts what outlives it: between fence and upload, too."""
        step.says("Planted code on {g} leaves a kernel running.")
        step.message("{g} -> {g}: a kernel that planted code started")
        step.given("planted", planted(g))
        step.insert(context(g))

    @by_adversary(WHOLE_GPU, cost=1)
    def code_tampers(step: Step, g: Gpu, n: Version) -> None:
        """All of device memory is within reach of whatever runs on the device."""
        step.says("Somebody else's code on {g} puts {n} in the model's place.")
        step.message("{g} -> {g}: code that is not the orchestrator's puts {n} in the model's place")
        step.given("runs", foreign(g))
        step.given("another", _another(g, n))
        step.set(memory_version(g), n)

    @by_adversary(WHOLE_GPU, cost=1)
    def code_writes(step: Step, g: Gpu, v: Slot, m: Data) -> None:
        """It leaves what it finds on the device, or what it was sent with, wherever it likes."""
        step.says("Somebody else's code on {g} leaves {m} in the workspace, and at {v} in the buffer.")
        step.message("{g} -> {g}: code that is not the orchestrator's writes {m}")
        step.given("runs", foreign(g))
        sent_with = corrupt(data_owner(m)) | exists(lambda x: learned(x, m), Agent)
        step.given("has it", dataset(m) & (sent_with | resident(g, m) | stash(g, m)))
        step.insert(buffer(g, m), placed(g, v, m), workspace(g, m))

    @by_adversary(WHOLE_GPU, cost=1)
    def code_erases(step: Step, g: Gpu, m: Data) -> None:
        """What can be written can be overwritten."""
        step.says("Somebody else's code on {g} overwrites {m} in the buffer.")
        step.message("{g} -> {g}: code that is not the orchestrator's overwrites {m}")
        step.given("runs", foreign(g) & buffer(g, m))
        step.remove(buffer(g, m), placed(g, step.each(Slot), m))

    @by_adversary(
        "Carnet (a kernel uses the copy engines): no key is needed to use an engine, and none is read (A3)", cost=1
    )
    def code_diverts(step: Step, g: Gpu, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """A copy engine decrypts for whoever submits the copy."""
        step.says("Somebody else's code has {g} decrypt {m}, which {a} sent under {k}, to where no scrub looks.")
        step.message("platform -> {g}: {m} sealed under {k}, elsewhere than to the buffer")
        step.given("runs", foreign(g) & live_h2d(g, k))
        step.given("carried", sealed(a, k, v, m) & hardware.routes(a))
        step.given("implicit IV", next_free(lambda u: received(g, k, u), v))
        step.insert(received(g, k, v), stash(g, m))

    @by_adversary("Carnet (a kernel uses the copy engines)", cost=1)
    def code_diverts_upload(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """The counter passes the upload, and code memory stays as it was."""
        step.says("Somebody else's code has {g} decrypt the upload of IV {v} under {k} to nowhere.")
        step.message("orchestrator -> {g}: code under {k}, elsewhere than to code memory")
        step.given("runs", foreign(g) & live_h2d(g, k))
        step.given("sent", uploaded(k, v))
        step.given("implicit IV", next_free(lambda u: received(g, k, u), v))
        step.insert(received(g, k, v), taken_slot(k, v))

    @by_adversary("Carnet (a kernel uses the copy engines)", cost=1)
    def code_sends(step: Step, g: Gpu, k: Key, w: Slot, m: Data) -> None:
        """A copy engine encrypts for whoever submits the copy."""
        step.says("Somebody else's code has {g} send {m} home under {k}, IV {w}.")
        step.message("{g} -> platform: {m}, under {k}, IV {w}")
        step.given("runs", foreign(g))
        step.given("has it", dataset(m) & (resident(g, m) | stash(g, m)))
        stream(step, g, k, w)
        step.insert(traffic(k, m))
