"""The adversary's deductions: rules for what follows, at no cost, from its knowledge.

Corrupt agents pool what they know, whoever knows a key forges under it, and every ciphertext that crossed unprotected
memory is on record until its key is known.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling.adversary import PLAIN, WHOLE_GPU, Hardware, located
from carnet_spec.protocols.gpu_travelling.vocabulary import *

# -- link messages -----------------------------------------------------------------------------------------------------
# What reports and orders that do not travel inside the session let others make.


def specify_messages_on_the_link(draft: Draft) -> None:
    """Add the deductions from reports and orders on the link, for designs without the defence against them."""
    rule = partial(draft.rule, ADVERSARY)

    @rule("AEAD: whoever knows the key makes valid messages", shortcut_of="session-acknowledgements")
    def forge_under_link(step: Step, x: Agent, k: Key, o: Order, c: Key, n: Slot) -> None:
        """A report on the link proves that somebody can make messages under its d2h half, no more."""
        step.says("{x} forges the report {o} under {k}.")
        step.given("has the half", interferes & corrupt(x) & (knows_d2h(x, k) | forges_d2h(x, k)))
        step.insert(acknowledged(k, o), counted(k, c, n))

    @rule(
        "Carnet (a kernel uses the copy engines): no key is needed to use an engine, and none is read (A3)",
        shortcut_of="session-acknowledgements",
    )
    def code_answers(step: Step, g: Gpu, j: Key, k: Key, o: Order, c: Key, n: Slot) -> None:
        """A kernel that is still there answers in the firmware's place, under a live key that nobody corrupt knows."""
        step.says("The kernel left on {g} makes the report {o} with the copy engine of {j}, in the epoch of {k}.")
        step.message("{g} -> orchestrator: {o}, under {j}")
        step.given("runs", context(g) & live_d2h(g, j) & live_h2d(g, k))
        step.insert(acknowledged(k, o), counted(k, c, n))

    @rule("Carnet (a kernel uses the copy engines)", shortcut_of="session-acknowledgements")
    def code_reports(step: Step, g: Gpu, j: Key, k: Key, n: Version) -> None:
        """So with digests."""
        step.says("The kernel left on {g} reports the digest of {n} with the copy engine of {j}, in the epoch of {k}.")
        step.message("{g} -> orchestrator: digest of {n}, under {j}")
        step.given("runs", context(g) & live_d2h(g, j) & live_h2d(g, k))
        for told_of in (digested, trained_to, sent_as):
            step.insert(told_of(k, n))

    @rule("AEAD: whoever knows the key makes valid messages", shortcut_of="session-acknowledgements")
    def forge_digest_under_link(step: Step, x: Agent, k: Key, n: Version) -> None:
        """So with digests, by whoever has the d2h half."""
        step.says("{x} forges the digest of {n} under {k}.")
        step.given("has the half", interferes & corrupt(x) & (knows_d2h(x, k) | forges_d2h(x, k)))
        for told_of in (digested, trained_to, sent_as):
            step.insert(told_of(k, n))

    @rule("AEAD: whoever knows the key makes valid messages", shortcut_of="session-orders")
    def forge_order(step: Step, x: Agent, k: Key, o: Order) -> None:
        """An order on the link is as good as the key it came under."""
        step.says("{x} submits the order {o} under {k}.")
        step.given("has the half", interferes & corrupt(x) & (knows_h2d(x, k) | forges_h2d(x, k)))
        step.insert(submitted(k, o))

    @rule(
        "Carnet (a kernel uses what it can reach): work is submitted from device memory too",
        shortcut_of="session-orders",
    )
    def code_orders(step: Step, g: Gpu, k: Key, o: Order) -> None:
        """Whatever the link would carry, a kernel on the GPU can submit."""
        step.says("The kernel left on {g} submits the order {o} in the epoch of {k}.")
        step.message("{g} -> {g}: {o}, submitted by the kernel left behind")
        step.given("runs", context(g) & live_h2d(g, k))
        step.insert(submitted(k, o))


# -- deductions --------------------------------------------------------------------------------------------------------


