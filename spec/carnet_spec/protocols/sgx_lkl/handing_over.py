"""The hand-over: a holder sends its dataset in chunks, as many as the manifest says, however many it has."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.sgx_lkl.vocabulary import (
    HOLDER,
    Phase,
    Tick,
    before,
    bound,
    chunk,
    chunk_size,
    extent,
    manifest,
    now,
    phase,
    tail,
    twice,
    within,
)

_HAND_OVER = "Carnet (the shape of a hand-over)"


def specify_hand_over(draft: Draft) -> None:
    """Add what the holder sends to ``draft``."""

    @draft.action(by=HOLDER, says="The holder has data up to {n}.", source=_HAND_OVER, enforces="REQ-HAND-OVER-01")
    def plan(step: Step, n: Tick) -> None:
        """A holder whose data does not fit the manifest's bound takes no part."""
        step.require("at first", phase == Phase.PLANNED)
        step.require("within the manifest", within(n, manifest))
        step.set(extent, n)
        step.set(phase, Phase.LOADING)

    @draft.action(
        by=HOLDER,
        says="The holder sends the chunk of {t}.",
        message="holder -> host: a chunk, in {t}",
        source=_HAND_OVER,
        enforces=("REQ-HAND-OVER-01", "REQ-HAND-OVER-02"),
    )
    def send_chunk(step: Step, t: Tick) -> None:
        """Where there is no data left, a chunk is filler."""
        step.require("loading", phase == Phase.LOADING)
        step.require("its tick", now == t)
        step.require("not yet", ~chunk(t))
        step.require("up to the manifest's bound", within(t, manifest))
        step.require("data left", within(t, extent), unless="fill-chunks")
        step.insert(twice(t), when=chunk(t))
        step.insert(chunk(t))
        step.set(chunk_size(t), bound, defence="pad-chunks", name="a whole chunk")
        step.set(chunk_size(t), bound, when=t != extent, unless="pad-chunks", name="a full chunk")
        step.set(chunk_size(t), tail, when=t == extent, unless="pad-chunks", name="what is left")

    @draft.action(
        by=HOLDER,
        says="The hand-over is over, and the application begins in {t}.",
        message="holder -> host: the hand-over is over",
        source=_HAND_OVER,
        enforces="REQ-HAND-OVER-03",
    )
    def begin_run(step: Step, t: Tick) -> None:
        """When the hand-over is over, the manifest says."""
        step.require("loading", phase == Phase.LOADING)
        step.require("its tick", now == t)
        step.require("the manifest's bound has passed", before(manifest, t), defence="fixed-hand-over")
        step.require("the data has passed", before(extent, t), unless="fixed-hand-over")
        step.set(phase, Phase.RUNNING)
