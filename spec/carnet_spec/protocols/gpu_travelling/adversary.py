"""The adversary: what a corrupt platform, corrupt holders and outsiders may do, and what they can deduce.

Recording, delaying, dropping, replaying and reordering need no action: messages are facts that stay, and no delivery
is ever forced. What is listed here is active (each move counts against a budget) or is a deduction (free). The
adversary's own sessions, keys and GPUs are as real as anybody's.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    Agent,
    Data,
    Gpu,
    Key,
    Mode,
    Order,
    Phase,
    Session,
    Slot,
    acknowledged,
    answered,
    buffer,
    channel,
    confidential,
    context,
    corrupt,
    counted,
    data_owner,
    dataset,
    elsewhere,
    ends_at,
    genuine,
    holds_model,
    in_session,
    in_slot,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_launch,
    knows_master,
    learned,
    live_d2h,
    live_h2d,
    made_by,
    mux,
    occupied,
    offer,
    ordered,
    owner,
    phase,
    planted,
    platform,
    received,
    replied,
    report,
    report_inside,
    responder,
    sealed,
    semaphore,
    stale,
    stash,
    tampered,
    the_model,
    traffic,
    transmitted,
    workspace,
)

_WHOLE_GPU = "deck, Outlook: nothing limits a holder to the dataset buffer"


def specify_adversary(draft: Draft, *, confined: bool = False) -> None:
    """Add the adversary's moves and deductions; ``confined`` hardware limits a link key to the dataset buffer."""
    _platform_moves(draft)
    _link_moves(draft, confined)
    _impersonation(draft)
    _shortcut_moves(draft)
    _pooling(draft)
    _forgery(draft)
    _reading(draft, confined)


def wipe(step: Step, gpu: Gpu) -> None:
    """Lose everything a GPU holds: session, keys, counters and memory."""
    step.remove(occupied(gpu))
    step.remove(in_session(gpu, step.each(Session)))
    for keys in (live_h2d, live_d2h, stale):
        step.remove(keys(gpu, step.each(Key)))
    for counter in (received, transmitted):
        step.remove(counter(gpu, step.each(Key), step.each(Slot)))
    for memory in (buffer, workspace, stash):
        step.remove(memory(gpu, step.each(Data)))
    for fact in (holds_model, tampered, planted, context):
        step.remove(fact(gpu))


def _holds_gpu(gpu: Gpu) -> Formula:
    return corrupt(platform) | elsewhere(gpu)


def _platform_moves(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="The adversary resets {g} into mode {mode}.",
        message="adversary -> {g}: reset ({mode})",
        source="open-gpu-kernel-modules kernel_gsp_gh100.c: reset wipes memory and keys (A4)",
        cost=1,
    )
    def reset(step: Step, g: Gpu, mode: Mode) -> None:
        """Reset a GPU and boot it in or out of confidential mode."""
        step.given("power over it", genuine(g) & _holds_gpu(g))
        wipe(step, g)
        step.remove(confidential(g), when=mode == Mode.OPEN)
        step.insert(confidential(g), when=mode == Mode.CONFIDENTIAL)

    @draft.action(
        by=ADVERSARY,
        says="The platform wires the orchestrator's slot to {g}.",
        message="adversary -> platform: slot to {g}",
        source="deck, Enabler: the MUX is under the host's control (attacks 21, 22)",
        cost=1,
    )
    def rewire(step: Step, g: Gpu) -> None:
        """Before a session any GPU can be put there; rerouting a live session only breaks it (attack 29)."""
        step.given("power over it", corrupt(platform) & ~in_slot(g) & ~elsewhere(g))
        step.given("before a session", phase == Phase.SETUP, defence="fail-stop-on-reset")
        step.remove(in_slot(step.each(Gpu)), name="unplug")
        step.insert(in_slot(g), name="plug in")

    @draft.action(
        by=ADVERSARY,
        says="{x} opens a session {s} of its own with {g}, key {k}.",
        message="{x} -> {g}: KEY_EXCHANGE ({s})",
        source="open-gpu-kernel-modules rmspdmrsakeys.h: the requester's key is public; one-way attestation",
        cost=1,
    )
    def open_own_session(step: Step, x: Agent, g: Gpu, s: Session, k: Key) -> None:
        """Anybody can play the CVM towards a genuine GPU."""
        step.given("power over it", corrupt(x) & genuine(g) & _holds_gpu(g))
        step.given("one session per GPU", ~occupied(g))
        step.fresh(s)
        step.fresh(k)
        step.insert(answered(s))
        step.insert(responder(s, g))
        step.set(ends_at(s), g)
        step.set(key_session(k), s)
        step.set(owner(k), x)
        step.insert(occupied(g))
        step.insert(in_session(g, s))
        step.insert(live_h2d(g, k))
        step.insert(live_d2h(g, k))
        step.insert(stale(g, k))
        step.insert(knows_h2d(x, k))
        step.insert(knows_d2h(x, k))
        step.insert(knows_launch(x, s))

    @draft.action(
        by=ADVERSARY,
        says="The adversary obtains a report of {g}, mode {mode}, for the nonce {n}.",
        message="{g} -> adversary: MEASUREMENTS (nonce {n}, {mode})",
        source="nvtrust: the signed bytes hold no session id (attack 22: cuckoo)",
        cost=1,
    )
    def obtain_report(step: Step, g: Gpu, n: Session, mode: Mode) -> None:
        """Any genuine GPU the adversary can talk to signs any nonce; a nonce is sent once its session is answered."""
        step.given("power over it", genuine(g) & _holds_gpu(g) & answered(n))
        step.given(
            "true mode", ((mode == Mode.CONFIDENTIAL) & confidential(g)) | ((mode == Mode.OPEN) & ~confidential(g))
        )
        step.insert(report(g, n, mode))

    @draft.action(
        by=ADVERSARY,
        says="The platform plants code on {g}, which is out of confidential mode.",
        message="adversary -> {g}: planted code",
        source="nvtrust mode flags: outside confidential mode the host reaches all memory (attack 35)",
        cost=1,
    )
    def plant_in_open_mode(step: Step, g: Gpu) -> None:
        """Outside confidential mode, memory is the platform's."""
        step.given("open mode", genuine(g) & _holds_gpu(g) & ~confidential(g))
        step.insert(planted(g))


