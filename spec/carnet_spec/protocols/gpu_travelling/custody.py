"""Custody: how the GPU travels out under a key of the holder's, takes in data, and comes back under a new key.

The order is the defence. The link gets a key of its own before the GPU leaves; at return it is rotated *first*, in
both directions, so that whatever the last holder still sends or forges is dead; only then resident contexts are
fenced and memory is checked (the deck rotates "each time before travelling" and says nothing of the return).
"""

from __future__ import annotations

from collections.abc import Callable

from carnet_spec.language import Draft, Formula, Step, forall, implies
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    GPU,
    HOLDER,
    ORCHESTRATOR,
    Agent,
    Custody,
    Data,
    Gpu,
    Key,
    Order,
    Phase,
    Session,
    Slot,
    accepted,
    accepted_twice,
    acknowledged,
    admitted,
    before,
    buffer,
    channel,
    consumed,
    corrupt,
    count,
    custody,
    data_owner,
    dataset,
    done,
    enrolled,
    finished,
    first,
    gave_back,
    genuine,
    granted,
    in_session,
    issued,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_launch,
    lent_key,
    link_d2h,
    link_h2d,
    live_d2h,
    live_h2d,
    mux,
    mux_request,
    next_holder,
    offer,
    older,
    orchestrator,
    owner,
    pending,
    phase,
    platform,
    precedes,
    received,
    replayed,
    replied,
    returned,
    rotate_in_order,
    rotate_out_order,
    sealed,
    session,
    spent,
    stale,
    stray,
    supplied,
    taken,
    taken_slot,
    tenant,
    tenanted,
    took_grant,
    transmitted,
    workspace,
)

_EPILOGUE = "deck, How it works: Epilogue and Next one; Security Analysis, Collusion"
_PROVISIONING = "deck, How it works: Data Provisioning"


def next_free(used_at: Callable[[Slot], Formula], slot: Slot) -> Formula:
    """Whether ``slot`` is the first counter value not used yet."""
    return ~used_at(slot) & forall(lambda u: implies(before(u, slot), used_at(u)), Slot)


def specify_custody(draft: Draft, schedule: Schedule) -> None:
    """Add rotation out, grant, provisioning, return, eviction and rotation in to ``draft``."""
    _rotate_out(draft, schedule)
    _grant(draft)
    _provision(draft, schedule)
    _take_back(draft)
    _rotate_in(draft, schedule)


def _issue(step: Step, key: Key, schedule: Schedule, who: Agent) -> None:
    """Draw a key for the agent's epoch, in the orchestrator's session."""
    step.fresh(key, defence="fresh-key")
    step.set(owner(key), who)
    step.set(key_session(key), session)
    step.insert(issued(key))
    others = step.each(Key)
    step.insert(older(others, key), when=issued(others))
    step.insert(knows_h2d(orchestrator, key), name="orchestrator h2d")
    step.insert(knows_d2h(orchestrator, key), name="orchestrator d2h")
    step.set(pending, key)
    schedule.issue(step, key)


def _install(step: Step, gpu: Gpu, key: Key, schedule: Schedule, *, h2d: str | None, d2h: str | None) -> None:
    """Make the GPU take a key: the old one dies, counters start again, the acknowledgement goes out under the new."""
    step.remove(live_h2d(gpu, step.each(Key)), name="retire h2d", defence=schedule.retirement or h2d)
    step.insert(live_h2d(gpu, key), name="install h2d", defence=h2d)
    step.remove(live_d2h(gpu, step.each(Key)), name="retire d2h", defence=d2h)
    step.insert(live_d2h(gpu, key), name="install d2h", defence=d2h)
    step.insert(stale(gpu, key), name="accept once", defence="wrapped-key-once")
    passed = step.each(Key)
    step.insert(stale(gpu, passed), when=older(passed, key), name="epochs increase", defence="epochs-increase")
    step.remove(received(gpu, key, step.each(Slot)), name="restart receive counter")
    step.remove(transmitted(gpu, key, step.each(Slot)), name="restart send counter")
    step.insert(transmitted(gpu, key, first), name="count the acknowledgement")
    step.insert(replied(key, first, Order.ROTATE))
    step.insert(acknowledged(key, Order.ROTATE))
    step.insert(done(key, Order.ROTATE))


