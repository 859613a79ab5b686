"""What links, schedules and sessions see to is looked at once more by the roles, which stop where it was not done.

Nothing here goes wrong in a run: each row has one part of the implementation say what it never should.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep
from carnet_ref.device import CopyEngines
from carnet_ref.keys.usage import UsageSummary
from carnet_ref.systems.gpu_travelling.deployment import holder_names
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage
from carnet_ref.systems.gpu_travelling.names import GPU
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.attestation import (
    BINDING_STEPS,
    JOB_STEPS,
    QUOTE_STEPS,
    Agreed,
    GpuEvidence,
    accept_orchestrator,
)
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Link
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind, ProtocolError
from carnet_ref.wire import join
from tests.fixtures.worlds import ChainTrainer, FastAppraiser, FastDeployment, FastRequester, TestWorld, draws, world_of

PAST = UsageSummary(2, 1, 2, 1)
"""A key that protected more than it may."""
SAYS: dict[str, tuple[type, str, Any, str]] = {
    "the link's key is past its limit": (Link, "standing", PAST, "link's key is used past its limit (REQ-KEY-07)"),
    "a grant is used past its budget": (BorrowedLink, "standing", PAST, "than the grant allows (REQ-KEY-07)"),
    "the key of what goes home is past its limit": (
        CopyEngines,
        "standing",
        PAST,
        "the key of what goes home is used past its limit (REQ-KEY-07)",
    ),
    "an upload uses up no counter value": (Link, "next_slot", 0, "the counter value 0 is not used up (REQ-IV-01)"),
    "a chunk uses up no counter value": (BorrowedLink, "count", 0, "the counter value 0 is not used up (REQ-IV-01)"),
    "a rotation skips a channel": (Link, "pending_channel", 7, "channel 7 is not the next one, which is 0 (REQ-IV-04)"),
}


def run() -> tuple[TestWorld, list[str]]:
    world, told = world_of(FastDeployment(holder_names(2), 2, chunks=1, chunk_bytes=16, trainer=ChainTrainer()))
    world.run(10_000)
    return world, told


def test_nothing_is_said_in_a_run() -> None:
    world, told = run()
    assert world.orchestrator.job.progress.rounds == 2
    assert not [line for line in told if "REQ-" in line]


VERIFIED = re.compile(r"\((REQ-[A-Z]+-\d+)\)")


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=pytest.mark.verifies(f"gpu-travelling-{VERIFIED.findall(row[3])[0]}"))
        for what, row in SAYS.items()
    ],
)
def test_a_role_stops_at_what_should_never_be_said(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part, name, value, refused = SAYS[what]
    monkeypatch.setattr(part, name, property(lambda self: value))
    world, told = run()
    assert any(refused in line for line in told)
    assert world.orchestrator.job.progress.rounds == 0


@pytest.mark.verifies("gpu-travelling-REQ-IV-04")
def test_a_session_that_has_the_name_of_an_earlier_one_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its epochs would have channels that were used."""
    monkeypatch.setattr(FastRequester, "label", property(lambda self: "s1", lambda self, label: None), raising=False)
    world, told = world_of(FastDeployment(holder_names(1), 1, chunks=1, chunk_bytes=16, trainer=ChainTrainer()))
    while not world.taken("exec_upload"):
        assert world.step()
    world.deliver(Frame(PLATFORM, GPU, FrameKind.RESET, b"CONFIDENTIAL"))
    world.run(10_000)
    assert any("session s1 was open before, and its channels are used (REQ-IV-04)" in line for line in told)
    assert world.taken("open_session") == 1


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-06")
def test_a_report_that_was_changed_on_its_way_in_the_session_is_not_taken() -> None:
    """Whatever it says: what does not verify is not from the GPU at the other end."""
    world, told = world_of(FastDeployment(holder_names(1), 1, chunks=1, chunk_bytes=16, trainer=ChainTrainer()))
    while not world.taken("give_report"):
        assert world.step()
    (at,) = [place for place, frame in enumerate(world.queue) if frame.source == GPU]
    frame = world.queue[at]
    world.queue[at] = replace(frame, body=frame.body[:-1] + bytes([frame.body[-1] ^ 1]))
    while not any("given up" in line for line in told):
        assert world.step()
        assert not world.taken("accept_gpu")
    assert any("AES-GCM tag does not verify" in line for line in told)


def test_a_quote_that_is_refused_at_any_other_step_is_refused() -> None:
    """The demands of the requirements name the steps that they are about; others refuse as well."""
    held = [AppraisalStep(id, True, "") for id in sorted(QUOTE_STEPS | BINDING_STEPS | JOB_STEPS)]
    instance = bytes(16)

    class Refusing:
        def appraise(self, *_evidence: object) -> Appraisal:
            return Appraisal((*held, AppraisalStep("gpu.chain", False, "of nobody")), {"instance": instance.hex()})

    with pytest.raises(ProtocolError, match=r"gpu\.chain: of nobody"):
        accept_orchestrator(b"", b"", b"", Agreed(b"", instance), Refusing(), Checks())


def test_a_report_that_is_refused_at_any_other_step_is_refused() -> None:
    class Refusing:
        def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
            found = FastAppraiser(frozenset()).appraise(evidence, nonce)
            return replace(found, steps=(*found.steps, AppraisalStep("age", False, "of last year")))

    evidence = GpuEvidence(join(b"nonce", b"CONFIDENTIAL"), b"")
    with pytest.raises(ProtocolError, match="age: of last year"):
        facts.attested(
            FastRequester(draws("requester")), evidence, b"nonce", Refusing(), Checks(), ReceivedMessage(GPU, b"")
        )