def specify_deductions(draft: Draft, hardware: Hardware = PLAIN, *, inner_key: bool = False) -> None:
    """Add the adversary's deductions on that hardware; with an ``inner_key`` the link key alone opens no chunk."""
    rule = partial(draft.rule, ADVERSARY)
    for relation, what in ((knows_h2d, "h2d"), (knows_d2h, "d2h")):

        def pool(step: Step, x: Agent, y: Agent, k: Key) -> None:
            """Corrupt agents share what they know."""
            step.given("collude", corrupt(x) & corrupt(y) & relation(x, k))  # noqa: B023  # traced at once
            step.insert(relation(y, k))  # noqa: B023  # traced at once

        pool.__name__ = f"pool_{what}"
        draft.rule(by=ADVERSARY, says=f"{{x}} tells {{y}} the {what} half of {{k}}.", source="deck, Collusion")(pool)

    @rule("deck, Collusion")
    def pool_data(step: Step, x: Agent, y: Agent, m: Data) -> None:
        """Corrupt agents share what they have learned."""
        step.says("{x} tells {y} the data {m}.")
        step.given("collude", corrupt(x) & corrupt(y) & learned(x, m))
        step.insert(learned(y, m))

    @rule("deck, Security Analysis: fake or malicious GPU")
    def fake_reports(step: Step, q: Gpu, n: Session, mode: Mode) -> None:
        """A fake GPU has no certified key but signs any report; whoever has a device key signs any of its GPU's."""
        step.says("A report of {q}, which is a fake or whose device key leaked, says what the adversary likes.")
        step.given("fake", ~genuine(q) | leaked(q))
        step.insert(report(q, n, mode))

    @rule("nvtrust: the report is not bound to the session (cuckoo attack)")
    def relay_report(step: Step, s: Session, e: Gpu, q: Gpu, n: Session, mode: Mode) -> None:
        """Whoever holds the session's secrets, a fake or the platform of a GPU in open mode, can show any report."""
        step.says("The far end of {s} shows the report of {q} inside it.")
        step.given("the session's far end", responder_is(s, e))
        step.given("in the adversary's hands", ~genuine(e) | (in_session(e, s) & ~confidential(e) & hardware.taps()))
        step.given("has it", report(q, n, mode))
        step.insert(report_inside(s, q, n, mode))

    @rule("AEAD: whoever knows the key makes valid messages")
    def forge_acknowledgement(step: Step, x: Agent, s: Session, k: Key, o: Order) -> None:
        """What comes inside a session proves that somebody has its secrets, no more."""
        step.says("{x} forges the report {o} on the epoch of {k}, inside {s}.")
        step.given("has the secrets", interferes & corrupt(x) & knows_master(x, s))
        step.given("key of the session", key_of(s, k))
        step.insert(acknowledged(k, o))

    @rule("AEAD: whoever knows the key makes valid messages")
    def forge_count(step: Step, x: Agent, s: Session, k: Key, c: Key, n: Slot) -> None:
        """So with counters reported inside the session."""
        step.says("{x} forges a counter of {c} in the epoch of {k}, inside {s}.")
        step.given("has the secrets", interferes & corrupt(x) & knows_master(x, s))
        step.given("key of the session", key_of(s, k))
        step.insert(counted(k, c, n))

    @rule("AEAD: whoever knows the key makes valid messages")
    def forge_digest(step: Step, x: Agent, s: Session, k: Key, n: Version) -> None:
        """So with digests."""
        step.says("{x} forges the digest of {n} in the epoch of {k}, inside {s}.")
        step.given("has the secrets", interferes & corrupt(x) & knows_master(x, s))
        step.given("key of the session", key_of(s, k))
        for told_of in (digested, trained_to, sent_as):
            step.insert(told_of(k, n))

    @rule("DEMY (arXiv 2507.02770): the completion semaphore is in unprotected memory")
    def forge_semaphore(step: Step, o: Order) -> None:
        """Plain host-visible memory says what the host wants."""
        step.says("The platform sets the plain semaphore {o}.")
        step.given("on the bus", interferes & corrupt(platform))
        step.insert(semaphore(o))

    specify_messages_on_the_link(draft)

    @rule("deck, Security Analysis: fake or malicious GPU; nvtrust mode flags (open mode)")
    def master_leaks(step: Step, s: Session, e: Gpu) -> None:
        """A fake GPU hands its secrets over; outside confidential mode the host reads them."""
        step.says("The platform has the master of {s}, whose far end {e} is not protected.")
        step.given("the session's far end", responder_is(s, e))
        step.given("the adversary's", corrupt(platform) & (~genuine(e) | (in_session(e, s) & ~confidential(e))))
        step.insert(knows_master(platform, s))

    @rule("open-gpu-kernel-modules conf_compute_keystore_gh100.c: every key hangs on the session's master")
    def master_opens_keys(step: Step, s: Session, k: Key) -> None:
        """Whoever has the master has every key of the session, early or late."""
        step.says("The platform derives or unwraps {k} with the master of {s}.")
        step.given("keys of the session", key_of(s, k))
        step.given("has the master", corrupt(platform) & knows_master(platform, s))
        step.insert(knows_h2d(platform, k), knows_d2h(platform, k))

    if not inner_key:
        _opening_chunks(draft)
    _opening_pads(draft)
    _opening_the_rest(draft)

    @rule(f"{WHOLE_GPU} (residue)")
    def read_gpu(step: Step, x: Agent, g: Gpu, k: Key, m: Data) -> None:
        """Whichever half was lent, its owner can make the GPU write out what is in memory."""
        step.says("{x} reads {m} from {g} through the link, under {k}.")
        step.message("{g} -> {x}: {m}, read under {k}")
        step.given("access", hardware.reaches(x, g, k))
        step.given("there", buffer(g, m) if hardware.confined else _there(g, m))
        step.insert(learned(x, m))

    @rule(WHOLE_GPU)
    def hide_copy(step: Step, g: Gpu, m: Data) -> None:
        """Planted code waits for the next turn of whoever planted it."""
        step.says("Code planted on {g} copies {m} to where no scrub looks.")
        step.given("runs", foreign(g) & (buffer(g, m) | workspace(g, m)))
        step.insert(stash(g, m))

    @rule(WHOLE_GPU)
    def write_out(step: Step, g: Gpu, m: Data) -> None:
        """Code on the GPU can write unprotected host memory without any key."""
        step.says("Code planted on {g} writes {m} to plain host memory.")
        step.message("{g} -> platform: {m}, in the clear")
        step.given("runs", corrupt(platform) & foreign(g))
        step.given("there", _there(g, m))
        step.insert(learned(platform, m))

    @rule("nvtrust mode flags (open mode)")
    def read_in_open_mode(step: Step, g: Gpu, m: Data) -> None:
        """Outside confidential mode, memory is the platform's."""
        step.says("The platform reads {m} from {g}, which is out of confidential mode.")
        step.message("{g} -> platform: {m}, read in open mode")
        step.given("open mode", corrupt(platform) & genuine(g) & ~confidential(g))
        step.given("there", _there(g, m))
        step.insert(learned(platform, m))