def _access(x: Agent, gpu: Gpu, key: Key) -> Formula:
    """Whether corrupt ``x`` reaches the GPU's memory: it knows the live key and the bus leads there."""
    return corrupt(x) & knows_h2d(x, key) & live_h2d(gpu, key) & (corrupt(platform) | (mux == x))


def _link_moves(draft: Draft, confined: bool) -> None:
    if not confined:

        @draft.action(
            by=ADVERSARY,
            says="{x} plants code on {g} through the link, under {k}.",
            message="{x} -> {g}: planted code, under {k}",
            source=f"{_WHOLE_GPU} (attack 15)",
            cost=1,
        )
        def plant(step: Step, x: Agent, g: Gpu, k: Key) -> None:
            """Whoever has the link key writes code memory."""
            step.given("access", _access(x, g, k))
            step.insert(planted(g))
            step.insert(made_by(k, x))

        @draft.action(
            by=ADVERSARY,
            says="{x} leaves a kernel running on {g}, started under {k}.",
            message="{x} -> {g}: a kernel that keeps running, under {k}",
            source=f"{_WHOLE_GPU} (attack 13)",
            cost=1,
        )
        def leave_context(step: Step, x: Agent, g: Gpu, k: Key) -> None:
            """A resident context outlives the key it was started under."""
            step.given("access", _access(x, g, k))
            step.insert(context(g))
            step.insert(made_by(k, x))

        @draft.action(
            by=ADVERSARY,
            says="{x} alters the model on {g} through the link, under {k}.",
            message="{x} -> {g}: altered model, under {k}",
            source=f"{_WHOLE_GPU} (attack 19)",
            cost=1,
        )
        def tamper(step: Step, x: Agent, g: Gpu, k: Key) -> None:
            """Whoever has the link key writes model memory."""
            step.given("access", _access(x, g, k))
            step.insert(tampered(g))
            step.insert(made_by(k, x))

        @draft.action(
            by=ADVERSARY,
            says="The kernel left on {g} plants code again.",
            message="{g} -> {g}: the kernel left behind plants code",
            source="Carnet (attack 13): why contexts are fenced",
            cost=1,
        )
        def context_plants(step: Step, g: Gpu) -> None:
            """A kernel that still runs writes what it likes, whenever it likes."""
            step.given("runs", context(g))
            step.insert(planted(g))

    @draft.action(
        by=ADVERSARY,
        says="{x} writes {m} into the buffer of {g}, under {k}.",
        message="{x} -> {g}: {m}, under {k}",
        source="deck, How it works: Data Provisioning, by a corrupt holder (attack 12)",
        cost=1,
    )
    def write_buffer(step: Step, x: Agent, g: Gpu, k: Key, m: Data) -> None:
        """A corrupt holder provides data too."""
        step.given("access", _access(x, g, k))
        step.given("its own data", dataset(m) & corrupt(data_owner(m)))
        step.insert(buffer(g, m))
        step.insert(made_by(k, x))


