"""The way back: once the link is the orchestrator's again, what still runs is fenced, and code and model are checked.

Code is uploaded again, the firmware reports digests of code and model, and the GPU's receive counter is compared with
the count that the holder returned. The same report says that no context is left: code that was planted can start one
after the fence, and a kernel can plant code after its digest was taken. Nothing is trained before the firmware has
reported all of it inside the session: a report under the link key could have been made by code that was left on the
GPU and uses its copy engines.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.counters import next_free
from carnet_spec.protocols.gpu_travelling.history import sealed_again
from carnet_spec.protocols.gpu_travelling.orders import carry_out, seal, send
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
    digested,
    done,
    genuine,
    holds_model,
    latest,
    lent_key,
    link_h2d,
    live_d2h,
    live_h2d,
    memory_version,
    model_sent,
    model_uploaded,
    phase,
    planted,
    received,
    replayed,
    taken_slot,
    upload_version,
    uploaded,
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
        says="The orchestrator orders the GPU to fence what still runs (number {v}).",
        message="orchestrator -> gpu: FENCE, number {v}, in the session",
        source="Carnet (a late write; contexts left running)",
        enforces=("REQ-HOME-01", "REQ-SESSION-01"),
    )
    def send_fence(step: Step, v: Slot) -> None:
        """Fence only once the key is the orchestrator's: before, colluders leave another kernel behind."""
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
        says="The orchestrator orders a fence in the holder's epoch (number {v}).",
        message="orchestrator -> gpu: FENCE, number {v}, in the session",
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
        """What was fenced while the last holder could still leave something behind."""
        step.require("phase", phase == Phase.FENCING_EARLY)
        step.require("acknowledged", acknowledged(link_h2d, Order.FENCE))
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
        step.require("fenced before", acknowledged(lent_key, Order.FENCE))
        step.set(phase, Phase.FENCED)


def _carry_out_fence(draft: Draft) -> None:
    @draft.action(
        by=GPU,
        says="{g} stops every resident context, and its firmware acknowledges.",
        message="{g} -> orchestrator: fenced, number {v}, in the session",
        source="Carnet (contexts left running)",
        enforces=("REQ-HOME-01", "REQ-SESSION-02", "REQ-SESSION-03"),
    )
    def exec_fence(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """Kill every context that is not the orchestrator's."""
        carry_out(step, g, k, v, Order.FENCE)
        step.remove(context(g))
        step.insert(done(k, Order.FENCE))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the fence acknowledged.",
        source="Carnet (plain semaphores are forged)",
        enforces=("REQ-HOME-02", "REQ-SESSION-03"),
    )
    def fenced(step: Step) -> None:
        """The firmware has to say so, about the home epoch."""
        step.require("phase", phase == Phase.FENCING)
        step.require("acknowledged", acknowledged(link_h2d, Order.FENCE), defence="fence-ack")
        step.set(phase, Phase.FENCED)