def _rotate_out(draft: Draft, schedule: Schedule) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders {k} for holder {a}'s epoch.",
        message="orchestrator -> gpu: rotate to {k}, in the session",
        source=_EPILOGUE,
        enforces=("REQ-KEY-01", "REQ-KEY-02", "REQ-KEY-03"),
    )
    def rotate_out(step: Step, a: Agent, k: Key) -> None:
        """Give the link a key of its own before the GPU leaves."""
        step.require("phase", phase == Phase.CLEAN)
        step.require("enrolled", enrolled(a))
        if schedule.one_tenant:
            step.require("one holder per session", ~tenanted(session))
        _issue(step, k, schedule, a)
        step.set(tenant(session), a)
        step.insert(tenanted(session))
        step.insert(rotate_out_order(session, k))
        step.set(next_holder, a)
        step.set(phase, Phase.ROTATING_OUT)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator keeps the link key for holder {a}'s epoch.",
        source=_EPILOGUE,
        shortcut_of="rotation-out",
    )
    def keep_key_out(step: Step, a: Agent) -> None:
        """What remains when nothing rotates before travelling."""
        step.require("phase", phase == Phase.CLEAN)
        step.require("enrolled", enrolled(a))
        step.set(next_holder, a)
        step.set(phase, Phase.GRANTING)

    @draft.action(
        by=GPU,
        says="{g} takes {k} and acknowledges under it.",
        message="gpu -> orchestrator: rotated, under {k}",
        source="open-gpu-kernel-modules conf_compute_key_rotation.c; REQ-KEY-02",
        enforces=("REQ-KEY-02", "REQ-KEY-04"),
    )
    def gpu_rotate_out(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """Accept each key once, epochs increasing, in the session only."""
        step.actor(g, genuine(g))
        step.require("own session", in_session(g, s))
        step.require("ordered", rotate_out_order(s, k))
        step.require("not accepted before", ~stale(g, k))
        schedule.gpu_rotates(step, g, k)
        _install(step, g, k, schedule, h2d=None, d2h=None)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the rotation acknowledged under the new key.",
        source="Carnet (attack 16: omitted or repeated orders; 9: half-done rotation)",
        enforces="REQ-KEY-05",
    )
    def rotated_out(step: Step) -> None:
        """Only the acknowledgement under the new key says that the old one is dead."""
        step.require("phase", phase == Phase.ROTATING_OUT)
        step.require("acknowledged", acknowledged(pending, Order.ROTATE), defence="rotation-ack")
        step.set(link_h2d, pending)
        step.set(link_d2h, pending)
        step.set(phase, Phase.GRANTING)


