"""The way back: once the link is the orchestrator's again, what still runs is fenced, and code and model are checked.

Code is uploaded again and read back, the model is read back, and the GPU's receive counter is compared with the count
that the holder returned. Nothing is trained before all of it was acknowledged under the home key.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.counters import next_free
from carnet_spec.protocols.gpu_travelling.orders import carry_out, reply, send
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    GPU,
    ORCHESTRATOR,
    Custody,
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    acknowledged,
    context,
    count,
    counted,
    counter_asked,
    custody,
    done,
    holds_model,
    lent_key,
    link_d2h,
    link_h2d,
    phase,
    planted,
    received,
    semaphore,
    tampered,
)


def specify_return(draft: Draft) -> None:
    """Add the fence and the check to ``draft``."""
    _order_fence(draft)
    _fence_too_early(draft)
    _carry_out_fence(draft)
    _upload(draft)
    _read_back(draft)


def _order_fence(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders the GPU to fence what still runs (IV {v}).",
        message="orchestrator -> gpu: FENCE, IV {v}",
        source="Carnet (a late write; contexts left running)",
        enforces=("REQ-HOME-01", "REQ-IV-01"),
    )
    def send_fence(step: Step, v: Slot) -> None:
        """Fence only once the key is the orchestrator's: before, colluders forge the acknowledgement."""
        step.require("phase", phase == Phase.ROTATED_IN)
        send(step, Order.FENCE, v)
        step.set(phase, Phase.FENCING)

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator relies on nothing having been left running.",
        source="Carnet (contexts left running)",
        shortcut_of="fence",
    )
    def skip_fence(step: Step) -> None:
        """What remains without a fence."""
        step.require("phase", phase == Phase.ROTATED_IN)
        step.set(phase, Phase.FENCED)


def _fence_too_early(draft: Draft) -> None:
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
        send(step, Order.FENCE, v)
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


def _carry_out_fence(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="{g} stops every resident context and acknowledges.",
        message="{g} -> orchestrator: fenced, under {j}",
        source="Carnet (contexts left running)",
        enforces="REQ-HOME-01",
    )
    def exec_fence(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """Kill every context that is not the orchestrator's."""
        carry_out(step, g, k, v, Order.FENCE)
        reply(step, g, j, w, Order.FENCE)
        step.remove(context(g))
        step.insert(semaphore(Order.FENCE))
        step.insert(done(k, Order.FENCE))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the fence acknowledged under its own key.",
        source="Carnet (plain semaphores are forged)",
        enforces="REQ-HOME-02",
    )
    def fenced(step: Step) -> None:
        """The acknowledgement has to verify under the home key."""
        step.require("phase", phase == Phase.FENCING)
        step.require("acknowledged", acknowledged(link_d2h, Order.FENCE), defence="fence-ack")
        step.set(phase, Phase.FENCED)


def _upload(draft: Draft) -> None:
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
        send(step, Order.UPLOAD, v)
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
        carry_out(step, g, k, v, Order.UPLOAD)
        step.remove(planted(g), defence="code-reupload")
        step.insert(holds_model(g))
        step.insert(done(k, Order.UPLOAD))


def _read_back(draft: Draft) -> None:
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
        send(step, Order.READ_BACK, v)
        step.insert(counter_asked(link_h2d, lent_key))
        step.set(phase, Phase.CHECKING)

    @draft.action(
        by=GPU,
        says="{g} reads back code, model and the receive counter of {c}, which stands at {n}.",
        message="{g} -> orchestrator: digests and counter {n}, under {j}",
        source="deck, System Architecture",
        enforces=("REQ-HOME-04", "REQ-HOME-05", "REQ-HOME-06"),
    )
    def exec_read_back(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot, c: Key, n: Slot) -> None:
        """Read memory as it is now; the digests are computed by the orchestrator."""
        carry_out(step, g, k, v, Order.READ_BACK)
        reply(step, g, j, w, Order.READ_BACK)
        step.require("counter asked for", counter_asked(k, c))
        step.require("counter", next_free(lambda u: received(g, c, u), n))
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
