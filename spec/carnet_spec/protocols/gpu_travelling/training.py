"""At home: fence, re-upload, check, train, scrub; every order sent, carried out and acknowledged under the home key.

Orders consume counter values like any other message, so the GPU's implicit counter makes it carry them out in order,
each once. Acknowledgements are only as good as the key they verify under: whoever knows its d2h half can forge them.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step, forall, implies
from carnet_spec.protocols.gpu_travelling.custody import next_free
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    GPU,
    ORCHESTRATOR,
    Custody,
    Data,
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    acknowledged,
    before,
    buffer,
    consumed,
    context,
    count,
    counted,
    custody,
    dataset,
    done,
    genuine,
    holds_model,
    lent_key,
    link_d2h,
    link_h2d,
    live_d2h,
    live_h2d,
    ordered,
    phase,
    planted,
    received,
    replied,
    semaphore,
    tampered,
    traffic,
    transmitted,
    workspace,
)

_TRAINING = "deck, How it works: Training"
_EPILOGUE = "deck, How it works: Epilogue"


def specify_training(draft: Draft, schedule: Schedule) -> None:
    """Add what happens at home to ``draft``."""
    _fence(draft)
    _check(draft)
    _train(draft, schedule)
    _scrub(draft)


def _send(step: Step, order: Order, at: Slot) -> None:
    """Send an order under the host-to-device half of the link, with the next IV."""
    step.require("next IV", next_free(lambda u: consumed(link_h2d, u), at), defence="sender-iv-monotonic")
    step.require("any IV up to the next", contiguous(at), unless="sender-iv-monotonic")
    step.insert(consumed(link_h2d, at))
    step.insert(ordered(link_h2d, at, order))


def contiguous(at: Slot) -> Formula:
    """Whether every counter value below ``at`` is used under the link key."""
    return forall(lambda u: implies(before(u, at), consumed(link_h2d, u)), Slot)


def _carry_out(step: Step, gpu: Gpu, key: Key, at: Slot, order: Order) -> None:
    """Take the next order under the live key, at the GPU's own counter."""
    step.actor(gpu, genuine(gpu))
    step.require("live key", live_h2d(gpu, key))
    step.require("verifies", ordered(key, at, order))
    step.require("implicit IV", next_free(lambda u: received(gpu, key, u), at), defence="gpu-implicit-iv")
    step.insert(received(gpu, key, at))


def _reply(step: Step, gpu: Gpu, key: Key, at: Slot, order: Order, when: Formula | None = None) -> None:
    """Acknowledge under the device-to-host half, with the next IV of that direction."""
    step.require("reply key", live_d2h(gpu, key))
    step.require("next reply IV", next_free(lambda u: transmitted(gpu, key, u), at))
    step.insert(transmitted(gpu, key, at))
    step.insert(replied(key, at, order))
    step.insert(acknowledged(key, order), when=when)


def _fence(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders the GPU to fence what still runs (IV {v}).",
        message="orchestrator -> gpu: FENCE, IV {v}",
        source="Carnet (attack 13: a late write; contexts left running)",
        enforces=("REQ-HOME-01", "REQ-IV-01"),
    )
    def send_fence(step: Step, v: Slot) -> None:
        """Fence only once the key is the orchestrator's: before, colluders forge the acknowledgement."""
        step.require("phase", phase == Phase.ROTATED_IN)
        _send(step, Order.FENCE, v)
        step.set(phase, Phase.FENCING)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator relies on nothing having been left running.",
        source="Carnet (attack 13)",
        shortcut_of="fence",
    )
    def skip_fence(step: Step) -> None:
        """What remains without a fence."""
        step.require("phase", phase == Phase.ROTATED_IN)
        step.set(phase, Phase.FENCED)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders a fence under the holder's key (IV {v}).",
        message="orchestrator -> gpu: FENCE, IV {v}",
        source="Carnet: fencing before rotating",
        shortcut_of="rotation-before-fence",
    )
    def fence_early(step: Step, v: Slot) -> None:
        """The fence, while the last holder's key is still live."""
        step.require("phase", phase == Phase.BACK)
        _send(step, Order.FENCE, v)
        step.set(phase, Phase.FENCING_EARLY)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the early fence acknowledged.",
        source="Carnet: fencing before rotating",
        shortcut_of="rotation-before-fence",
    )
    def fenced_early(step: Step) -> None:
        """An acknowledgement that the last holder could have made."""
        step.require("phase", phase == Phase.FENCING_EARLY)
        step.require("acknowledged", acknowledged(link_d2h, Order.FENCE))
        step.set(phase, Phase.FENCED_EARLY)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator goes on: it fenced already.",
        source="Carnet: fencing before rotating",
        shortcut_of="rotation-before-fence",
    )
    def rely_on_early_fence(step: Step) -> None:
        """After the rotation, no second fence."""
        step.require("phase", phase == Phase.ROTATED_IN)
        step.require("fenced before", custody != Custody.NONE)
        step.set(phase, Phase.FENCED)

    @draft.action(
        by=GPU,
        says="{g} stops every resident context and acknowledges.",
        message="gpu -> orchestrator: fenced, under {j}",
        source="Carnet (attack 13)",
        enforces="REQ-HOME-01",
    )
    def exec_fence(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """Kill every context that is not the orchestrator's."""
        _carry_out(step, g, k, v, Order.FENCE)
        _reply(step, g, j, w, Order.FENCE)
        step.remove(context(g))
        step.insert(semaphore(Order.FENCE))
        step.insert(done(k, Order.FENCE))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the fence acknowledged under its own key.",
        source="Carnet (attack 17: plain semaphores are forged)",
        enforces="REQ-HOME-02",
    )
    def fenced(step: Step) -> None:
        """The acknowledgement has to verify under the home key."""
        step.require("phase", phase == Phase.FENCING)
        step.require("acknowledged", acknowledged(link_d2h, Order.FENCE), defence="fence-ack")
        step.set(phase, Phase.FENCED)


