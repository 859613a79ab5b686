"""Training: on what a holder returned and the checks let through, and then everything but the model is scrubbed."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.orders import carry_out, reply, send
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
    buffer,
    custody,
    dataset,
    done,
    link_d2h,
    phase,
    semaphore,
    traffic,
    workspace,
)

_TRAINING = "deck, How it works: Training"


def specify_training(draft: Draft, schedule: Schedule) -> None:
    """Add training and scrub to ``draft``."""
    _train(draft, schedule)
    _scrub(draft)


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
        send(step, Order.TRAIN, v)
        step.set(phase, Phase.TRAINING)

    @draft.action(
        by=GPU,
        says="{g} trains on what is in the buffer.",
        message="{g} -> orchestrator: losses and logs, under {j}",
        source=_TRAINING,
        enforces="REQ-TRAIN-02",
    )
    def exec_train(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """Training is the one declassifier, from data to model; all else that it leaves behind is as secret as data."""
        carry_out(step, g, k, v, Order.TRAIN)
        reply(step, g, j, w, Order.TRAIN)
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
        send(step, Order.SCRUB, v)
        step.set(phase, Phase.SCRUBBING)

    @draft.action(
        by=GPU,
        says="{g} scrubs buffer and workspace and acknowledges.",
        message="{g} -> orchestrator: scrubbed, under {j}",
        source="deck, Security Analysis: the dataset buffer is cleared; open-gpu-kernel-modules mem_scrub.c",
        enforces=("REQ-SCRUB-01", "REQ-SCRUB-02"),
    )
    def exec_scrub(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """Clear everything but model and code: what training derived is as secret as the data."""
        carry_out(step, g, k, v, Order.SCRUB)
        reply(step, g, j, w, Order.SCRUB)
        step.remove(buffer(g, step.each(Data)), defence="scrub-buffer")
        step.remove(workspace(g, step.each(Data)), defence="scrub-workspace")
        step.insert(semaphore(Order.SCRUB))
        step.insert(done(k, Order.SCRUB))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the scrub acknowledged under its own key.",
        source="DEMY (arXiv 2507.02770): the completion semaphore is in unprotected memory",
        enforces="REQ-SCRUB-03",
    )
    def scrubbed(step: Step) -> None:
        """Believe the acknowledgement under the link key, never a plain semaphore."""
        step.require("phase", phase == Phase.SCRUBBING)
        step.require("acknowledged", acknowledged(link_d2h, Order.SCRUB), defence="scrub-ack")
        step.require("semaphore", semaphore(Order.SCRUB), unless="scrub-ack")
        step.set(phase, Phase.CLEAN)
