"""Four attacks on what binds GPU, orchestrator and holder, over real sessions and channels.

A GPU session runs over SPDM in a loop between both ends, a channel between holder and orchestrator; what comes out of
both goes into the evidence. In each attack every single piece is genuine, but belongs somewhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from carnet_ref.attestation.anchors import Anchors
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.composite import (
    Binding,
    CompositeEvidence,
    Expected,
    Verifier,
    appraise_composite,
)
from carnet_ref.attestation.intel import policy as td
from carnet_ref.attestation.nvidia import policy as nvidia
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, SimulatedVendor, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform, SimulatedTd
from carnet_ref.crypto.primitives import sha384
from carnet_ref.spdm import Responder, ResponderConfig
from carnet_ref.spdm.machine import Begin
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage
from carnet_ref.systems.gpu_travelling.evidence import GpuReporter, LabelledRequester, gpu_responder
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence
from carnet_ref.systems.gpu_travelling.roles.messages import Channel, Initiator, respond
from carnet_ref.transport.frames import ProtocolError
from tests.fixtures.spdm import Draws, deliver
from tests.fixtures.worlds import verifier_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLATFORM = SimulatedPlatform(b"a platform", NOW)
GPU = SimulatedGpu(b"a gpu", NOW)
OTHER_GPU = SimulatedGpu(b"another gpu", NOW, vendor=SimulatedVendor(b"another vendor", NOW), imitated=GPU.vendor)
SOFTWARE, OTHER_SOFTWARE = b"o" * 48, b"x" * 48
MANIFEST = sha384(b"a job")
DRAWN = b"d" * 32
GPUS = Anchors({role: GPU.anchors.of(role) + OTHER_GPU.anchors.of(role) for role in GPU.anchors.by_role})
GPU_VERIFIER = verifier_of(GPU.vendor, OTHER_GPU.vendor, at=NOW)
VERIFIER = Verifier(
    Anchors({**PLATFORM.anchors.by_role, **GPUS.by_role}),
    td.Policy(
        require=td.DEFAULT_STEPS | {"report-data", "measurements", "isolation", "tcb-status", "revocation"},
        measurements=(("mrtd", frozenset({SOFTWARE})),),
    ),
    nvidia.DEFAULT_POLICY,
    PLATFORM.collateral,
)


@dataclass(frozen=True)
class GpuEnds:
    """A session over SPDM; its responder has the key of one GPU, and reports made by that one or another."""

    requester: LabelledRequester
    responder: Responder

    def report(self, drawn: bytes = DRAWN, nonce: bytes = b"") -> GpuEvidence:
        """Have a report inside the session, on its nonce for ``drawn`` or on ``nonce``."""
        asked = self.requester.ask_report(nonce or self.requester.report_nonce(drawn))
        (answer,) = self.responder.receive(asked)
        return self.requester.take_evidence(answer)


def gpu_session(seed: str, gpu: SimulatedGpu = GPU, reporter: SimulatedGpu | None = None) -> GpuEnds:
    ours = GPU_VERIFIER.requester(Draws(f"{seed} ours"))
    certificates, draw = tuple(reversed(gpu.certificates)), Draws(f"{seed} theirs")
    theirs = Responder(ResponderConfig(certificates, gpu.key, GpuReporter(reporter or gpu, draw), draw))
    deliver(ours, Begin(), theirs)
    return GpuEnds(ours, theirs)


def channel(seed: str) -> tuple[Channel, Channel]:
    """Return both ends of a channel."""
    initiator = Initiator(Draws(f"{seed} initiator"))
    answer, far = respond(initiator.hello, Draws(f"{seed} far"))
    return initiator.finish(answer), far


def quoted(
    exporter: bytes,
    report: bytes,
    *,
    nonce: bytes = b"n" * 32,
    role: str = "orchestrator",
    td: SimulatedTd | None = None,
) -> CompositeEvidence:
    """Return what a TD with the orchestrator's software, or ``td``, says on a channel."""
    binding = Binding(role, exporter, sha384(report), nonce, 1, MANIFEST, bytes(32))
    quote = (td or PLATFORM.td(SOFTWARE)).quote(binding.report_data())
    return CompositeEvidence(binding, quote, report, GPU.chain_pem)


def seen_by_holder(evidence: CompositeEvidence, exporter: bytes, nonce: bytes = b"n" * 32) -> Appraisal:
    expected = Expected("orchestrator", exporter, nonce, 1, MANIFEST)
    return appraise_composite(evidence.encode(), expected, VERIFIER, at=NOW)


def seen_in_session(evidence: GpuEvidence, ends: GpuEnds) -> Appraisal:
    """Take a report as the running orchestrator does, for use in the session between ``ends``."""
    nonce = ends.requester.report_nonce(DRAWN)
    _, appraisal = facts.attested(
        ends.requester, evidence, nonce, GPU_VERIFIER, Checks(), ReceivedMessage("gpu", evidence.report)
    )
    return appraisal


def test_session_channel_and_evidence_of_one_run_belong_together() -> None:
    ends, (near, far) = gpu_session("one"), channel("one")
    report = ends.report()
    assert seen_in_session(report, ends).accepted
    appraisal = seen_by_holder(quoted(far.exporter, report.report), near.exporter)
    assert appraisal.accepted, appraisal.steps[-1]


# Other GPU: another genuine GPU's report is shown, or the request is passed on to one (Parno, cuckoo attack).


