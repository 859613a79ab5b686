"""The host: gives ticks and answers frames; where it is hostile, it also refuses, and makes answers up."""

from __future__ import annotations

from carnet_spec.language import Draft, Step
from carnet_spec.protocols.sgx_lkl.vocabulary import (
    ADVERSARY,
    ENCLAVE,
    HOST,
    Tick,
    answered,
    before,
    carried,
    dummy,
    failed,
    frame,
    hostile,
    misled,
    now,
    resent,
    underway,
    waiting,
)


def specify_host(draft: Draft) -> None:
    """Add what the host does, and how the enclave reacts, to ``draft``."""

    @draft.action(by=HOST, says="The host gives {u}, after {t}.", source="Carnet (the host schedules)")
    def advance(step: Step, t: Tick, u: Tick) -> None:
        """When the enclave runs, the host decides; it may leave ticks out."""
        step.require("now", now == t)
        step.require("later", before(t, u))
        step.set(now, u)

    @draft.action(
        by=ENCLAVE,
        says="The host serves the frame of {t}, and the enclave takes the answer.",
        message="host -> enclave: the answer to the frame of {t}",
        source="SGX-LKL, abstract: encrypts and integrity-protects all data",
    )
    def serve(step: Step, t: Tick) -> None:
        """The application has what it waited for."""
        step.require("a frame", frame(t) & ~answered(t))
        step.insert(answered(t))
        step.remove(waiting(carried(t)))
        step.remove(underway(carried(t)))

    @draft.action(
        by=ADVERSARY,
        says="The host refuses the frame of {t}.",
        message="host -> enclave: an error, for the frame of {t}",
        source="Carnet (retry)",
        enforces="REQ-REFUSAL-01",
        cost=1,
    )
    def refuse(step: Step, t: Tick) -> None:
        """The frame is sealed again and sent again, which only a call needs."""
        step.given("hostile", hostile)
        step.given("a frame", frame(t) & ~answered(t))
        step.insert(resent(t), defence="retry-alike", name="send it again")
        step.insert(resent(t), when=carried(t) != dummy, unless="retry-alike", name="send a call again")

    @draft.action(
        by=ADVERSARY,
        says="The host makes up an answer to the frame of {t}.",
        message="host -> enclave: made up, for the frame of {t}",
        source="Checkoway and Shacham, ASPLOS 2013, Iago attacks",
        enforces=("REQ-ERROR-01", "REQ-ERROR-02"),
        cost=1,
    )
    def spoil(step: Step, t: Tick) -> None:
        """What a dummy is answered is verified as everything is."""
        step.given("hostile", hostile)
        step.given("a frame", frame(t) & ~answered(t))
        step.insert(answered(t))
        step.remove(underway(carried(t)))
        step.insert(failed, defence="check-dummies", name="note the failure")
        step.insert(failed, when=carried(t) != dummy, unless="check-dummies", name="note the failure of a call")
        step.insert(misled(t), when=carried(t) != dummy, unless="verify-answer")
