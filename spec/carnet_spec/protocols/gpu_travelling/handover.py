"""Hand-over steps: the link is granted to one holder, receives its data, and is returned or taken away.

A grant goes to the one holder whose key it is; a return comes from that holder and states how many counter values it
used, so that neither side uses one twice.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling.adversary import PLAIN, Hardware
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *

_PROVISIONING = "deck, How it works: Data Provisioning"


def specify_handover(draft: Draft, schedule: Schedule, hardware: Hardware = PLAIN) -> None:
    """Add grant, acceptance, provisioning, return and eviction."""
    rule = partial(draft.rule, ADVERSARY)
    by_holder = partial(draft.action, HOLDER, actor=honest)

    @draft.action(
        ORCHESTRATOR,
        "deck, System Architecture: manages GPU sharing with the data buffer address",
        "REQ-GRANT-01",
        "REQ-GRANT-02",
        "REQ-GRANT-03",
    )
    def grant(step: Step, a: Agent, p: Agent, v: Slot, b: Address) -> None:
        """Lend the encrypt half, the IV start and the buffer address to the one holder whose key it is."""
        step.says("The orchestrator grants the link to {a}, over the channel of {p}, counting from {v}, buffer at {b}.")
        step.message("orchestrator -> {p}: grant for {a}: h2d half, IV start {v}, buffer at {b}")
        step.require("phase", phase == Phase.GRANTING)
        step.require("addressee", a == next_holder, defence="grant-addressee")
        step.require("its channel", admitted(a, p))
        step.require("counter handed over", next_free(lambda u: consumed(link_h2d, u), v), defence="count-handover")
        step.require("counter from the start", v == first, unless="count-handover")
        step.require("the buffer's address", b == the_buffer)
        step.insert(granted(a, link_h2d, v), granted_at(a, link_h2d, b), offer(orchestrator, p, link_h2d, v))
        step.insert(addressed(orchestrator, p, link_h2d, b))
        schedule.grants(step, a)
        step.set(lent_key, link_h2d)
        step.remove(lent_last(session, step.each(Key)), name="lent before")
        step.insert(lent_last(session, link_h2d), name="lent now")
        step.remove(mux_request(step.each(Agent)), name="withdraw route")
        step.insert(mux_request(p), name="ask for route")
        step.set(phase, Phase.AWAY)

    @rule("open-gpu-kernel-modules cc_drv.h: the bundle holds raw keys")
    def keep_lent_key(step: Step, p: Agent, k: Key, v: Slot) -> None:
        """A corrupt grantee keeps the key for good and passes it on."""
        step.says("{p} keeps the lent key {k}.")
        step.given("granted", corrupt(p) & offer(orchestrator, p, k, v))
        step.insert(knows_h2d(p, k))

    @rule("open-gpu-kernel-modules cc_drv.h: the bundle holds both directions", shortcut_of="h2d-half-only")
    def keep_whole_bundle(step: Step, p: Agent, k: Key, v: Slot) -> None:
        """The driver's own bundle carries both halves."""
        step.says("{p} keeps the device-to-host half of {k} too.")
        step.given("granted", corrupt(p) & offer(orchestrator, p, k, v))
        step.insert(knows_d2h(p, k))

    @rule("open-gpu-kernel-modules cc_keystore.h: cpu_sec2_hmac_user", shortcut_of="launch-key-kept")
    def keep_launch_key(step: Step, p: Agent, k: Key, v: Slot, s: Session) -> None:
        """Whoever holds the launch key may submit work for as long as the session lives."""
        step.says("{p} is lent the launch key of {s} as well.")
        step.given("granted", corrupt(p) & offer(orchestrator, p, k, v) & (key_session(k) == s))
        step.insert(knows_launch(p, s))

    @by_holder(_PROVISIONING, "REQ-GRANT-04", "REQ-GRANT-05")
    def accept_grant(step: Step, a: Agent, p: Agent, k: Key, v: Slot, b: Address) -> None:
        """Accept a grant only on the attested channel, and only once."""
        step.says("Holder {a} accepts the grant of {k} that came from {p}, counting from {v}, buffer at {b}.")
        step.message("{p} -> {a}: grant of {k}")
        step.require("attested channel", channel(a, p))
        step.require("granted", offer(p, a, k, v))
        step.require("address granted", addressed(p, a, k, b), defence="address-in-grant")
        step.require("some address", addressed(p, a, k, b) | rumoured(b), unless="address-in-grant")
        step.require("once", forall(lambda u: ~accepted(a, p, k, u), Slot), defence="grant-once")
        step.insert(accepted_twice(a, k), when=took_grant(a, k))
        step.insert(took_grant(a, k), accepted(a, p, k, v), aims(a, k, b))
        step.remove(spent(a, k, step.each(Slot)), unless="grant-once", name="start counting again")
        step.insert(knows_h2d(a, k))

    @by_holder(_PROVISIONING, "REQ-IV-01", "REQ-DATA-01")
    def provision(step: Step, a: Agent, p: Agent, k: Key, s: Slot, v: Slot, m: Data) -> None:
        """Encrypt own data, once, under the next IV of the granted epoch."""
        step.says("Holder {a} encrypts {m} under {k} with IV {v}.")
        step.message("{a} -> platform: {m} sealed under {k}, IV {v}")
        step.require("accepted grant", accepted(a, p, k, s))
        step.require("not returned", ~finished(a, k))
        step.require("own data", dataset(m) & (data_owner(m) == a))
        step.require("not sent yet", ~supplied(a, k, m))
        step.require(
            "in order",
            forall(lambda n: implies(precedes(n, m) & (data_owner(n) == a), schedule.in_order(a, k, n)), Data),
        )
        step.require("IV unused", ~spent(a, k, v), defence="sender-iv-monotonic")
        step.require("from the start", ~before(v, s))
        step.require("next IV", forall(lambda u: implies(before(u, v) & ~before(u, s), spent(a, k, u)), Slot))
        schedule.provisions(step, a, k, v, m)
        step.insert(spent(a, k, v), supplied(a, k, m), sealed(a, k, v, m), sent_in(key_session(k), m))
        schedule.carries(step, k, m)

    @draft.action(
        GPU,
        "open-gpu-kernel-modules uvm_hopper_ce.c: the IV is never sent, the GPU uses its own next one",
        "REQ-IV-02",
        "REQ-DATA-02",
        actor=genuine,
    )
    def gpu_receive(step: Step, g: Gpu, a: Agent, k: Key, v: Slot, m: Data, b: Address) -> None:
        """Decrypt under the live key with the implicit next IV; anything else fails authentication."""
        step.says("{g} verifies {m} from {a} under {k} at its own counter {v} and stores it from {b} on.")
        step.message("platform -> gpu: {m} sealed under {k}")
        step.require("live key", live_h2d(g, k))
        step.require("verifies", sealed(a, k, v, m))
        step.given("carried", hardware.routes(a))
        step.require("implicit IV", next_free(lambda u: received(g, k, u), v), defence="gpu-implicit-iv")
        step.given("submitted by its holder", aims(a, k, b))
        step.insert(received(g, k, v))
        step.insert(buffer(g, m), when=b == the_buffer)
        step.insert(placed(g, v, m), when=b == the_buffer)
        step.set(memory_version(g), rubble, when=b != the_buffer, name="over something else")
        step.insert(replayed(k, v), when=taken_slot(k, v))
        step.insert(taken_slot(k, v), taken(k, v, m))
        step.insert(stray(k), when=issued(k) & ~_in_epoch(k))

    @by_holder(_PROVISIONING, "REQ-RETURN-01", *schedule.asked_at_return)
    def give_back(step: Step, a: Agent, p: Agent, k: Key, s: Slot, n: Slot) -> None:
        """Return with the count used, and send nothing more."""
        step.says("Holder {a} gives the GPU back and says it used {n} counter values of {k}.")
        step.message("{a} -> orchestrator: return of {k}, count {n}")
        step.require("accepted grant", accepted(a, p, k, s))
        step.require("not returned", ~finished(a, k))
        step.require("count from", ~before(n, s) & ~spent(a, k, n))
        step.require("count to", forall(lambda u: implies(before(u, n) & ~before(u, s), spent(a, k, u)), Slot))
        step.insert(finished(a, k), gave_back(a, k, n), returned(a, k, n))
        schedule.gives_back(step, a, k)

    @rule("Carnet: a corrupt holder lies in its return")
    def lie_about_count(step: Step, a: Agent, k: Key, n: Slot) -> None:
        """A corrupt holder may return whenever it likes, with any count."""
        step.says("Corrupt holder {a} says that it used {n} counter values of {k}.")
        step.given("has a key to return", corrupt(a) & knows_h2d(a, k))
        step.insert(returned(a, k, n))

    _take_back(draft)