def test_a_responder_that_has_another_genuine_gpu_report_is_refused() -> None:
    ends = gpu_session("cuckoo", GPU, reporter=OTHER_GPU)
    with pytest.raises(ProtocolError, match="report is refused: signature"):
        seen_in_session(ends.report(), ends)


def test_a_report_that_another_genuine_gpu_made_on_this_session_s_nonce_is_refused() -> None:
    ends, others = gpu_session("one"), gpu_session("two", OTHER_GPU)
    assert seen_in_session(others.report(), others).accepted
    relayed = gpu_session("three", OTHER_GPU).report(nonce=ends.requester.report_nonce(DRAWN))
    with pytest.raises(ProtocolError, match="signed by another GPU than the session's responder"):
        seen_in_session(relayed, ends)


def test_a_holder_that_is_shown_another_genuine_gpu_refuses() -> None:
    report, (near, far) = gpu_session("one").report(), channel("one")
    other = OTHER_GPU.report(gpu_request(b"g" * 32))
    evidence = replace(quoted(far.exporter, report.report), gpu_report=other, gpu_chain=OTHER_GPU.chain_pem)
    assert seen_by_holder(evidence, near.exporter).failed_step == "gpu-report"


# Replay: evidence of an earlier moment.


def test_a_report_of_the_same_gpu_from_another_session_is_refused() -> None:
    ends, others = gpu_session("one"), gpu_session("two")
    with pytest.raises(ProtocolError, match="report is refused: nonce"):
        seen_in_session(others.report(), ends)


def test_an_earlier_report_of_the_same_gpu_is_refused_in_the_next_session() -> None:
    """The relay has the GPU sign, in its new session, the nonce of the one before."""
    earlier, ends = gpu_session("earlier"), gpu_session("one")
    stale = ends.report(nonce=earlier.requester.report_nonce(DRAWN))
    with pytest.raises(ProtocolError, match="report is refused: nonce"):
        seen_in_session(stale, ends)


def test_a_report_on_what_was_drawn_before_in_the_same_session_is_refused() -> None:
    ends = gpu_session("one")
    with pytest.raises(ProtocolError, match="report is refused: nonce"):
        seen_in_session(ends.report(b"y" * 32), ends)


def test_evidence_for_an_earlier_request_of_the_holder_is_refused() -> None:
    report, (near, far) = gpu_session("one").report(), channel("one")
    stale = quoted(far.exporter, report.report, nonce=b"y" * 32)
    assert seen_by_holder(stale, near.exporter).failed_step == "nonce"


def test_the_running_parties_ask_with_a_nonce_of_the_session_too() -> None:
    verifier, requesters = GPU_VERIFIER, []
    for seed in ("one", "two"):
        requester, responder = verifier.requester(Draws(f"{seed} ours")), gpu_responder(GPU, Draws(f"{seed} theirs"))
        deliver(requester, Begin(), responder)
        requesters.append(requester)
    ours, others = (requester.report_nonce(DRAWN) for requester in requesters)
    assert ours != others
    evidence = GpuEvidence(GPU.report(gpu_request(others)), GPU.chain_pem)
    assert verifier.appraise(evidence, ours).failed_step == "nonce"
    assert verifier.appraise(evidence, others).accepted


# Impersonation: somebody else sits at the orchestrator's end of the channel.


@pytest.mark.parametrize(
    ("impostor", "step"),
    [
        (PLATFORM.td(OTHER_SOFTWARE), "quote.measurements"),
        (PLATFORM.td(SOFTWARE, debug=True), "quote.debug"),
        (SimulatedPlatform(b"a platform of its own", NOW).td(SOFTWARE), "quote.pck-chain"),
    ],
    ids=["a genuine TD with other software", "a TD that its host may read", "a platform of its own"],
)
def test_an_impostor_at_the_orchestrator_s_end_is_refused(impostor: SimulatedTd, step: str) -> None:
    report, (near, far) = gpu_session("one").report(), channel("impostor")
    assert seen_by_holder(quoted(far.exporter, report.report, td=impostor), near.exporter).failed_step == step


def test_an_impostor_with_a_quote_over_nothing_of_this_is_refused() -> None:
    report, (near, far) = gpu_session("one").report(), channel("impostor")
    bound_to_nothing = replace(quoted(far.exporter, report.report), quote=PLATFORM.td(SOFTWARE).quote(bytes(64)))
    assert seen_by_holder(bound_to_nothing, near.exporter).failed_step == "quote.report-data"


# Relay and diversion of the honest orchestrator's quote (Sardar et al.).


def test_a_quote_made_for_the_attacker_s_own_channel_is_refused_on_the_holder_s() -> None:
    report = gpu_session("one").report()
    _, orchestrators = channel("attacker to orchestrator")
    holders, attackers = channel("holder to attacker")
    relayed = quoted(orchestrators.exporter, report.report)
    assert seen_by_holder(relayed, holders.exporter).failed_step == "channel"
    rewritten = replace(relayed, binding=replace(relayed.binding, exporter=attackers.exporter))
    assert seen_by_holder(rewritten, holders.exporter).failed_step == "quote.report-data"


def test_a_quote_that_the_same_software_made_in_another_role_is_refused() -> None:
    report, (near, far) = gpu_session("one").report(), channel("one")
    diverted = quoted(far.exporter, report.report, role="holder")
    assert seen_by_holder(diverted, near.exporter).failed_step == "role"
