"""Rotation steps: the link key is replaced before and after a visit, followed by the checks on the GPU.

Once the link is the orchestrator's again, what still runs is fenced, code is uploaded again, the firmware reports
digests of code and model, and the GPU's receive counter is compared with the count that the holder returned. The same
report says that no context is left: code that was planted can start one after the fence, and a kernel can plant code
after its digest was taken. Nothing is trained before the firmware has reported all of it inside the session: a report
under the link key could have been made by code that was left on the GPU and uses its copy engines.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *

# -- rotation ----------------------------------------------------------------------------------------------------------
# The link gets a key of its own before the GPU leaves, and a key of the orchestrator's when it is back.
#
# The order is the defence. At return the link is rotated *first*, in both directions, so that whatever the last holder
# still sends or forges is dead; only then resident contexts are fenced and memory is checked (the deck rotates "each
# time before travelling" and says nothing of the return).

_EPILOGUE = "deck, How it works: Epilogue and Next one; Security Analysis, Collusion"


def specify_rotation_out(draft: Draft, schedule: Schedule) -> None:
    """Add the rotation before the GPU travels."""
    by_orchestrator = partial(draft.action, ORCHESTRATOR)

    @by_orchestrator(_EPILOGUE, "REQ-KEY-01", "REQ-KEY-02", "REQ-KEY-03", "REQ-IV-04")
    def rotate_out(step: Step, a: Agent, k: Key, c: Slot) -> None:
        """Give the link a key of its own before the GPU leaves."""
        step.says("The orchestrator orders {k} for holder {a}'s epoch.")
        step.message("orchestrator -> gpu: rotate to {k}, in the session")
        step.require("phase", phase == Phase.CLEAN)
        step.require("enrolled", enrolled(a))
        if schedule.one_tenant:
            step.require("one holder per session", ~tenanted(session))
        _issue(step, k, c, schedule, a)
        step.set(tenant(session), a)
        step.insert(tenanted(session), rotate_out_order(session, k))
        step.set(next_holder, a)
        step.set(phase, Phase.ROTATING_OUT)

    @by_orchestrator(_EPILOGUE, shortcut_of="rotation-out")
    def keep_key_out(step: Step, a: Agent) -> None:
        """What remains when nothing rotates before travelling."""
        step.says("The orchestrator keeps the link key for holder {a}'s epoch.")
        step.require("phase", phase == Phase.CLEAN)
        step.require("enrolled", enrolled(a))
        step.set(next_holder, a)
        step.set(phase, Phase.GRANTING)

    @draft.action(
        GPU,
        "open-gpu-kernel-modules conf_compute_key_rotation.c; REQ-KEY-02",
        "REQ-KEY-02",
        "REQ-KEY-04",
        actor=genuine,
    )
    def gpu_rotate_out(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """Accept each key once, epochs increasing, in the session only."""
        step.says("{g} takes {k}, and its firmware acknowledges inside the session.")
        step.message("{g} -> orchestrator: rotated to {k}, in the session")
        step.require("own session", in_session(g, s))
        step.require("ordered", rotate_out_order(s, k))
        step.require("not accepted before", ~stale(g, k))
        schedule.gpu_rotates(step, g, k)
        _install(step, g, k, schedule, h2d=None, d2h=None)

    @by_orchestrator("Carnet (omitted or repeated orders, half-done rotation)", "REQ-KEY-05", "REQ-SESSION-03")
    def rotated_out(step: Step) -> None:
        """Only the report on the new epoch says that the old key is dead."""
        step.says("The orchestrator sees the rotation acknowledged.")
        step.require("phase", phase == Phase.ROTATING_OUT)
        step.require("acknowledged", acknowledged(pending, Order.ROTATE), defence="rotation-ack")
        step.set(link_h2d, pending)
        step.set(link_d2h, pending)
        step.set(phase, Phase.GRANTING)


def specify_rotation_in(draft: Draft, schedule: Schedule) -> None:
    """Add the rotation when the GPU is back, and what replaces it in weakened designs."""
    by_orchestrator = partial(draft.action, ORCHESTRATOR)

    @by_orchestrator(
        "Carnet (late write after a check; the deck rotates before travelling only)",
        "REQ-KEY-06",
        "REQ-KEY-01",
        "REQ-IV-04",
    )
    def rotate_in(step: Step, k: Key, c: Slot) -> None:
        """Rotate at return, before anything is fenced, re-uploaded or checked."""
        step.says("The orchestrator orders {k}, a key of its own, at return.")
        step.message("orchestrator -> gpu: rotate to {k}, in the session")
        step.require("phase", phase == Phase.BACK)
        _order_home_key(step, k, c, schedule)
        step.set(phase, Phase.ROTATING_IN)

    @by_orchestrator(_EPILOGUE, shortcut_of="rotation-in")
    def keep_key_in(step: Step) -> None:
        """What remains when the key is rotated before travelling only, as the deck says literally."""
        step.says("The orchestrator goes on under the holder's key.")
        step.message("orchestrator -> platform: route back")
        step.require("phase", phase == Phase.BACK)
        step.remove(mux_request(step.each(Agent)), name="withdraw route")
        step.insert(mux_request(orchestrator), name="ask for route")
        step.set(phase, Phase.ROTATED_IN)

    @by_orchestrator("Carnet (check, then use)", shortcut_of="rotation-before-check")
    def check_first(step: Step) -> None:
        """Fence, upload and check under the holder's key, and rotate only afterwards."""
        step.says("The orchestrator starts to check memory before it rotates.")
        step.require("phase", phase == Phase.BACK)
        step.set(phase, Phase.ROTATED_IN)

    @by_orchestrator("Carnet (check, then use)", shortcut_of="rotation-before-check")
    def rotate_late(step: Step, k: Key, c: Slot) -> None:
        """The rotation that comes too late."""
        step.says("The orchestrator orders {k}, a key of its own, after the check.")
        step.message("orchestrator -> gpu: rotate to {k}, in the session")
        step.require("phase", phase == Phase.CHECKED)
        _order_home_key(step, k, c, schedule)
        step.set(phase, Phase.ROTATING_LATE)

    @by_orchestrator("Carnet: fencing before rotating", shortcut_of="rotation-before-fence")
    def rotate_after_fence(step: Step, k: Key, c: Slot) -> None:
        """The rotation, when the fence came first."""
        step.says("The orchestrator orders {k} after it fenced under the holder's key.")
        step.message("orchestrator -> gpu: rotate to {k}, in the session")
        step.require("phase", phase == Phase.FENCED_EARLY)
        _order_home_key(step, k, c, schedule)
        step.set(phase, Phase.ROTATING_IN)

    @draft.action(GPU, "open-gpu-kernel-modules conf_compute_key_rotation.c", "REQ-KEY-04", "REQ-KEY-06", actor=genuine)
    def gpu_rotate_in(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """Retire the holder's key in both directions; what is resident goes on under the new epoch."""
        step.says("{g} takes {k}, and its firmware acknowledges inside the session.")
        step.message("{g} -> orchestrator: rotated to {k}, in the session")
        step.require("own session", in_session(g, s))
        step.require("ordered", rotate_in_order(s, k))
        step.require("not accepted before", ~stale(g, k))
        schedule.gpu_rotates(step, g, k)
        _install(step, g, k, schedule, h2d="rotation-in-h2d", d2h="rotation-in-d2h")

    @by_orchestrator("Carnet (omitted or repeated orders)", "REQ-KEY-05", "REQ-KEY-06", "REQ-SESSION-03")
    def rotated_in(step: Step) -> None:
        """Wait for the report on the new epoch before touching anything."""
        step.says("The orchestrator sees the rotation at return acknowledged.")
        step.require("phase", phase == Phase.ROTATING_IN)
        step.require("acknowledged", acknowledged(pending, Order.ROTATE), defence="rotation-ack")
        step.set(link_h2d, pending, defence="rotation-in-h2d")
        step.set(link_d2h, pending, defence="rotation-in-d2h")
        step.set(phase, Phase.ROTATED_IN)

    @by_orchestrator("Carnet (check, then use)", shortcut_of="rotation-before-check")
    def rotated_late(step: Step) -> None:
        """Train at last, on what was checked before the rotation."""
        step.says("The orchestrator sees the late rotation acknowledged.")
        step.require("phase", phase == Phase.ROTATING_LATE)
        step.require("acknowledged", acknowledged(pending, Order.ROTATE))
        step.set(link_h2d, pending)
        step.set(link_d2h, pending)
        step.set(phase, Phase.VERIFIED)


def _issue(step: Step, key: Key, channel: Slot, schedule: Schedule, who: Agent) -> None:
    """Draw a key for the agent's epoch, in the orchestrator's session, and open a channel for it."""
    step.fresh(key, defence="fresh-key")
    step.set(owner(key), who)
    step.set(key_session(key), session)
    step.insert(issued(key))
    others = step.each(Key)
    step.insert(older(others, key), when=issued(others))
    step.insert(knows_h2d(orchestrator, key), name="orchestrator h2d")
    step.insert(knows_d2h(orchestrator, key), name="orchestrator d2h")
    step.set(pending, key)
    step.insert(told(key, first), name="number of the rotation")
    step.insert(ordered(key, first, Order.ROTATE))
    schedule.issue(step, key)
    schedule.open_channel(step, session, who, key, channel)


def _install(step: Step, gpu: Gpu, key: Key, schedule: Schedule, *, h2d: str | None, d2h: str | None) -> None:
    """Make the GPU take a key: the old one dies, counters start again, the firmware reports it inside the session."""
    if not schedule.splits:
        step.remove(live_h2d(gpu, step.each(Key)), name="retire h2d", defence=schedule.retirement or h2d)
        step.remove(live_d2h(gpu, step.each(Key)), name="retire d2h", defence=d2h)
    step.insert(live_h2d(gpu, key), name="install h2d", defence=h2d)
    step.insert(live_d2h(gpu, key), name="install d2h", defence=d2h)
    step.insert(stale(gpu, key), name="accept once", defence="wrapped-key-once")
    passed = step.each(Key)
    step.insert(stale(gpu, passed), when=older(passed, key), name="epochs increase", defence="epochs-increase")
    step.remove(received(gpu, key, step.each(Slot)), name="restart receive counter")
    step.remove(transmitted(gpu, key, step.each(Slot)), name="restart send counter")
    step.remove(heard(gpu, key, step.each(Slot)), name="restart orders")
    step.insert(heard(gpu, key, first), name="count the rotation")
    report_on(step, key, first, Order.ROTATE)
    step.insert(done(key, Order.ROTATE))


def _order_home_key(step: Step, key: Key, channel: Slot, schedule: Schedule) -> None:
    """Order a key of the orchestrator's own, and ask for the route back."""
    _issue(step, key, channel, schedule, orchestrator)
    step.insert(rotate_in_order(session, key))
    step.remove(mux_request(step.each(Agent)), name="withdraw route")
    step.insert(mux_request(orchestrator), name="ask for route")


# -- checks ------------------------------------------------------------------------------------------------------------


def specify_checks(draft: Draft) -> None:
    """Add the fence and the check to ``draft``."""
    by_orchestrator = partial(draft.action, ORCHESTRATOR)
    by_gpu = partial(draft.action, GPU)

    @by_orchestrator("Carnet (a late write; contexts left running)", "REQ-HOME-01", "REQ-SESSION-01")
    def send_fence(step: Step, v: Slot) -> None:
        """Fence only once the key is the orchestrator's: before, colluders leave another kernel behind."""
        step.says("The orchestrator orders the GPU to fence what still runs (number {v}).")
        step.message("orchestrator -> gpu: FENCE, number {v}, in the session")
        step.require("phase", phase == Phase.ROTATED_IN)
        send(step, Order.FENCE, v)
        step.set(phase, Phase.FENCING)

    @by_orchestrator("Carnet (contexts left running)", shortcut_of="fence")
    def skip_fence(step: Step) -> None:
        """What remains without a fence."""
        step.says("The orchestrator relies on nothing having been left running.")
        step.require("phase", phase == Phase.ROTATED_IN)
        step.set(phase, Phase.FENCED)

    @by_orchestrator("Carnet: fencing before rotating", shortcut_of="rotation-before-fence")
    def fence_early(step: Step, v: Slot) -> None:
        """The fence, while the last holder's key is still live."""
        step.says("The orchestrator orders a fence in the holder's epoch (number {v}).")
        step.message("orchestrator -> gpu: FENCE, number {v}, in the session")
        step.require("phase", phase == Phase.BACK)
        send(step, Order.FENCE, v)
        step.set(phase, Phase.FENCING_EARLY)

    @by_orchestrator("Carnet: fencing before rotating", shortcut_of="rotation-before-fence")
    def fenced_early(step: Step) -> None:
        """What was fenced while the last holder could still leave something behind."""
        step.says("The orchestrator sees the early fence acknowledged.")
        step.require("phase", phase == Phase.FENCING_EARLY)
        step.require("acknowledged", acknowledged(link_h2d, Order.FENCE))
        step.set(phase, Phase.FENCED_EARLY)

    @by_orchestrator("Carnet: fencing before rotating", shortcut_of="rotation-before-fence")
    def rely_on_early_fence(step: Step) -> None:
        """After the rotation, no second fence."""
        step.says("The orchestrator goes on: it fenced already.")
        step.require("phase", phase == Phase.ROTATED_IN)
        step.require("fenced before", acknowledged(lent_key, Order.FENCE))
        step.set(phase, Phase.FENCED)

    @by_gpu("Carnet (contexts left running)", "REQ-HOME-01", "REQ-SESSION-02", "REQ-SESSION-03")
    def exec_fence(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """Kill every context that is not the orchestrator's."""
        step.says("{g} stops every resident context, and its firmware acknowledges.")
        step.message("{g} -> orchestrator: fenced, number {v}, in the session")
        carry_out(step, g, k, v, Order.FENCE)
        step.remove(context(g))
        step.insert(done(k, Order.FENCE))

    @by_orchestrator("Carnet (plain semaphores are forged)", "REQ-HOME-02", "REQ-SESSION-03")
    def fenced(step: Step) -> None:
        """The firmware has to say so, about the home epoch."""
        step.says("The orchestrator sees the fence acknowledged.")
        step.require("phase", phase == Phase.FENCING)
        step.require("acknowledged", acknowledged(link_h2d, Order.FENCE), defence="fence-ack")
        step.set(phase, Phase.FENCED)

    @by_orchestrator(
        "deck, Security Analysis: code is reuploaded each time after the GPU returns",
        "REQ-HOME-03",
        "REQ-IV-01",
        "REQ-TRAIN-03",
    )
    def upload(step: Step, v: Slot) -> None:
        """Upload the code each time, and the model when there is none yet: after that it stays on the GPU."""
        step.says("The orchestrator uploads the code again (IV {v}).")
        step.message("orchestrator -> gpu: code, and the model at first, IV {v}")
        step.require("phase", phase == Phase.FENCED)
        seal(step, v)
        step.insert(sealed_again(link_h2d, v), when=uploaded(link_h2d, v))
        step.insert(uploaded(link_h2d, v))
        step.insert(model_uploaded(link_h2d, v), when=custody == Custody.NONE)
        step.set(upload_version(link_h2d), latest)
        step.set(phase, Phase.UPLOADED)

    @by_gpu("deck, Security Analysis", "REQ-HOME-03")
    def exec_upload(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """Overwrite code memory, and model memory at first; the copy engine decrypts at its own next IV."""
        step.says("{g} stores the code that the orchestrator uploaded.")
        step.message("platform -> gpu: code under {k}")
        step.actor(g, genuine(g))
        step.require("live key", live_h2d(g, k))
        step.require("verifies", uploaded(k, v))
        step.require("implicit IV", next_free(lambda u: received(g, k, u), v), defence="gpu-implicit-iv")
        step.insert(received(g, k, v))
        step.insert(replayed(k, v), when=taken_slot(k, v))
        step.insert(taken_slot(k, v))
        step.remove(planted(g), defence="code-reupload")
        step.insert(holds_model(g), when=model_uploaded(k, v))
        step.set(memory_version(g), upload_version(k), when=model_uploaded(k, v))

    _read_back(draft)


def _read_back(draft: Draft) -> None:
    by_orchestrator = partial(draft.action, ORCHESTRATOR)

    @by_orchestrator(
        "deck, System Architecture: verification of the integrity of code and model",
        "REQ-HOME-04",
        "REQ-HOME-05",
        "REQ-SESSION-01",
    )
    def send_read_back(step: Step, v: Slot) -> None:
        """Ask the firmware, not code on the GPU: a digest computed by code already there proves nothing."""
        step.says("The orchestrator orders digests of code and model, and the receive counter (number {v}).")
        step.message("orchestrator -> gpu: READ BACK, number {v}, in the session")
        step.require("phase", phase == Phase.UPLOADED)
        send(step, Order.READ_BACK, v)
        step.insert(counter_asked(link_h2d, lent_key))
        step.set(phase, Phase.CHECKING)

    @draft.action(
        GPU,
        "deck, System Architecture; Carnet (the stock driver has no such service)",
        "REQ-HOME-04",
        "REQ-HOME-05",
        "REQ-HOME-06",
        "REQ-HOME-07",
        "REQ-SESSION-02",
        "REQ-SESSION-04",
    )
    def exec_read_back(step: Step, g: Gpu, k: Key, v: Slot, c: Key, n: Slot) -> None:
        """Read memory as it is now, and what runs at that instant; only digests leave the GPU, no weights."""
        step.says("{g} digests code and model, looks for contexts and reads the receive counter of {c}: {n}.")
        step.message("{g} -> orchestrator: digests, contexts left and counter {n}, number {v}, in the session")
        carry_out(step, g, k, v, Order.READ_BACK)
        step.require("counter asked for", counter_asked(k, c))
        step.require("counter", next_free(lambda u: received(g, c, u), n))
        step.insert(acknowledged(k, Order.CODE_GOOD), when=~planted(g), name="code digest")
        step.insert(acknowledged(k, Order.NO_CONTEXT), when=~context(g), name="contexts left")
        step.insert(digested(k, memory_version(g)), when=holds_model(g))
        step.insert(counted(k, c, n), done(k, Order.READ_BACK))
        step.insert(done(k, Order.CODE_GOOD), when=~planted(g), name="code was good")
        step.insert(done(k, Order.NO_CONTEXT), when=~context(g), name="no context was left")
        home = step.each(Key)
        step.insert(model_sent(home), when=live_d2h(g, home), unless="session-acknowledgements")

    @by_orchestrator(
        "deck, System Architecture: verification of the integrity of code and model; Carnet (dropped tail)",
        "REQ-HOME-04",
        "REQ-HOME-05",
        "REQ-HOME-06",
        "REQ-HOME-07",
        "REQ-SESSION-03",
    )
    def verified(step: Step) -> None:
        """Compare both digests, and the GPU's counter with the count that the holder returned; nothing else runs."""
        step.says("The orchestrator finds code, model and counter as they should be, and nothing left running.")
        step.require("phase", phase == Phase.CHECKING)
        step.require("code digest", acknowledged(link_h2d, Order.CODE_GOOD), defence="code-read-back")
        step.require("no context", acknowledged(link_h2d, Order.NO_CONTEXT), defence="no-context-left")
        good = digested(link_h2d, latest)
        step.require("model digest", good, defence="model-read-back")
        step.require("first model digest", good | (custody != Custody.NONE), unless="model-read-back")
        step.require(
            "count", counted(link_h2d, lent_key, count) | (custody != Custody.RETURNED), defence="received-count"
        )
        step.set(phase, Phase.VERIFIED, defence="rotation-before-check")
        step.set(phase, Phase.VERIFIED, when=custody == Custody.NONE, name="first time", unless="rotation-before-check")
        step.set(phase, Phase.CHECKED, when=custody != Custody.NONE, name="rotate now", unless="rotation-before-check")
