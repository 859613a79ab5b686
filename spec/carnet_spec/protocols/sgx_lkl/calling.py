"""Calls: the application asks for what it likes, and in every tick one frame leaves, alike in all but its content."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.sgx_lkl.vocabulary import (
    ENCLAVE,
    Message,
    Phase,
    Tick,
    address,
    aim,
    alike,
    bound,
    carried,
    dummy,
    edge,
    effort,
    filled,
    fits,
    frame,
    length,
    moment,
    now,
    operation,
    phase,
    place,
    revisit,
    shuffled,
    size,
    sweep,
    turn,
    twice,
    underway,
    waiting,
)

_OBLIVIOUS = "SGX-LKL, abstract: host operations independent of the workload"
_DUMMIES = "SGX-LKL, abstract: dummy packets for constant bit rates"


def specify_calls(draft: Draft) -> None:
    """Add what the application asks for, and what leaves the enclave, to ``draft``."""

    @draft.action(by=ENCLAVE, says="The application asks for {m}.", source=_OBLIVIOUS, enforces="REQ-SIZE-02")
    def call(step: Step, m: Message) -> None:
        """The library OS keeps the call, and cuts what is longer than a frame."""
        step.require("running", phase == Phase.RUNNING)
        step.require("fits a frame", fits(m), defence="cut-to-frames")
        step.insert(waiting(m), when=m != dummy)

    @draft.action(
        by=ENCLAVE,
        says="A frame leaves in {t}; it carries {m}.",
        message="enclave -> host: a frame, in {t}",
        source=_DUMMIES,
        enforces=(
            "REQ-SIZE-01",
            "REQ-COUNT-01",
            "REQ-COUNT-02",
            "REQ-ORDER-01",
            "REQ-TIME-01",
            "REQ-ADDRESS-01",
            "REQ-CONTENT-01",
        ),
    )
    def emit(step: Step, t: Tick, m: Message) -> None:
        """What the tick is for decides what leaves; only the content depends on what the application waits for."""
        step.require("running", phase == Phase.RUNNING)
        step.require("its tick", now == t)
        step.require("no frame yet", ~frame(t))
        step.require("what waits, or a dummy", waiting(m) | (m == dummy))
        step.require("not on its way", ~underway(m))
        step.require("something to say", (m != dummy) | filled(turn(t)), unless="dummy-calls")
        step.require("its turn", (m == dummy) | (aim(m) == turn(t)), defence="fixed-order")
        step.require("its block", (m == dummy) | (place(m) == sweep(t)), defence="fixed-scan")
        step.insert(twice(t), when=frame(t))
        step.insert(frame(t))
        step.set(carried(t), m)
        step.insert(underway(m), when=m != dummy)
        _show(step, t, m)


def _show(step: Step, t: Tick, m: Message) -> None:
    """Say what the host sees of the frame that carries ``m``."""
    step.set(size(t), bound, when=fits(m), defence="pad-frames", name="pad")
    step.set(size(t), length(m), when=~fits(m), defence="pad-frames", name="longer than a frame")
    step.set(size(t), length(m), unless="pad-frames", name="show the length")
    step.set(operation(t), turn(t), defence="fixed-order", name="show the turn")
    step.set(operation(t), aim(m), unless="fixed-order", name="show the call")
    step.set(moment(t), edge, defence="constant-rate", name="leave at the end of the tick")
    step.set(moment(t), effort(m), unless="constant-rate", name="leave when ready")
    step.set(address(t), sweep(t), defence="fixed-scan", name="show the block whose turn it is")
    step.set(address(t), place(m), when=~shuffled, unless="fixed-scan", name="show the block")
    seen, same, equal = step.each(Tick), step.each(Tick), step.each(Tick)
    swept, needed = sweep(seen) == sweep(t), place(carried(same)) == place(m)
    step.insert(revisit(t, seen), when=frame(seen) & swept, defence="fixed-scan", name="come back in the scan")
    step.insert(revisit(t, same), when=frame(same) & needed, unless="fixed-scan", name="come back on demand")
    step.insert(alike(t, t), name="a frame is equal to itself")
    step.insert(alike(t, equal), when=frame(equal) & (carried(equal) == m), unless="fresh-iv")