def _check(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator uploads the code again (IV {v}).",
        message="orchestrator -> gpu: code, and the model at first, IV {v}",
        source="deck, Security Analysis: code is reuploaded each time after the GPU returns",
        enforces="REQ-HOME-03",
    )
    def upload(step: Step, v: Slot) -> None:
        """Upload the code each time, and the model when there is none yet."""
        step.require("phase", phase == Phase.FENCED)
        _send(step, Order.UPLOAD, v)
        step.set(phase, Phase.UPLOADED)

    @draft.action(
        by=GPU,
        says="{g} stores the code that the orchestrator uploaded.",
        message="platform -> gpu: code under {k}",
        source="deck, Security Analysis",
        enforces="REQ-HOME-03",
    )
    def exec_upload(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """Overwrite code memory; the model is written only where there is none."""
        _carry_out(step, g, k, v, Order.UPLOAD)
        step.remove(planted(g), defence="code-reupload")
        step.insert(holds_model(g))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders a read-back of code, model and receive counter (IV {v}).",
        message="orchestrator -> gpu: READ BACK, IV {v}",
        source="deck, System Architecture: verification of the integrity of code and model",
        enforces=("REQ-HOME-04", "REQ-HOME-05"),
    )
    def send_read_back(step: Step, v: Slot) -> None:
        """Ask the copy engine, not code on the GPU: a digest computed by code already there proves nothing."""
        step.require("phase", phase == Phase.UPLOADED)
        _send(step, Order.READ_BACK, v)
        step.set(phase, Phase.CHECKING)

    @draft.action(
        by=GPU,
        says="{g} reads back code, model and the receive counter of {c}, which stands at {n}.",
        message="gpu -> orchestrator: digests and counter {n}, under {j}",
        source="deck, System Architecture",
        enforces=("REQ-HOME-04", "REQ-HOME-05", "REQ-HOME-06"),
    )
    def exec_read_back(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot, c: Key, n: Slot) -> None:
        """Read memory as it is now; the digests are computed by the orchestrator."""
        _carry_out(step, g, k, v, Order.READ_BACK)
        _reply(step, g, j, w, Order.READ_BACK)
        step.require("counter", next_free(lambda u: received(g, c, u), n))
        step.given("counter asked for", c == lent_key)
        step.insert(acknowledged(j, Order.CODE_GOOD), when=~planted(g), name="code digest")
        step.insert(acknowledged(j, Order.MODEL_GOOD), when=~tampered(g), name="model digest")
        step.insert(counted(j, c, n))
        step.insert(done(k, Order.CODE_GOOD), when=~planted(g), name="code was good")
        step.insert(done(k, Order.MODEL_GOOD), when=~tampered(g), name="model was good")

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator finds code, model and counter as they should be.",
        source="deck, System Architecture: verification of the integrity of code and model; Carnet (dropped tail)",
        enforces=("REQ-HOME-04", "REQ-HOME-05", "REQ-HOME-06"),
    )
    def verified(step: Step) -> None:
        """Compare both digests, and the GPU's counter with the count that the holder returned."""
        step.require("phase", phase == Phase.CHECKING)
        step.require("code digest", acknowledged(link_d2h, Order.CODE_GOOD), defence="code-read-back")
        step.require("model digest", acknowledged(link_d2h, Order.MODEL_GOOD), defence="model-read-back")
        step.require(
            "count",
            counted(link_d2h, lent_key, count) | (custody != Custody.RETURNED),
            defence="received-count",
        )
        step.set(phase, Phase.VERIFIED, defence="rotation-before-check")
        step.set(phase, Phase.VERIFIED, when=custody == Custody.NONE, name="first time", unless="rotation-before-check")
        step.set(phase, Phase.CHECKED, when=custody != Custody.NONE, name="rotate now", unless="rotation-before-check")