def _in_epoch(key: Key) -> Formula:
    """Whether the key's epoch lasts; a session that the orchestrator gave up stays in the epoch granted last in it."""
    back = (Phase.BACK, Phase.FENCING_EARLY, Phase.FENCED_EARLY, Phase.ROTATING_IN)
    lent = (lent_key == key) & any_of(phase == Phase.AWAY, *(phase == each for each in back))
    given_up = (key_session(key) != session) & lent_last(key_session(key), key)
    return (key_session(key) == session) & lent | given_up


def _take_back(draft: Draft) -> None:
    by_orchestrator = partial(draft.action, ORCHESTRATOR)

    @by_orchestrator("deck, System Architecture: returning the GPU to the orchestrator", "REQ-RETURN-02", "REQ-IV-03")
    def take_back(step: Step, a: Agent, n: Slot) -> None:
        """Accept a return from the holder the GPU was lent to, and learn which counter values are gone."""
        step.says("The orchestrator takes the GPU back from {a}, count {n}.")
        step.message("orchestrator -> platform: route back")
        step.require("phase", phase == Phase.AWAY)
        step.require("holder", a == next_holder)
        step.require("returned", returned(a, lent_key, n), defence="return-authenticated")
        step.set(count, n)
        step.set(custody, Custody.RETURNED)
        step.insert(taken_back(lent_key))
        gone = step.each(Slot)
        step.insert(consumed(link_h2d, gone), when=before(gone, n), name="count handed back", defence="count-handover")
        step.set(phase, Phase.BACK)

    @by_orchestrator("Carnet (a holder that keeps the GPU)", "REQ-RETURN-03")
    def evict(step: Step, a: Agent) -> None:
        """Accept nothing more under the grant; what is in the buffer will be scrubbed untrained."""
        step.says("The lease of {a} is over: the orchestrator evicts it.")
        step.message("orchestrator -> platform: route back, the lease is over")
        step.require("phase", phase == Phase.AWAY)
        step.require("holder", a == next_holder)
        step.set(custody, Custody.EVICTED)
        step.set(phase, Phase.BACK)


