"""Training: on what a holder returned and the checks let through, and then everything but the model is scrubbed."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.gpu_travelling.orders import carry_out, send, stream
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
    Version,
    acknowledged,
    buffer,
    chained,
    context,
    custody,
    dataset,
    derives,
    done,
    foreign,
    holds_model,
    issued,
    kept,
    key_session,
    latest,
    ledger,
    lent_key,
    link_h2d,
    lost,
    made,
    memory_version,
    model_sent,
    off_chain,
    phase,
    placed,
    planted,
    secured,
    semaphore,
    sent_as,
    session,
    taken_back,
    traffic,
    trained_on,
    trained_to,
    within,
    workspace,
)

_TRAINING = "deck, How it works: Training"


def specify_training(draft: Draft, schedule: Schedule) -> None:
    """Add training and scrub to ``draft``."""
    _train(draft, schedule)
    _save(draft)
    _scrub(draft)


def _train(draft: Draft, schedule: Schedule) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders training (number {v}).",
        message="orchestrator -> gpu: TRAIN, number {v}, in the session",
        source=_TRAINING,
        enforces=("REQ-TRAIN-01", "REQ-SESSION-01"),
    )
    def send_train(step: Step, v: Slot) -> None:
        """Train only on what a holder returned, never on what an evicted one left behind."""
        step.require("phase", phase == Phase.VERIFIED)
        step.require("returned", custody == Custody.RETURNED)
        send(step, Order.TRAIN, v)
        step.set(phase, Phase.TRAINING)

    @draft.action(
        by=GPU,
        says="{g} trains on what is in the buffer, and the model becomes {n}.",
        message="{g} -> orchestrator: losses and logs, under {j}, IV {w}; digest of {n}, in the session",
        source=_TRAINING,
        enforces="REQ-TRAIN-02",
    )
    def exec_train(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot, n: Version) -> None:
        """Training is the one declassifier, from data to model; all else that it leaves behind is as secret as data."""
        carry_out(step, g, k, v, Order.TRAIN)
        stream(step, g, j, w)
        derived = step.each(Data)
        step.insert(workspace(g, derived), when=buffer(g, derived) & dataset(derived))
        step.insert(traffic(j, derived), when=buffer(g, derived) & dataset(derived))
        schedule.carries(step, j, derived, when=buffer(g, derived) & dataset(derived))
        step.insert(context(g), when=planted(g), name="what was planted runs")
        _make_version(step, g, k, n)
        step.insert(done(k, Order.TRAIN))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees that training is over, and that {n} came of it.",
        source=_TRAINING,
        enforces=("REQ-TRAIN-02", "REQ-MODEL-01", "REQ-MODEL-02", "REQ-SESSION-03"),
    )
    def trained(step: Step, n: Version) -> None:
        """Believe the firmware's report; what training sent home decides nothing."""
        step.require("phase", phase == Phase.TRAINING)
        step.require("digest", trained_to(link_h2d, n))
        step.insert(ledger(n, latest, lent_key))
        step.set(latest, n)
        step.set(phase, Phase.TRAINED)


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


def _save(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders the trained model home (number {v}).",
        message="orchestrator -> gpu: SAVE, number {v}, in the session",
        source="deck, How it works: Epilogue",
        enforces=("REQ-TRAIN-03", "REQ-SESSION-01"),
    )
    def send_save(step: Step, v: Slot) -> None:
        """The model comes home when it is to be kept or published, and at no hand-over."""
        step.require("phase", phase == Phase.TRAINED)
        send(step, Order.SAVE, v)
        step.set(phase, Phase.SAVING)

    @draft.action(
        by=GPU,
        says="{g} sends the model home.",
        message="{g} -> orchestrator: the model, under {j}, IV {w}",
        source="deck, How it works: Epilogue",
        enforces="REQ-TRAIN-03",
    )
    def exec_save(step: Step, g: Gpu, k: Key, v: Slot, j: Key, w: Slot) -> None:
        """The model crosses the link under the device-to-host half, like all that the GPU sends."""
        carry_out(step, g, k, v, Order.SAVE)
        stream(step, g, j, w)
        step.require("there is one", holds_model(g))
        step.insert(model_sent(j))
        step.insert(sent_as(k, memory_version(g)))
        step.insert(done(k, Order.SAVE))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator has the model home.",
        source="deck, How it works: Epilogue",
        enforces=("REQ-TRAIN-03", "REQ-MODEL-03"),
    )
    def saved(step: Step) -> None:
        """Keep and publish only what the firmware says is the version last produced."""
        step.require("phase", phase == Phase.SAVING)
        step.require("acknowledged", acknowledged(link_h2d, Order.SAVE), unless="saved-digest")
        step.require("digest", sent_as(link_h2d, latest), defence="saved-digest")
        step.set(kept, latest)
        since = step.each(Key)
        step.insert(secured(since), when=taken_back(since) & ~lost(since))
        step.set(phase, Phase.SAVED)


def _scrub(draft: Draft) -> None:
    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator orders the scrub (number {v}).",
        message="orchestrator -> gpu: SCRUB, number {v}, in the session",
        source="deck, System Architecture: private data scrubbing before handing the GPU on",
        enforces=("REQ-SCRUB-01", "REQ-SESSION-01"),
    )
    def send_scrub(step: Step, v: Slot) -> None:
        """Scrub after training, and scrub untrained what an evicted holder left or what was there at first."""
        trained = (phase == Phase.TRAINED) | (phase == Phase.SAVED)
        step.require("phase", trained | ((phase == Phase.VERIFIED) & (custody != Custody.RETURNED)))
        send(step, Order.SCRUB, v)
        step.set(phase, Phase.SCRUBBING)

    @draft.action(
        by=GPU,
        says="{g} scrubs buffer and workspace, and its firmware acknowledges.",
        message="{g} -> orchestrator: scrubbed, number {v}, in the session",
        source="deck, Security Analysis: the dataset buffer is cleared; open-gpu-kernel-modules mem_scrub.c",
        enforces=("REQ-SCRUB-01", "REQ-SCRUB-02"),
    )
    def exec_scrub(step: Step, g: Gpu, k: Key, v: Slot) -> None:
        """Clear everything but model and code: what training derived is as secret as the data."""
        carry_out(step, g, k, v, Order.SCRUB)
        step.remove(buffer(g, step.each(Data)), defence="scrub-buffer")
        step.remove(placed(g, step.each(Slot), step.each(Data)), name="empty places", defence="scrub-buffer")
        step.remove(workspace(g, step.each(Data)), defence="scrub-workspace")
        step.insert(semaphore(Order.SCRUB))
        step.insert(done(k, Order.SCRUB))

    @draft.action(
        by=ORCHESTRATOR,
        says="The orchestrator sees the scrub acknowledged.",
        source="DEMY (arXiv 2507.02770): the completion semaphore is in unprotected memory",
        enforces=("REQ-SCRUB-03", "REQ-SESSION-03"),
    )
    def scrubbed(step: Step) -> None:
        """Believe the firmware's report, never a plain semaphore."""
        step.require("phase", phase == Phase.SCRUBBING)
        step.require("acknowledged", acknowledged(link_h2d, Order.SCRUB), defence="scrub-ack")
        step.require("semaphore", semaphore(Order.SCRUB), unless="scrub-ack")
        step.set(phase, Phase.CLEAN)