def responder_is(s: Session, gpu: Gpu) -> Formula:
    """Whether ``gpu`` is the actual far end of a session that was opened."""
    return answered(s) & (ends_at(s) == gpu)


def key_of(s: Session, key: Key) -> Formula:
    """Whether the key belongs to the orchestrator's session ``s``."""
    return key_exchange(s, key) | (issued(key) & (key_session(key) == s))


def _opening_chunks(draft: Draft) -> None:
    @draft.rule(ADVERSARY, "open-gpu-kernel-modules uvm: ciphertext lies in unprotected memory")
    def decrypt(step: Step, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """The platform records every ciphertext."""
        step.says("The platform decrypts {m}, which {a} sent under {k}.")
        step.message("platform -> platform: decrypts {m} with {k}")
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & knows_h2d(platform, k))
        step.insert(learned(platform, m))


def _opening_pads(draft: Draft) -> None:
    rule = partial(draft.rule, ADVERSARY)

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8 (two writers)")
    def two_time_pad(step: Step, a: Agent, b: Agent, k: Key, v: Slot, m: Data, n: Data) -> None:
        """One key stream twice gives the difference, and the authentication key: the spec counts all as lost."""
        step.says("Two chunks under {k} share the IV {v}: the platform has both plaintexts.")
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & sealed(b, k, v, n) & (m != n))
        step.insert(learned(platform, m), name="learn m")
        step.insert(learned(platform, n), name="learn n")
        step.insert(forges_h2d(platform, k))

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8 (two writers); Joux, Authentication Failures in NIST GCM")
    def known_plaintext_pad(step: Step, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """The code that is uploaded is no secret, so its key stream is known, and then the authentication key."""
        step.says("A chunk and an upload under {k} share the IV {v}: the platform has {m}, and forges under {k}.")
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & uploaded(k, v))
        step.insert(learned(platform, m), forges_h2d(platform, k))

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8 (two writers)")
    def model_pad(step: Step, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """So with the model, if that was in the upload."""
        step.says("A chunk and the upload of the model under {k} share the IV {v}: the platform has the model.")
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & model_uploaded(k, v))
        step.insert(learned(platform, the_model))

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8; Joux, Authentication Failures in NIST GCM")
    def upload_pad(step: Step, k: Key, v: Slot) -> None:
        """Two messages with one IV give the authentication key away, whatever they say."""
        step.says("Two uploads under {k} share the IV {v}: the platform forges under {k}.")
        step.given("recorded", corrupt(platform) & sealed_again(k, v))
        step.insert(forges_h2d(platform, k))

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8")
    def upload_opened(step: Step, k: Key, v: Slot) -> None:
        """The other one is the code, which is no secret."""
        step.says("Two uploads under {k} share the IV {v}, one with the model: the platform has it.")
        step.given("recorded", corrupt(platform) & sealed_again(k, v) & model_uploaded(k, v))
        step.insert(learned(platform, the_model))