# -- training ----------------------------------------------------------------------------------------------------------
# On what a holder returned and the checks let through, and then everything but the model is scrubbed.

_TRAINING = "deck, How it works: Training"


def specify_training(draft: Draft, schedule: Schedule) -> None:
    """Add training and scrub to ``draft``."""
    by_orchestrator = partial(draft.action, ORCHESTRATOR)
    by_gpu = partial(draft.action, GPU)

    @by_orchestrator(_TRAINING, "REQ-TRAIN-01", "REQ-SESSION-01")
    def send_train(step: Step, v: Slot) -> None:
        """Train only on what a holder returned, never on what an evicted one left behind."""
        step.says("The orchestrator orders training (number {v}).")
        step.message("orchestrator -> gpu: TRAIN, number {v}, in the session")
        step.require("phase", phase == Phase.VERIFIED)
        step.require("returned", custody == Custody.RETURNED)
        send(step, Order.TRAIN, v)
        step.set(phase, Phase.TRAINING)

    @by_gpu(_TRAINING, "REQ-TRAIN-02")
    def exec_train(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot, n: Version) -> None:
        """Training is the one declassifier, from data to model; all else that it leaves behind is as secret as data."""
        step.says("{g} trains on what is in the buffer, and the model becomes {n}.")
        step.message("{g} -> orchestrator: losses and logs, under {j}, IV {w}; digest of {n}, in the session")
        carry_out(step, g, k, v, Order.TRAIN)
        stream(step, g, j, w)
        derived = step.each(Data)
        step.insert(workspace(g, derived), when=buffer(g, derived) & dataset(derived))
        step.insert(traffic(j, derived), when=buffer(g, derived) & dataset(derived))
        schedule.carries(step, j, derived, when=buffer(g, derived) & dataset(derived))
        step.insert(context(g), when=planted(g), name="what was planted runs")
        _make_version(step, g, k, n)
        step.insert(done(k, Order.TRAIN))

    @by_orchestrator(_TRAINING, "REQ-TRAIN-02", "REQ-MODEL-01", "REQ-MODEL-02", "REQ-SESSION-03")
    def trained(step: Step, n: Version) -> None:
        """Believe the firmware's report; what training sent home decides nothing."""
        step.says("The orchestrator sees that training is over, and that {n} came of it.")
        step.require("phase", phase == Phase.TRAINING)
        step.require("digest", trained_to(link_h2d, n))
        step.insert(ledger(n, latest, lent_key))
        step.set(latest, n)
        step.set(phase, Phase.TRAINED)

    @by_orchestrator("deck, How it works: Epilogue", "REQ-TRAIN-03", "REQ-SESSION-01")
    def send_save(step: Step, v: Slot) -> None:
        """The model comes home when it is to be kept or published, and at no hand-over."""
        step.says("The orchestrator orders the trained model home (number {v}).")
        step.message("orchestrator -> gpu: SAVE, number {v}, in the session")
        step.require("phase", phase == Phase.TRAINED)
        send(step, Order.SAVE, v)
        step.set(phase, Phase.SAVING)

    @by_gpu("deck, How it works: Epilogue", "REQ-TRAIN-03")
    def exec_save(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """The model crosses the link under the device-to-host half, like all that the GPU sends."""
        step.says("{g} sends the model home.")
        step.message("{g} -> orchestrator: the model, under {j}, IV {w}")
        carry_out(step, g, k, v, Order.SAVE)
        stream(step, g, j, w)
        step.require("there is one", holds_model(g))
        step.insert(model_sent(j), sent_as(k, memory_version(g)), done(k, Order.SAVE))

    @by_orchestrator("deck, How it works: Epilogue", "REQ-TRAIN-03", "REQ-MODEL-03")
    def saved(step: Step) -> None:
        """Keep and publish only what the firmware says is the version last produced."""
        step.says("The orchestrator has the model home.")
        step.require("phase", phase == Phase.SAVING)
        step.require("acknowledged", acknowledged(link_h2d, Order.SAVE), unless="saved-digest")
        step.require("digest", sent_as(link_h2d, latest), defence="saved-digest")
        step.set(kept, latest)
        since = step.each(Key)
        step.insert(secured(since), when=taken_back(since) & ~lost(since))
        step.set(phase, Phase.SAVED)

    @by_orchestrator(
        "deck, System Architecture: private data scrubbing before handing the GPU on", "REQ-SCRUB-01", "REQ-SESSION-01"
    )
    def send_scrub(step: Step, v: Slot) -> None:
        """Scrub after training, and scrub untrained what an evicted holder left or what was there at first."""
        step.says("The orchestrator orders the scrub (number {v}).")
        step.message("orchestrator -> gpu: SCRUB, number {v}, in the session")
        trained = (phase == Phase.TRAINED) | (phase == Phase.SAVED)
        step.require("phase", trained | ((phase == Phase.VERIFIED) & (custody != Custody.RETURNED)))
        send(step, Order.SCRUB, v)
        step.set(phase, Phase.SCRUBBING)

    @by_gpu(
        "deck, Security Analysis: the dataset buffer is cleared; open-gpu-kernel-modules mem_scrub.c",
        "REQ-SCRUB-01",
        "REQ-SCRUB-02",
    )
    def exec_scrub(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """Clear everything but model and code: what training derived is as secret as the data."""
        step.says("{g} scrubs buffer and workspace, and its firmware acknowledges.")
        step.message("{g} -> orchestrator: scrubbed, number {v}, in the session")
        carry_out(step, g, k, v, Order.SCRUB)
        step.remove(buffer(g, step.each(Data)), defence="scrub-buffer")
        step.remove(placed(g, step.each(Slot), step.each(Data)), name="empty places", defence="scrub-buffer")
        step.remove(workspace(g, step.each(Data)), defence="scrub-workspace")
        step.insert(semaphore(Order.SCRUB), done(k, Order.SCRUB))

    @by_orchestrator(
        "DEMY (arXiv 2507.02770): the completion semaphore is in unprotected memory", "REQ-SCRUB-03", "REQ-SESSION-03"
    )
    def scrubbed(step: Step) -> None:
        """Believe the firmware's report, never a plain semaphore."""
        step.says("The orchestrator sees the scrub acknowledged.")
        step.require("phase", phase == Phase.SCRUBBING)
        step.require("acknowledged", acknowledged(link_h2d, Order.SCRUB), defence="scrub-ack")
        step.require("semaphore", semaphore(Order.SCRUB), unless="scrub-ack")
        step.set(phase, Phase.CLEAN)


def _make_version(step: Step, gpu: Gpu, key: Key, version: Version) -> None:
    """Put a version of its own in the model's place, report its digest, and record what it was made of."""
    step.given("another version", ~made(version))
    step.insert(made(version))
    parent = memory_version(gpu)
    step.set(parent, version)
    step.insert(trained_to(key, version))
    sound = ~foreign(gpu) & (parent == latest) & chained(parent)
    step.insert(chained(version), when=sound)
    attested_epoch = issued(key) & (key_session(key) == session)
    step.insert(off_chain(version), when=attested_epoch & (foreign(gpu) | (parent != latest)))
    step.insert(derives(version, parent))
    used_now, used_before = step.each(Data), step.each(Data)
    step.insert(trained_on(version, used_now), when=buffer(gpu, used_now) & dataset(used_now))
    step.insert(within(version, used_before), when=buffer(gpu, used_before) | within(parent, used_before))
