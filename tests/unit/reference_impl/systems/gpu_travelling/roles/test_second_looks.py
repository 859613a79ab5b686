"""What links, schedules, sessions and verifiers see to is looked at once more by the roles, and so is age."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep
from carnet_ref.device import CopyEngines, Mode
from carnet_ref.keys import UsageSummary
from carnet_ref.systems.gpu_travelling.ablations.deployment import AblatedDeployment
from carnet_ref.systems.gpu_travelling.deployment import LEAKED, holder_names
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage
from carnet_ref.systems.gpu_travelling.names import GPU
from carnet_ref.systems.gpu_travelling.roles import attestation, facts, states
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence, GpuEvidenceVerifier
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Link
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind, ProtocolError
from carnet_ref.wire import join
from tests.fixtures.worlds import (
    ChainTrainer,
    FastDeployment,
    FastGpuVerifier,
    FastRequester,
    TestWorld,
    draws,
    world_of,
)

PAST = UsageSummary(2, 1, 2, 1)  #: A key that protected more than it may.
SAYS: dict[str, tuple[type, str, Any, str]] = {
    "the link's key is past its limit": (Link, "summary", PAST, "link's key is used past its limit (REQ-KEY-07)"),
    "a grant is used past its budget": (BorrowedLink, "summary", PAST, "than the grant allows (REQ-KEY-07)"),
    "the key of what goes home is past its limit": (
        CopyEngines,
        "summary",
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
    held = [
        AppraisalStep(id, True, "")
        for id in sorted(attestation.QUOTE_STEPS | attestation.BINDING_STEPS | attestation.JOB_STEPS)
    ]
    instance = bytes(16)

    class Refusing:
        def appraise(self, *_evidence: object) -> Appraisal:
            return Appraisal((*held, AppraisalStep("gpu.chain", False, "of nobody")), {"instance": instance.hex()})

    with pytest.raises(ProtocolError, match=r"gpu\.chain: of nobody"):
        attestation.accept_orchestrator(b"", b"", b"", attestation.Agreed(b"", instance), Refusing(), Checks())


def test_a_report_that_is_refused_at_any_other_step_is_refused() -> None:
    class Refusing:
        def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
            found = FastGpuVerifier(frozenset()).appraise(evidence, nonce)
            return replace(found, steps=(*found.steps, AppraisalStep("age", False, "of last year")))

    evidence = GpuEvidence(join(b"nonce", b"CONFIDENTIAL"), b"")
    with pytest.raises(ProtocolError, match="age: of last year"):
        facts.establish_attestation(
            FastRequester(draws("requester")), evidence, b"nonce", Refusing(), Checks(), ReceivedMessage(GPU, b"")
        )


LASTS = 10.0
UNCHECKED = frozenset({"attestation-age"})


def _world(off: frozenset[str] = frozenset(), rounds: int = 1) -> tuple[TestWorld, list[str]]:
    """Return a world in which evidence lasts for ten seconds, and any answer may take longer."""
    deployment = FastDeployment(holder_names(1), rounds, chunks=1, patience=100.0, trainer=ChainTrainer(), off=off)
    world, told = world_of(deployment)
    job = world.orchestrator.job
    terms = replace(job.terms, evidence_lasts=LASTS)
    world.orchestrator.state = replace(world.orchestrator.state, job=replace(job, terms=terms))
    return world, told


class Short:
    """A verifier whose authorities vouch for a few seconds only."""

    def __init__(self, verifier: GpuEvidenceVerifier, seconds: float) -> None:
        self._verifier, self._seconds = verifier, seconds

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        found = self._verifier.appraise(evidence, nonce)
        return Appraisal(found.steps, {**found.claims, "seconds_left": self._seconds})


def _vouched(seconds: float) -> TestWorld:
    """Return a world in which what the appraisal rests on runs out after so many seconds."""
    world, _ = _world()
    job = world.orchestrator.job
    tools = replace(job.tools, verifier=Short(job.tools.verifier, seconds))
    world.orchestrator.state = replace(world.orchestrator.state, job=replace(job, tools=tools))
    return world


def _delayed(world: TestWorld, reached: Callable[[], bool], seconds: float) -> None:
    """Go on until a state is reached, let time pass there once, and then go on to the end."""
    while not reached():
        world.step()
    world.now += seconds
    world.tick()
    world.run()


def _scrubs_after_a_round(world: TestWorld) -> bool:
    return world.orchestrator.job.progress.rounds == 1 and isinstance(world.orchestrator.state, states.AwaitsScrub)


def _granted(world: TestWorld) -> int:
    return world.taken("grant")


def _sessions(world: TestWorld) -> int:
    return world.taken("open_session")


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-13")
@pytest.mark.parametrize(("seconds", "refused"), [(LASTS, 0), (LASTS + 1, 1)], ids=["in time", "too late"])
def test_evidence_that_grew_old_is_not_appraised(seconds: float, refused: int) -> None:
    world, told = _world()
    _delayed(world, lambda: isinstance(world.orchestrator.state, states.AwaitsReport), seconds)
    assert world.failure == ""
    assert _sessions(world) - world.taken("accept_gpu") == refused
    assert any("given up: the GPU's evidence is 11 seconds old, and lasts 10" in line for line in told) is bool(refused)


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-13")
@pytest.mark.parametrize(("seconds", "sessions"), [(LASTS, 1), (LASTS + 1, 2)], ids=["in time", "too late"])
def test_evidence_that_grew_old_opens_no_grant(seconds: float, sessions: int) -> None:
    world, told = _world()
    _delayed(world, lambda: isinstance(world.orchestrator.state, states.AwaitsRotationOut), seconds)
    assert world.failure == ""
    assert (_granted(world), _sessions(world)) == (1, sessions)
    assert any("given up: the GPU's evidence is 11 seconds old, and lasts 10" in line for line in told) is (
        sessions > 1
    )


def test_the_age_counts_from_the_nonce_and_without_its_check_old_evidence_opens_a_grant() -> None:
    world, told = _world()
    _delayed(world, lambda: isinstance(world.orchestrator.state, states.AwaitsReport), LASTS / 2 + 1)
    assert any("session renewed: the GPU's evidence is 6 seconds old" in line for line in told)
    used, _ = _world(UNCHECKED)
    _delayed(used, lambda: isinstance(used.orchestrator.state, states.AwaitsRotationOut), LASTS + 1)
    assert _sessions(used) == 1
    appraised, _ = _world(UNCHECKED)
    _delayed(appraised, lambda: isinstance(appraised.orchestrator.state, states.AwaitsReport), LASTS + 1)
    assert _sessions(appraised) == 2


@pytest.mark.parametrize(
    ("off", "sessions"), [(frozenset[str](), 2), (UNCHECKED, 1)], ids=["looked at", "not looked at"]
)
def test_evidence_that_is_due_renews_the_session_between_rounds_and_nothing_is_lost(
    off: frozenset[str], sessions: int
) -> None:
    """Nothing failed, so no failure is counted; a long job would end by them."""
    world, told = _world(off, rounds=2)
    _delayed(world, lambda: isinstance(world.orchestrator.state, states.AwaitsTraining), LASTS / 2 + 1)
    assert (world.failure, world.orchestrator.job.failures) == ("", 0)
    assert (_granted(world), _sessions(world), world.orchestrator.job.books.lost) == (2, sessions, ())
    assert any("session renewed: the GPU's evidence is 6 seconds old" in line for line in told) is (sessions > 1)


def test_evidence_is_due_after_half_of_its_time_and_renews_the_session_without_a_failure() -> None:
    """The version that nobody brought home is lost with the session, and its round is done again."""
    world, _ = _world(rounds=2)
    _delayed(world, lambda: _scrubs_after_a_round(world), LASTS + 1)
    assert (world.failure, world.orchestrator.job.failures) == ("", 0)
    assert _sessions(world) == 2
    world = _vouched(4.0)
    while not isinstance(world.orchestrator.state, states.AwaitsReturn):
        world.step()
    job = world.orchestrator.job
    assert [replace(job, now=now).evidence_is_due for now in (2.0, 2.1)] == [False, True]
    assert [replace(job, now=now).evidence_is_old for now in (4.0, 4.1)] == [False, True]


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-13", "gpu-travelling-REQ-RETURN-04")
@pytest.mark.parametrize(("vouched", "ends"), [(4.0, 4.0), (LASTS, LASTS), (100.0, LASTS)])
def test_no_lease_outlasts_what_the_evidence_rests_on(vouched: float, ends: float) -> None:
    world = _vouched(vouched)
    while not isinstance(world.orchestrator.state, states.AwaitsReturn):
        world.step()
    job = world.orchestrator.job
    assert (job.evidence_end, job.deadline) == (ends, ends)
    (granted,) = [event for event in map(json.loads, world.recorder.lines) if event.get("action") == "grant"]
    assert granted["at"]["end"] == ends


PLAIN = AblatedDeployment(holder_names(1), 1, chunks=1, chunk_bytes=64)
#: A deployment with each GPU, the defence against it, and what the orchestrator says of it.
BAD = {
    "out of confidential mode": (replace(PLAIN, mode=Mode.OPEN), "mode-check", "mode: the mode is not said"),
    "debugged": (replace(PLAIN, mode=Mode.DEBUG), "debug-check", "debug: the device is or was debugged"),
    "outdated": (replace(PLAIN, mode=Mode.OUTDATED), "reference-values", "vbios-rim: version"),
    "a leaked device key": (replace(PLAIN, gpu_name=LEAKED), "revocation-check", "revocation: 'GH100 TEST GSP BROM'"),
    "a fake": (replace(PLAIN, gpu_name="fake1"), "gpu-certificate", "TEST root of simulated GPUs"),
}


#: The requirement, of those on the setup, that refuses each.
REFUSED_BY = {
    "out of confidential mode": "05",
    "debugged": "14",
    "outdated": "15",
    "a leaked device key": "16",
    "a fake": "03",
}


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=pytest.mark.verifies(f"gpu-travelling-REQ-SETUP-{number}"))
        for what, number in REFUSED_BY.items()
    ],
)
def test_a_bad_gpu_is_never_lent(what: str) -> None:
    deployment, _, said = BAD[what]
    world, told = world_of(deployment)
    world.run()
    assert "sessions failed" in world.failure
    assert said in world.failure
    assert all("\n" not in line for line in told)
    assert world.taken("grant") == world.taken("accept_gpu") == 0


@pytest.mark.parametrize("what", BAD)
def test_without_its_check_a_bad_gpu_is_lent(what: str) -> None:
    deployment, defence, _ = BAD[what]
    world, _ = world_of(replace(deployment, off=frozenset({defence})))
    world.run()
    assert world.failure == ""
    assert world.taken("grant")


def test_a_good_gpu_passes_every_check() -> None:
    world, _ = world_of(PLAIN)
    world.run()
    told = world.orchestrator.outcome()["appraisal"]
    assert world.failure == ""
    assert told["not_compared"] == {}
    assert {"revocation", "driver-rim", "vbios-rim", "rim-revocation", "measurements", "mode", "debug"} <= set(
        told["compared"]
    )
    assert (told["claims"]["device"], told["claims"]["mode"]) == ("gpu1", "CONFIDENTIAL")