def _opening_the_rest(draft: Draft) -> None:
    rule = partial(draft.rule, ADVERSARY)

    @rule("open-gpu-kernel-modules cc_drv.h: the d2h half")
    def decrypt_traffic(step: Step, k: Key, m: Data) -> None:
        """What training sends home is derived from data."""
        step.says("The platform decrypts training traffic derived from {m} under {k}.")
        step.given("recorded", corrupt(platform) & traffic(k, m) & knows_d2h(platform, k))
        step.insert(learned(platform, m))

    @rule("open-gpu-kernel-modules uvm: ciphertext lies in unprotected memory")
    def decrypt_upload(step: Step, k: Key, v: Slot) -> None:
        """The first upload of a session holds the model."""
        step.says("The platform decrypts the upload of the model under {k}.")
        step.given("recorded", corrupt(platform) & model_uploaded(k, v) & knows_h2d(platform, k))
        step.insert(learned(platform, the_model))

    @rule("open-gpu-kernel-modules cc_drv.h: the d2h half")
    def decrypt_model(step: Step, k: Key) -> None:
        """What the GPU sent home is on record until its key is known."""
        step.says("The platform decrypts the model that went home under {k}.")
        step.given("recorded", corrupt(platform) & model_sent(k) & knows_d2h(platform, k))
        step.insert(learned(platform, the_model))

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8 (half-done rotation)")
    def reply_pad(step: Step, k: Key, v: Slot) -> None:
        """The same in the other direction: the authentication key is lost."""
        step.says("Two messages home under {k} share the IV {v}: the platform forges under {k}.")
        step.given("recorded", corrupt(platform) & repeated(k, v))
        step.insert(forges_d2h(platform, k))

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8 (half-done rotation)")
    def reply_opened(step: Step, k: Key, m: Data) -> None:
        """One key stream twice gives the difference; the spec counts all that went home as lost."""
        step.says("Two messages home under {k} share an IV: the platform has {m}, which one of them derives from.")
        step.given("recorded", corrupt(platform) & forges_d2h(platform, k) & traffic(k, m))
        step.insert(learned(platform, m))

    @rule("RFC 5116 section 5.1.1; SP 800-38D section 8 (half-done rotation)")
    def model_opened(step: Step, k: Key) -> None:
        """So with the model."""
        step.says("Two messages home under {k} share an IV: the platform has the model, which went home under it.")
        step.given("recorded", corrupt(platform) & forges_d2h(platform, k) & model_sent(k))
        step.insert(learned(platform, the_model))