def _impersonation(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="{p} offers {a} the key {k}, which it knows.",
        message="{p} -> {a}: grant of {k}",
        source="Carnet (attacks 26 and 27: impersonated orchestrator, relay and diversion)",
        cost=1,
    )
    def offer_known_key(step: Step, p: Agent, a: Agent, k: Key, v: Slot) -> None:
        """At the end of a channel that a holder attested, anything can be offered."""
        step.given("at the far end", corrupt(p) & ~corrupt(a) & channel(a, p))
        step.given("knows it", knows_h2d(p, k))
        step.insert(offer(p, a, k, v))

    @draft.action(
        by=ADVERSARY,
        says="{p} offers {a} a key of its own, {k}.",
        message="{p} -> {a}: grant of {k}",
        source="Carnet (attacks 26 and 27); for a genuine instance with the attacker's inputs, its training code leaks",
        cost=1,
    )
    def offer_own_key(step: Step, p: Agent, a: Agent, k: Key, v: Slot, s: Session) -> None:
        """An instance started with hostile inputs is the adversary's, whatever its quote measures."""
        step.given("at the far end", corrupt(p) & ~corrupt(a) & channel(a, p))
        step.given("some session", answered(s))
        step.fresh(k)
        step.set(owner(k), p)
        step.set(key_session(k), s)
        step.insert(knows_h2d(p, k))
        step.insert(knows_d2h(p, k))
        step.insert(offer(p, a, k, v))