def _grant(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator grants the link to {a}, over the channel of {p}, counting from {v}.",
        message="orchestrator -> {p}: grant for {a}: h2d half, IV start {v}, buffer address",
        source="deck, System Architecture: manages GPU sharing with the data buffer address",
        enforces=("REQ-GRANT-01", "REQ-GRANT-02", "REQ-GRANT-03"),
    )
    def grant(step: Step, a: Agent, p: Agent, v: Slot) -> None:
        """Lend the encrypt half, the IV start and the buffer address to the one holder whose key it is."""
        step.require("phase", phase == Phase.GRANTING)
        step.require("addressee", a == next_holder, defence="grant-addressee")
        step.require("its channel", admitted(a, p))
        step.require("counter handed over", next_free(lambda u: consumed(link_h2d, u), v), defence="count-handover")
        step.require("counter from the start", v == first, unless="count-handover")
        step.insert(granted(a, link_h2d, v))
        step.insert(offer(orchestrator, p, link_h2d, v))
        step.set(lent_key, link_h2d)
        step.remove(mux_request(step.each(Agent)), name="withdraw route")
        step.insert(mux_request(p), name="ask for route")
        step.set(phase, Phase.AWAY)

    @draft.rule(
        by=ADVERSARY,
        says="{p} keeps the lent key {k}.",
        source="open-gpu-kernel-modules cc_drv.h: the bundle holds raw keys",
    )
    def keep_lent_key(step: Step, p: Agent, k: Key, v: Slot) -> None:
        """A corrupt grantee keeps the key for good and passes it on."""
        step.given("granted", corrupt(p) & offer(orchestrator, p, k, v))
        step.insert(knows_h2d(p, k))

    @draft.rule(
        by=ADVERSARY,
        says="{p} keeps the device-to-host half of {k} too.",
        source="open-gpu-kernel-modules cc_drv.h: the bundle holds both directions (attack 5)",
        shortcut_of="h2d-half-only",
    )
    def keep_whole_bundle(step: Step, p: Agent, k: Key, v: Slot) -> None:
        """The driver's own bundle carries both halves."""
        step.given("granted", corrupt(p) & offer(orchestrator, p, k, v))
        step.insert(knows_d2h(p, k))

    @draft.rule(
        by=ADVERSARY,
        says="{p} is lent the launch key of {s} as well.",
        source="open-gpu-kernel-modules cc_keystore.h: cpu_sec2_hmac_user",
        shortcut_of="launch-key-kept",
    )
    def keep_launch_key(step: Step, p: Agent, k: Key, v: Slot, s: Session) -> None:
        """Whoever holds the launch key may submit work for as long as the session lives."""
        step.given("granted", corrupt(p) & offer(orchestrator, p, k, v) & (key_session(k) == s))
        step.insert(knows_launch(p, s))

    @draft.action(
        by=HOLDER,
        says="Holder {a} accepts the grant of {k} that came from {p}, counting from {v}.",
        message="{p} -> {a}: grant of {k}",
        source=_PROVISIONING,
        enforces=("REQ-GRANT-04", "REQ-GRANT-05"),
    )
    def accept_grant(step: Step, a: Agent, p: Agent, k: Key, v: Slot) -> None:
        """Accept a grant only on the attested channel, and only once."""
        step.actor(a, ~corrupt(a))
        step.require("attested channel", channel(a, p))
        step.require("granted", offer(p, a, k, v))
        step.require("once", forall(lambda u: ~accepted(a, p, k, u), Slot), defence="grant-once")
        step.insert(accepted_twice(a, k), when=took_grant(a, k))
        step.insert(took_grant(a, k))
        step.insert(accepted(a, p, k, v))
        step.remove(spent(a, k, step.each(Slot)), unless="grant-once", name="start counting again")
        step.insert(knows_h2d(a, k))