def _there(gpu: Gpu, data: Data) -> Formula:
    """Whether ``data`` is where whoever reaches all of the GPU's memory finds it."""
    held = buffer(gpu, data) | workspace(gpu, data) | stash(gpu, data)
    return held | (holds_model(gpu) & (data == the_model))


# -- hiding ------------------------------------------------------------------------------------------------------------
# The model lies where only orchestrator and firmware know, drawn anew in each session.
#
# Who wants to put a certain version in the model's place has to know the place. There are three ways around it. Code on
# the GPU sees the addresses that it computes with, and tells whoever it works for. A holder that can have all of memory
# written out sees where the weights are, since nothing else there looks like them. And nobody needs to know a place
# that is only to be spoilt: the engine writes where it is told, so a writer overwrites everything beside its own
# buffer.


def specify_hiding(draft: Draft, hardware: Hardware) -> None:
    """Add the deductions about the hidden model address, and those that do not need it."""
    rule = partial(draft.rule, ADVERSARY)
    by_adversary = partial(draft.action, ADVERSARY)

    @rule(f"{WHOLE_GPU}; Carnet (a hidden address)")
    def code_locates(step: Step, g: Gpu, s: Session) -> None:
        """Code computes with addresses, and writes what it finds to plain host memory."""
        step.says("Code on {g} tells the platform where the model lies in {s}.")
        step.message("{g} -> platform: the model's address")
        step.given("runs", corrupt(platform) & foreign(g) & holds_model(g) & in_session(g, s))
        step.insert(located(platform, s))

    @by_adversary(f"{WHOLE_GPU}; Carnet (a hidden address)", cost=1)
    def sweep(step: Step, x: Agent, g: Gpu, k: Key) -> None:
        """Nothing else in memory looks like the weights."""
        step.says("{x} has all memory of {g} written out under {k}, and sees where the model lies.")
        step.message("{g} -> {x}: all of memory, read under {k}")
        step.given("access", hardware.reaches(x, g, k) & holds_model(g))
        step.insert(located(x, key_session(k)), made_by(k, x))

    @rule("deck, Collusion")
    def pool_address(step: Step, x: Agent, y: Agent, s: Session) -> None:
        """Corrupt agents share what they know."""
        step.says("{x} tells {y} where the model lies in {s}.")
        step.given("collude", corrupt(x) & corrupt(y) & located(x, s))
        step.insert(located(y, s))

    @by_adversary(f"{WHOLE_GPU}; Carnet (a hidden address)", cost=1)
    def overwrite(step: Step, x: Agent, g: Gpu, k: Key) -> None:
        """Rubble needs no address."""
        step.says("{x} overwrites all memory of {g} beside its buffer, wherever the model lies, under {k}.")
        step.message("{x} -> {g}: noise over everything, under {k}")
        step.given("access", hardware.reaches(x, g, k))
        step.set(memory_version(g), rubble)
        step.insert(made_by(k, x))


#: What is claimed of the model: with a corrupt holder it falls, and without one nothing is proved of it here.
GIVEN_UP = ("trains-verified", "model-integrity", "provenance")


def give_up_the_model(draft: Draft) -> None:
    """Withdraw the claims and lemmas that a corrupt holder violates, since it overwrites what it cannot find."""
    for name in GIVEN_UP:
        draft.expect(name, under=(), fails_under=("holder", "collusion", "past-keys"))
    draft.expect("participation", under=(), fails_under=("holder", "collusion"))
    draft.withdraw("latest_is_in_memory", "what_training_made", "secured_is_kept")


# -- switch ------------------------------------------------------------------------------------------------------------
# A PCIe switch in the place of the MUX: every host on it reaches the GPU at any time, whatever was asked for.
#
# Who controls the switch is the platform, which under *hypervisor* and *collusion* routes, records and resets anyway.
# What is new is that the hosts of outsiders and of corrupt holders do so too, although the platform is honest. Routing
# is exclusive no longer; keys alone say whose the GPU is.