def _train(draft: Draft, schedule: Schedule) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders training (IV {v}).",
        message="orchestrator -> gpu: TRAIN, IV {v}",
        source=_TRAINING,
        enforces="REQ-TRAIN-01",
    )
    def send_train(step: Step, v: Slot) -> None:
        """Train only on what a holder returned, never on what an evicted one left behind."""
        step.require("phase", phase == Phase.VERIFIED)
        step.require("returned", custody == Custody.RETURNED)
        _send(step, Order.TRAIN, v)
        step.set(phase, Phase.TRAINING)

    @draft.action(
        by=GPU,
        says="{g} trains on what is in the buffer.",
        message="gpu -> orchestrator: losses and logs, under {j}",
        source=_TRAINING,
        enforces="REQ-TRAIN-02",
    )
    def exec_train(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """Training is the one declassifier, from data to model; everything else it leaves behind is as secret as data."""
        _carry_out(step, g, k, v, Order.TRAIN)
        _reply(step, g, j, w, Order.TRAIN)
        derived = step.each(Data)
        step.insert(workspace(g, derived), when=buffer(g, derived) & dataset(derived))
        step.insert(traffic(j, derived), when=buffer(g, derived) & dataset(derived))
        schedule.carries(step, j, derived, when=buffer(g, derived) & dataset(derived))
        step.insert(done(k, Order.TRAIN))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees that training is over.",
        source=_TRAINING,
        enforces="REQ-TRAIN-02",
    )
    def trained(step: Step) -> None:
        """Take the result under the home key; its digest is the one to check next time."""
        step.require("phase", phase == Phase.TRAINING)
        step.require("acknowledged", acknowledged(link_d2h, Order.TRAIN))
        step.set(phase, Phase.TRAINED)


def _scrub(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders the scrub (IV {v}).",
        message="orchestrator -> gpu: SCRUB, IV {v}",
        source="deck, System Architecture: private data scrubbing before handing the GPU on",
        enforces="REQ-SCRUB-01",
    )
    def send_scrub(step: Step, v: Slot) -> None:
        """Scrub after training, and scrub untrained what an evicted holder left or what was there at first."""
        step.require("phase", (phase == Phase.TRAINED) | ((phase == Phase.VERIFIED) & (custody != Custody.RETURNED)))
        _send(step, Order.SCRUB, v)
        step.set(phase, Phase.SCRUBBING)

    @draft.action(
        by=GPU,
        says="{g} scrubs buffer and workspace and acknowledges.",
        message="gpu -> orchestrator: scrubbed, under {j}",
        source="deck, Security Analysis: the dataset buffer is cleared; open-gpu-kernel-modules mem_scrub.c",
        enforces=("REQ-SCRUB-01", "REQ-SCRUB-02"),
    )
    def exec_scrub(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """Clear everything but model and code: what training derived is as secret as the data."""
        _carry_out(step, g, k, v, Order.SCRUB)
        _reply(step, g, j, w, Order.SCRUB)
        step.remove(buffer(g, step.each(Data)), defence="scrub-buffer")
        step.remove(workspace(g, step.each(Data)), defence="scrub-workspace")
        step.insert(semaphore(Order.SCRUB))
        step.insert(done(k, Order.SCRUB))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the scrub acknowledged under its own key.",
        source="Carnet (attack 17: the completion semaphore is in unprotected memory); DEMY finding 5",
        enforces="REQ-SCRUB-03",
    )
    def scrubbed(step: Step) -> None:
        """Believe the acknowledgement under the link key, never a plain semaphore."""
        step.require("phase", phase == Phase.SCRUBBING)
        step.require("acknowledged", acknowledged(link_d2h, Order.SCRUB), defence="scrub-ack")
        step.require("semaphore", semaphore(Order.SCRUB), unless="scrub-ack")
        step.set(phase, Phase.CLEAN)