def _provision(draft: Draft, schedule: Schedule) -> None:
    @draft.action(
        by=HOLDER,
        says="Holder {a} encrypts {m} under {k} with IV {v}.",
        message="{a} -> platform: {m} sealed under {k}, IV {v}",
        source=_PROVISIONING,
        enforces=("REQ-IV-01", "REQ-DATA-01"),
    )
    def provision(step: Step, a: Agent, p: Agent, k: Key, s: Slot, v: Slot, m: Data) -> None:
        """Encrypt own data, once, under the next IV of the granted epoch."""
        step.actor(a, ~corrupt(a))
        step.require("accepted grant", accepted(a, p, k, s))
        step.require("not returned", ~finished(a, k))
        step.require("own data", dataset(m) & (data_owner(m) == a))
        step.require("not sent yet", ~supplied(a, k, m))
        step.require(
            "in order", forall(lambda n: implies(precedes(n, m) & (data_owner(n) == a), supplied(a, k, n)), Data)
        )
        step.require("IV unused", ~spent(a, k, v), defence="sender-iv-monotonic")
        step.require("from the start", ~before(v, s))
        step.require("next IV", forall(lambda u: implies(before(u, v) & ~before(u, s), spent(a, k, u)), Slot))
        step.insert(spent(a, k, v))
        step.insert(supplied(a, k, m))
        step.insert(sealed(a, k, v, m))
        schedule.carries(step, k, m)

    @draft.action(
        by=GPU,
        says="{g} verifies {m} from {a} under {k} at its own counter {v} and stores it in the buffer.",
        message="platform -> gpu: {m} sealed under {k}",
        source="open-gpu-kernel-modules uvm_hopper_ce.c: the IV is never sent, the GPU uses its own next one",
        enforces=("REQ-IV-02", "REQ-DATA-02"),
    )
    def gpu_receive(step: Step, g: Gpu, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """Decrypt under the live key with the implicit next IV; anything else fails authentication."""
        step.actor(g, genuine(g))
        step.require("live key", live_h2d(g, k))
        step.require("verifies", sealed(a, k, v, m))
        step.given("carried", corrupt(platform) | (mux == a))
        step.require("implicit IV", next_free(lambda u: received(g, k, u), v), defence="gpu-implicit-iv")
        step.insert(received(g, k, v))
        step.insert(buffer(g, m))
        step.insert(replayed(k, v), when=taken_slot(k, v))
        step.insert(taken_slot(k, v))
        step.insert(taken(k, v, m))
        in_epoch = (lent_key == k) & ((phase == Phase.AWAY) | (phase == Phase.BACK) | (phase == Phase.ROTATING_IN))
        step.insert(stray(k), when=issued(k) & (key_session(k) == session) & ~in_epoch)


def _take_back(draft: Draft) -> None:
    @draft.action(
        by=HOLDER,
        says="Holder {a} gives the GPU back and says it used {n} counter values of {k}.",
        message="{a} -> orchestrator: return of {k}, count {n}",
        source=_PROVISIONING,
        enforces="REQ-RETURN-01",
    )
    def give_back(step: Step, a: Agent, p: Agent, k: Key, s: Slot, n: Slot) -> None:
        """Return with the count used, and send nothing more."""
        step.actor(a, ~corrupt(a))
        step.require("accepted grant", accepted(a, p, k, s))
        step.require("not returned", ~finished(a, k))
        step.require("count from", ~before(n, s) & ~spent(a, k, n))
        step.require("count to", forall(lambda u: implies(before(u, n) & ~before(u, s), spent(a, k, u)), Slot))
        step.insert(finished(a, k))
        step.insert(gave_back(a, k, n))
        step.insert(returned(a, k, n))

    @draft.rule(
        by=ADVERSARY,
        says="Corrupt holder {a} says that it used {n} counter values of {k}.",
        source="Carnet: a corrupt holder lies in its return",
    )
    def lie_about_count(step: Step, a: Agent, k: Key, n: Slot) -> None:
        """A corrupt holder may return whenever it likes, with any count."""
        step.given("has a key to return", corrupt(a) & knows_h2d(a, k))
        step.insert(returned(a, k, n))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator takes the GPU back from {a}, count {n}.",
        message="orchestrator -> platform: route back",
        source="deck, System Architecture: returning the GPU to the orchestrator",
        enforces=("REQ-RETURN-02", "REQ-IV-03"),
    )
    def take_back(step: Step, a: Agent, n: Slot) -> None:
        """Accept a return from the holder the GPU was lent to, and learn which counter values are gone."""
        step.require("phase", phase == Phase.AWAY)
        step.require("holder", a == next_holder)
        step.require("returned", returned(a, lent_key, n), defence="return-authenticated")
        step.set(count, n)
        step.set(custody, Custody.RETURNED)
        gone = step.each(Slot)
        step.insert(consumed(link_h2d, gone), when=before(gone, n), name="count handed back", defence="count-handover")
        step.set(phase, Phase.BACK)

    @draft.action(
        by=ORCHESTRATOR,
        says="The lease of {a} is over: the orchestrator evicts it.",
        message="orchestrator -> platform: route back, the lease is over",
        source="Carnet (attack 32: a holder that keeps the GPU)",
        enforces="REQ-RETURN-03",
    )
    def evict(step: Step, a: Agent) -> None:
        """Accept nothing more under the grant; what is in the buffer will be scrubbed untrained."""
        step.require("phase", phase == Phase.AWAY)
        step.require("holder", a == next_holder)
        step.set(custody, Custody.EVICTED)
        step.set(phase, Phase.BACK)