def _upload(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator uploads the code again (IV {v}).",
        message="orchestrator -> gpu: code, and the model at first, IV {v}",
        source="deck, Security Analysis: code is reuploaded each time after the GPU returns",
        enforces=("REQ-HOME-03", "REQ-IV-01", "REQ-TRAIN-03"),
    )
    def upload(step: Step, v: Slot) -> None:
        """Upload the code each time, and the model when there is none yet: after that it stays on the GPU."""
        step.require("phase", phase == Phase.FENCED)
        seal(step, v)
        step.insert(sealed_again(link_h2d, v), when=uploaded(link_h2d, v))
        step.insert(uploaded(link_h2d, v))
        step.insert(model_uploaded(link_h2d, v), when=custody == Custody.NONE)
        step.set(upload_version(link_h2d), latest)
        step.set(phase, Phase.UPLOADED)

    @draft.action(
        by=GPU,
        says="{g} stores the code that the orchestrator uploaded.",
        message="platform -> gpu: code under {k}",
        source="deck, Security Analysis",
        enforces="REQ-HOME-03",
    )
    def exec_upload(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """Overwrite code memory, and model memory at first; the copy engine decrypts at its own next IV."""
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


def _read_back(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders digests of code and model, and the receive counter (number {v}).",
        message="orchestrator -> gpu: READ BACK, number {v}, in the session",
        source="deck, System Architecture: verification of the integrity of code and model",
        enforces=("REQ-HOME-04", "REQ-HOME-05", "REQ-SESSION-01"),
    )
    def send_read_back(step: Step, v: Slot) -> None:
        """Ask the firmware, not code on the GPU: a digest computed by code already there proves nothing."""
        step.require("phase", phase == Phase.UPLOADED)
        send(step, Order.READ_BACK, v)
        step.insert(counter_asked(link_h2d, lent_key))
        step.set(phase, Phase.CHECKING)

    @draft.action(
        by=GPU,
        says="{g} digests code and model, looks for contexts and reads the receive counter of {c}: {n}.",
        message="{g} -> orchestrator: digests, contexts left and counter {n}, number {v}, in the session",
        source="deck, System Architecture; Carnet (the stock driver has no such service)",
        enforces=("REQ-HOME-04", "REQ-HOME-05", "REQ-HOME-06", "REQ-HOME-07", "REQ-SESSION-02", "REQ-SESSION-04"),
    )
    def exec_read_back(step: Step, g: Gpu, k: Key, v: Slot, c: Key, n: Slot) -> None:
        """Read memory as it is now, and what runs at that instant; only digests leave the GPU, no weights."""
        carry_out(step, g, k, v, Order.READ_BACK)
        step.require("counter asked for", counter_asked(k, c))
        step.require("counter", next_free(lambda u: received(g, c, u), n))
        step.insert(acknowledged(k, Order.CODE_GOOD), when=~planted(g), name="code digest")
        step.insert(acknowledged(k, Order.NO_CONTEXT), when=~context(g), name="contexts left")
        step.insert(digested(k, memory_version(g)), when=holds_model(g))
        step.insert(counted(k, c, n))
        step.insert(done(k, Order.READ_BACK))
        step.insert(done(k, Order.CODE_GOOD), when=~planted(g), name="code was good")
        step.insert(done(k, Order.NO_CONTEXT), when=~context(g), name="no context was left")
        home = step.each(Key)
        step.insert(model_sent(home), when=live_d2h(g, home), unless="session-acknowledgements")

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator finds code, model and counter as they should be, and nothing left running.",
        source="deck, System Architecture: verification of the integrity of code and model; Carnet (dropped tail)",
        enforces=("REQ-HOME-04", "REQ-HOME-05", "REQ-HOME-06", "REQ-HOME-07", "REQ-SESSION-03"),
    )
    def verified(step: Step) -> None:
        """Compare both digests, and the GPU's counter with the count that the holder returned; nothing else runs."""
        step.require("phase", phase == Phase.CHECKING)
        step.require("code digest", acknowledged(link_h2d, Order.CODE_GOOD), defence="code-read-back")
        step.require("no context", acknowledged(link_h2d, Order.NO_CONTEXT), defence="no-context-left")
        good = digested(link_h2d, latest)
        step.require("model digest", good, defence="model-read-back")
        step.require("first model digest", good | (custody != Custody.NONE), unless="model-read-back")
        step.require(
            "count",
            counted(link_h2d, lent_key, count) | (custody != Custody.RETURNED),
            defence="received-count",
        )
        step.set(phase, Phase.VERIFIED, defence="rotation-before-check")
        step.set(phase, Phase.VERIFIED, when=custody == Custody.NONE, name="first time", unless="rotation-before-check")
        step.set(phase, Phase.CHECKED, when=custody != Custody.NONE, name="rotate now", unless="rotation-before-check")