def _shortcut_moves(draft: Draft) -> None:
    @draft.action(
        by=ADVERSARY,
        says="The platform omits half of a rotation on {g}: counters restart under {k}.",
        message="adversary -> {g}: half a rotation of {k}",
        source="DEMY finding 1: orders can be omitted; attack 9: half-done rotation",
        cost=1,
        shortcut_of="atomic-rotation",
    )
    def half_rotation(step: Step, g: Gpu, k: Key) -> None:
        """The counters are cleared, the key is not changed."""
        step.given("power over it", corrupt(platform) & live_h2d(g, k))
        step.remove(received(g, k, step.each(Slot)))
        step.remove(transmitted(g, k, step.each(Slot)))

    @draft.action(
        by=ADVERSARY,
        says="{x} submits work to {g} with the launch key of {s}.",
        message="{x} -> {g}: a kernel, under the launch key of {s}",
        source="open-gpu-kernel-modules cc_keystore.h: cpu_sec2_hmac_user; DEMY finding 4",
        cost=1,
        shortcut_of="launch-key-kept",
    )
    def submit_work(step: Step, x: Agent, g: Gpu, s: Session) -> None:
        """The launch key does not rotate with the link."""
        step.given("has it", corrupt(x) & knows_launch(x, s) & in_session(g, s) & (corrupt(platform) | (mux == x)))
        step.insert(context(g))

    @draft.action(
        by=ADVERSARY,
        says="A copy engine of {g} is loaded again and takes {k} back.",
        message="adversary -> {g}: engine re-load, {k} again",
        source="open-gpu-kernel-modules conf_compute_gh100.c:103 (attack 45; feasibility not established)",
        cost=1,
        shortcut_of="no-engine-reload",
    )
    def reload_engine(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """Deriving keys again from the resident export master secret brings an earlier epoch back."""
        step.given("power over it", corrupt(platform) & in_session(g, s))
        step.given("an earlier key", issued(k) & (key_session(k) == s) & stale(g, k))
        step.remove(live_h2d(g, step.each(Key)), name="forget h2d")
        step.insert(live_h2d(g, k), name="reload h2d")
        step.remove(live_d2h(g, step.each(Key)), name="forget d2h")
        step.insert(live_d2h(g, k), name="reload d2h")


def _pooling(draft: Draft) -> None:
    for relation, what in ((knows_h2d, "h2d"), (knows_d2h, "d2h")):

        def pool(step: Step, x: Agent, y: Agent, k: Key) -> None:
            """Corrupt agents share what they know."""
            step.given("collude", corrupt(x) & corrupt(y) & relation(x, k))  # noqa: B023  # traced at once
            step.insert(relation(y, k))  # noqa: B023  # traced at once

        pool.__name__ = f"pool_{what}"
        draft.rule(by=ADVERSARY, says=f"{{x}} tells {{y}} the {what} half of {{k}}.", source="deck, Collusion")(pool)

    @draft.rule(by=ADVERSARY, says="{x} tells {y} the data {m}.", source="deck, Collusion")
    def pool_data(step: Step, x: Agent, y: Agent, m: Data) -> None:
        """Corrupt agents share what they have learned."""
        step.given("collude", corrupt(x) & corrupt(y) & learned(x, m))
        step.insert(learned(y, m))


def _forgery(draft: Draft) -> None:
    @draft.rule(by=ADVERSARY, says="A fake {q} signs what it likes.", source="deck: fake GPU (attack 21)")
    def fake_reports(step: Step, q: Gpu, n: Session, mode: Mode) -> None:
        """A fake GPU has no certified key, but signs any report."""
        step.given("fake", ~genuine(q))
        step.insert(report(q, n, mode))

    @draft.rule(
        by=ADVERSARY,
        says="The far end of {s} shows the report of {q} inside it.",
        source="nvtrust: the report is not bound to the session (attack 22)",
    )
    def relay_report(step: Step, s: Session, e: Gpu, q: Gpu, n: Session, mode: Mode) -> None:
        """Whoever holds the session's secrets, a fake or the platform of a GPU in open mode, can show any report."""
        step.given("the session's far end", responder_is(s, e))
        step.given("in the adversary's hands", ~genuine(e) | (in_session(e, s) & ~confidential(e) & corrupt(platform)))
        step.given("has it", report(q, n, mode))
        step.insert(report_inside(s, q, n, mode))

    @draft.rule(
        by=ADVERSARY,
        says="{x} forges the acknowledgement {o} under {k}.",
        source="AEAD: whoever knows the key makes valid messages",
    )
    def forge_acknowledgement(step: Step, x: Agent, k: Key, o: Order) -> None:
        """An acknowledgement proves that somebody knows the d2h half, no more."""
        step.given("knows the half", corrupt(x) & knows_d2h(x, k))
        step.insert(acknowledged(k, o))

    @draft.rule(
        by=ADVERSARY,
        says="{x} forges a counter of {c} under {k}.",
        source="AEAD: whoever knows the key makes valid messages",
    )
    def forge_count(step: Step, x: Agent, k: Key, c: Key, n: Slot) -> None:
        """So with counters read through the link."""
        step.given("knows the half", corrupt(x) & knows_d2h(x, k))
        step.insert(counted(k, c, n))

    @draft.rule(
        by=ADVERSARY,
        says="The platform sets the plain semaphore {o}.",
        source="DEMY finding 5: the completion semaphore is in unprotected memory (attack 17)",
    )
    def forge_semaphore(step: Step, o: Order) -> None:
        """Plain host-visible memory says what the host wants."""
        step.given("on the bus", corrupt(platform))
        step.insert(semaphore(o))


def responder_is(s: Session, gpu: Gpu) -> Formula:
    """Whether ``gpu`` really is at the far end of a session that was opened."""
    return answered(s) & (ends_at(s) == gpu)


def _reading(draft: Draft, confined: bool) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="The platform has the master of {s}, whose far end {e} is not protected.",
        source="deck: fake GPU; nvtrust mode flags (attacks 21, 35)",
    )
    def master_leaks(step: Step, s: Session, e: Gpu) -> None:
        """A fake GPU hands its secrets over; outside confidential mode the host reads them."""
        step.given("the session's far end", responder_is(s, e))
        step.given("the adversary's", corrupt(platform) & (~genuine(e) | (in_session(e, s) & ~confidential(e))))
        step.insert(knows_master(platform, s))

    @draft.rule(
        by=ADVERSARY,
        says="The platform derives or unwraps {k} with the master of {s}.",
        source="open-gpu-kernel-modules conf_compute_keystore_gh100.c: every key hangs on the session's master",
    )
    def master_opens_keys(step: Step, s: Session, k: Key) -> None:
        """Whoever has the master has every key of the session, early or late."""
        step.given("keys of the session", key_exchange(s, k) | (issued(k) & (key_session(k) == s)))
        step.given("has the master", corrupt(platform) & knows_master(platform, s))
        step.insert(knows_h2d(platform, k))
        step.insert(knows_d2h(platform, k))

    @draft.rule(
        by=ADVERSARY,
        says="The platform decrypts {m}, which {a} sent under {k}.",
        message="platform -> platform: decrypts {m} with {k}",
        source="open-gpu-kernel-modules uvm: ciphertext lies in unprotected memory",
    )
    def decrypt(step: Step, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """The platform records every ciphertext."""
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & knows_h2d(platform, k))
        step.insert(learned(platform, m))

    @draft.rule(
        by=ADVERSARY,
        says="The platform decrypts training traffic derived from {m} under {k}.",
        source="open-gpu-kernel-modules cc_drv.h: the d2h half (attack 5)",
    )
    def decrypt_traffic(step: Step, k: Key, m: Data) -> None:
        """What training sends home is derived from data."""
        step.given("recorded", corrupt(platform) & traffic(k, m) & knows_d2h(platform, k))
        step.insert(learned(platform, m))

    @draft.rule(
        by=ADVERSARY,
        says="The platform decrypts the upload of the model under {k}.",
        source="open-gpu-kernel-modules uvm: ciphertext lies in unprotected memory",
    )
    def decrypt_upload(step: Step, k: Key, v: Slot) -> None:
        """The upload holds the model."""
        step.given("recorded", corrupt(platform) & ordered(k, v, Order.UPLOAD) & knows_h2d(platform, k))
        step.insert(learned(platform, the_model))

    @draft.rule(
        by=ADVERSARY,
        says="Two chunks under {k} share the IV {v}: the platform has both plaintexts.",
        source="RFC 5116 section 5.1.1; SP 800-38D (attack 7)",
    )
    def two_time_pad(step: Step, a: Agent, b: Agent, k: Key, v: Slot, m: Data, n: Data) -> None:
        """One key stream twice gives the difference; the spec counts both as lost."""
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & sealed(b, k, v, n) & (m != n))
        step.insert(learned(platform, m), name="learn m")
        step.insert(learned(platform, n), name="learn n")

    @draft.rule(
        by=ADVERSARY,
        says="A chunk and an order under {k} share the IV {v}: the platform has {m}.",
        source="RFC 5116 section 5.1.1; SP 800-38D (attack 7)",
    )
    def known_plaintext_pad(step: Step, a: Agent, k: Key, v: Slot, m: Data, o: Order) -> None:
        """What an order says is no secret, so its key stream is known."""
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & ordered(k, v, o))
        step.insert(learned(platform, m))

    @draft.rule(
        by=ADVERSARY,
        says="Training traffic and an acknowledgement under {k} share the IV {v}: the platform has {m}.",
        source="RFC 5116 section 5.1.1; SP 800-38D (attack 9)",
    )
    def reply_pad(step: Step, k: Key, v: Slot, o: Order, m: Data) -> None:
        """The same in the other direction."""
        step.given("recorded", corrupt(platform) & replied(k, v, Order.TRAIN) & replied(k, v, o) & (o != Order.TRAIN))
        step.given("derived from it", traffic(k, m))
        step.insert(learned(platform, m))

    def there(gpu: Gpu, data: Data) -> Formula:
        held = buffer(gpu, data) | workspace(gpu, data) | stash(gpu, data)
        return held if confined else held | (holds_model(gpu) & (data == the_model))

    @draft.rule(
        by=ADVERSARY,
        says="{x} reads {m} from {g} through the link, under {k}.",
        message="{g} -> {x}: {m}, read under {k}",
        source=f"{_WHOLE_GPU} (attacks 18 and 20)",
    )
    def read_gpu(step: Step, x: Agent, g: Gpu, k: Key, m: Data) -> None:
        """Whichever half was lent, its owner can make the GPU write out what is in memory."""
        step.given("access", _access(x, g, k))
        step.given("there", there(g, m))
        step.insert(learned(x, m))

    @draft.rule(
        by=ADVERSARY,
        says="Code planted on {g} copies {m} to where no scrub looks.",
        source=f"{_WHOLE_GPU} (attack 15)",
    )
    def hide_copy(step: Step, g: Gpu, m: Data) -> None:
        """Planted code waits for the next turn of whoever planted it."""
        step.given("runs", (planted(g) | context(g)) & (buffer(g, m) | workspace(g, m)))
        step.insert(stash(g, m))

    @draft.rule(
        by=ADVERSARY,
        says="Code planted on {g} writes {m} to plain host memory.",
        message="{g} -> platform: {m}, in the clear",
        source=f"{_WHOLE_GPU} (attack 15)",
    )
    def write_out(step: Step, g: Gpu, m: Data) -> None:
        """Code on the GPU can write unprotected host memory without any key."""
        step.given("runs", corrupt(platform) & (planted(g) | context(g)))
        step.given("there", there(g, m))
        step.insert(learned(platform, m))

    @draft.rule(
        by=ADVERSARY,
        says="The platform reads {m} from {g}, which is out of confidential mode.",
        message="{g} -> platform: {m}, read in open mode",
        source="nvtrust mode flags (attack 35)",
    )
    def read_in_open_mode(step: Step, g: Gpu, m: Data) -> None:
        """Outside confidential mode, memory is the platform's."""
        step.given("open mode", corrupt(platform) & genuine(g) & ~confidential(g))
        step.given("there", there(g, m))
        step.insert(learned(platform, m))