def _rotate_in(draft: Draft, schedule: Schedule) -> None:
    def order_home_key(step: Step, key: Key) -> None:
        _issue(step, key, schedule, orchestrator)
        step.insert(rotate_in_order(session, key))
        step.remove(mux_request(step.each(Agent)), name="withdraw route")
        step.insert(mux_request(orchestrator), name="ask for route")

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders {k}, a key of its own, at return.",
        message="orchestrator -> gpu: rotate to {k}, in the session",
        source="Carnet (attacks 13 and 14: late write after a check; the deck rotates before travelling only)",
        enforces=("REQ-KEY-06", "REQ-KEY-01"),
    )
    def rotate_in(step: Step, k: Key) -> None:
        """Rotate at return, before anything is fenced, re-uploaded or checked."""
        step.require("phase", phase == Phase.BACK)
        order_home_key(step, k)
        step.set(phase, Phase.ROTATING_IN)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator goes on under the holder's key.",
        message="orchestrator -> platform: route back",
        source=_EPILOGUE,
        shortcut_of="rotation-in",
    )
    def keep_key_in(step: Step) -> None:
        """What remains when the key is rotated before travelling only, as the deck says literally."""
        step.require("phase", phase == Phase.BACK)
        step.remove(mux_request(step.each(Agent)), name="withdraw route")
        step.insert(mux_request(orchestrator), name="ask for route")
        step.set(phase, Phase.ROTATED_IN)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator starts to check memory before it rotates.",
        source="Carnet (attack 14: check, then use)",
        shortcut_of="rotation-before-check",
    )
    def check_first(step: Step) -> None:
        """Fence, upload and check under the holder's key, and rotate only afterwards."""
        step.require("phase", phase == Phase.BACK)
        step.set(phase, Phase.ROTATED_IN)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders {k}, a key of its own, after the check.",
        message="orchestrator -> gpu: rotate to {k}, in the session",
        source="Carnet (attack 14: check, then use)",
        shortcut_of="rotation-before-check",
    )
    def rotate_late(step: Step, k: Key) -> None:
        """The rotation that comes too late."""
        step.require("phase", phase == Phase.CHECKED)
        order_home_key(step, k)
        step.set(phase, Phase.ROTATING_LATE)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders {k} after it fenced under the holder's key.",
        message="orchestrator -> gpu: rotate to {k}, in the session",
        source="Carnet: fencing before rotating",
        shortcut_of="rotation-before-fence",
    )
    def rotate_after_fence(step: Step, k: Key) -> None:
        """The rotation, when the fence came first."""
        step.require("phase", phase == Phase.FENCED_EARLY)
        order_home_key(step, k)
        step.set(phase, Phase.ROTATING_IN)

    @draft.action(
        by=GPU,
        says="{g} takes {k} and acknowledges under it.",
        message="gpu -> orchestrator: rotated, under {k}",
        source="open-gpu-kernel-modules conf_compute_key_rotation.c",
        enforces=("REQ-KEY-04", "REQ-KEY-06"),
    )
    def gpu_rotate_in(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """Retire the holder's key in both directions; what is resident goes on under the new epoch."""
        step.actor(g, genuine(g))
        step.require("own session", in_session(g, s))
        step.require("ordered", rotate_in_order(s, k))
        step.require("not accepted before", ~stale(g, k))
        schedule.gpu_rotates(step, g, k)
        _install(step, g, k, schedule, h2d="rotation-in-h2d", d2h="rotation-in-d2h")
        resident = step.each(Data)
        schedule.carries(step, k, resident, when=buffer(g, resident) | workspace(g, resident))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the rotation acknowledged under its own key.",
        source="Carnet (attack 16: omitted or repeated orders)",
        enforces=("REQ-KEY-05", "REQ-KEY-06"),
    )
    def rotated_in(step: Step) -> None:
        """Wait for the acknowledgement under the new key before touching anything."""
        step.require("phase", phase == Phase.ROTATING_IN)
        step.require("acknowledged", acknowledged(pending, Order.ROTATE), defence="rotation-ack")
        step.set(link_h2d, pending, defence="rotation-in-h2d")
        step.set(link_d2h, pending, defence="rotation-in-d2h")
        step.set(phase, Phase.ROTATED_IN)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the late rotation acknowledged.",
        source="Carnet (attack 14: check, then use)",
        shortcut_of="rotation-before-check",
    )
    def rotated_late(step: Step) -> None:
        """Train at last, on what was checked before the rotation."""
        step.require("phase", phase == Phase.ROTATING_LATE)
        step.require("acknowledged", acknowledged(pending, Order.ROTATE))
        step.set(link_h2d, pending)
        step.set(link_d2h, pending)
        step.set(phase, Phase.VERIFIED)
