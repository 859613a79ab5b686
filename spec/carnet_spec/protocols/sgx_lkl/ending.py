"""The end: at the deadline, with a status that tells what the host did and a result of one size."""

from __future__ import annotations

from carnet_spec.language import Draft, Step, exists, forall
from carnet_spec.protocols.sgx_lkl.vocabulary import (
    ENCLAVE,
    Ending,
    Message,
    Phase,
    Tick,
    bound,
    deadline,
    failed,
    fits,
    length,
    now,
    phase,
    result_size,
    status,
    twice,
    waiting,
)


def specify_end(draft: Draft) -> None:
    """Add the end of a run to ``draft``."""

    @draft.action(
        by=ENCLAVE,
        says="The run ends in {t}; its result is {m}.",
        message="enclave -> host: the end, with a result",
        source="Carnet (how long a run takes)",
        enforces=("REQ-END-01", "REQ-END-02", "REQ-END-03"),
    )
    def finish(step: Step, t: Tick, m: Message) -> None:
        """A grant ends when the manifest says, whether or not the application is done."""
        step.require("running", phase == Phase.RUNNING)
        step.require("its tick", now == t)
        step.require("at the deadline", t == deadline, defence="fixed-end")
        step.require("nothing waits", forall(lambda n: ~waiting(n), Message), unless="fixed-end")
        step.require("a result that fits", fits(m))
        step.insert(twice(t), when=phase == Phase.OVER)
        step.set(phase, Phase.OVER)
        step.set(status, Ending.FAILED, when=failed, defence="uniform-status", name="tell what the host did")
        step.set(status, Ending.DONE, when=~failed, defence="uniform-status", name="tell that the host served")
        left = exists(waiting, Message)
        step.set(status, Ending.FAILED, when=left, unless="uniform-status", name="tell that calls wait")
        step.set(status, Ending.DONE, when=~left, unless="uniform-status", name="tell that no call waits")
        step.set(result_size, bound, defence="pad-result", name="pad the result")
        step.set(result_size, length(m), unless="pad-result", name="show the length of the result")