_SWITCH = "deck, Outlook: hardware PCIe switches; Carnet (routing that is not exclusive)"


def specify_switch(draft: Draft) -> None:
    """Add what a host on the switch sees, beyond what it reaches."""
    rule = partial(draft.rule, ADVERSARY)

    @rule(_SWITCH)
    def tap_chunk(step: Step, x: Agent, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """Whatever crosses the switch is on record at every host."""
        step.says("{x}, on the switch, decrypts {m}, which {a} sent under {k}.")
        step.given("recorded", corrupt(x) & sealed(a, k, v, m) & knows_h2d(x, k))
        step.insert(learned(x, m))

    @rule(_SWITCH)
    def tap_traffic(step: Step, x: Agent, k: Key, m: Data) -> None:
        """So in the other direction."""
        step.says("{x}, on the switch, decrypts traffic derived from {m} under {k}.")
        step.given("recorded", corrupt(x) & traffic(k, m) & (knows_d2h(x, k) | forges_d2h(x, k)))
        step.insert(learned(x, m))

    @rule(_SWITCH)
    def tap_upload(step: Step, x: Agent, k: Key, v: Slot) -> None:
        """So with the model on its way to the GPU."""
        step.says("{x}, on the switch, decrypts the model that went up under {k}.")
        step.given("recorded", corrupt(x) & model_uploaded(k, v) & knows_h2d(x, k))
        step.insert(learned(x, the_model))

    @rule(_SWITCH)
    def tap_model(step: Step, x: Agent, k: Key) -> None:
        """And on its way home."""
        step.says("{x}, on the switch, decrypts the model that went home under {k}.")
        step.given("recorded", corrupt(x) & model_sent(k) & (knows_d2h(x, k) | forges_d2h(x, k)))
        step.insert(learned(x, the_model))

    @rule(_SWITCH)
    def tap_pad(step: Step, x: Agent, a: Agent, b: Agent, k: Key, v: Slot, m: Data, n: Data) -> None:
        """An IV used twice is lost to whoever sees both messages."""
        step.says("Two chunks under {k} share IV {v}: {x}, on the switch, has both.")
        step.given("recorded", corrupt(x) & sealed(a, k, v, m) & sealed(b, k, v, n) & (m != n))
        step.insert(learned(x, m), name="learn m")
        step.insert(learned(x, n), name="learn n")
        step.insert(forges_h2d(x, k))

    @rule(_SWITCH)
    def tap_reply_pad(step: Step, x: Agent, k: Key, v: Slot) -> None:
        """So in the other direction."""
        step.says("Messages home under {k} share an IV: {x}, on the switch, forges.")
        step.given("recorded", corrupt(x) & repeated(k, v))
        step.insert(forges_d2h(x, k))

    @rule(_SWITCH)
    def tap_master(step: Step, x: Agent, s: Session, e: Gpu) -> None:
        """A fake GPU, or one out of confidential mode, has no secrets from any host."""
        step.says("{x}, on the switch, has the master of {s}, whose far end is {e}.")
        step.given("the session's far end", answered(s) & (ends_at(s) == e))
        step.given("not protected", corrupt(x) & (~genuine(e) | (in_session(e, s) & ~confidential(e))))
        step.insert(knows_master(x, s))

    @rule(_SWITCH)
    def tap_keys(step: Step, x: Agent, s: Session, k: Key) -> None:
        """And with the master every key of the session."""
        step.says("{x} derives {k} with the master of {s}.")
        step.given("has the master", corrupt(x) & knows_master(x, s) & key_of(s, k))
        step.insert(knows_h2d(x, k), knows_d2h(x, k))

    @rule(_SWITCH)
    def tap_memory(step: Step, x: Agent, g: Gpu, m: Data) -> None:
        """Foreign code writes to any host, and outside confidential mode any host reads."""
        step.says("{x}, on the switch, is sent {m} by code on {g}, or reads it there.")
        there = resident(g, m) | stash(g, m) | (holds_model(g) & (m == the_model))
        step.given("open", corrupt(x) & genuine(g) & (foreign(g) | ~confidential(g)))
        step.given("there", there)
        step.insert(learned(x, m))
