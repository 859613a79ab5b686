"""Composite evidence: quote, report and binding together; no part of one passes for another's."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from carnet_ref.attestation import composite
from carnet_ref.attestation.appraisal import Anchors, Appraisal, default_anchors
from carnet_ref.attestation.intel import appraisal as td
from carnet_ref.attestation.nvidia import appraisal as nvidia
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, SimulatedVendor, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform, SimulatedTd
from carnet_ref.crypto.primitives import sha384
from carnet_ref.spdm.endpoints import Responder
from carnet_ref.spdm.machine import Begin
from carnet_ref.spdm.responder import ResponderConfig
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage
from carnet_ref.systems.gpu_travelling.evidence import GpuReporter, LabelledRequester, gpu_responder
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.attestation import GpuEvidence
from carnet_ref.systems.gpu_travelling.roles.messages import Channel, Initiator, respond
from carnet_ref.transport.frames import ProtocolError
from carnet_ref.wire import MalformedError
from tests.fixtures.spdm import Draws, deliver
from tests.fixtures.worlds import verifier_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLATFORM = SimulatedPlatform(b"a platform", NOW)
GPU = SimulatedGpu(b"a gpu", NOW)
OTHER_GPU = SimulatedGpu(b"another gpu", NOW)
EXPECTED = composite.Expected("orchestrator", b"e" * 48, b"n" * 32, 1, sha384(b"a job"))
VERIFIER = composite.Verifier(
    Anchors({**PLATFORM.anchors.by_role, **GPU.anchors.by_role}),
    replace(td.DEFAULT_POLICY, require=td.DEFAULT_STEPS | {"report-data", "tcb-status", "revocation"}),
    nvidia.DEFAULT_POLICY,
    PLATFORM.collateral,
)
REPORT = GPU.report(gpu_request(b"g" * 32))
BINDING = composite.Binding("orchestrator", b"e" * 48, sha384(REPORT), b"n" * 32, 1, sha384(b"a job"), b"i" * 32)
OTHERWISE = {
    "role": replace(BINDING, role="holder"),
    "channel": replace(BINDING, exporter=b"f" * 48),
    "nonce": replace(BINDING, nonce=b"o" * 32),
    "epoch": replace(BINDING, epoch=2),
    "manifest": replace(BINDING, manifest=sha384(b"another job")),
    "gpu-report": replace(BINDING, gpu_report_digest=sha384(OTHER_GPU.report(gpu_request(b"g" * 32)))),
}


def _evidence(binding: composite.Binding = BINDING) -> composite.CompositeEvidence:
    return composite.CompositeEvidence(binding, PLATFORM.td().quote(binding.report_data()), REPORT, GPU.chain_pem)


def test_evidence_bound_to_what_is_expected_is_read_as_it_was_written_and_accepted() -> None:
    appraisal = composite.appraise_composite(_evidence().encode(), EXPECTED, VERIFIER, at=NOW)
    assert appraisal.accepted, appraisal.steps[-1]
    assert appraisal.claims["role"] == "orchestrator"
    assert composite.parse_evidence(_evidence().encode()) == _evidence()


@pytest.mark.parametrize("step", OTHERWISE)
def test_a_quote_bound_to_something_else_is_refused_where_it_differs_rewritten_or_not(step: str) -> None:
    """Role and channel: diversion and relay; nonce: replay; gpu-report: another GPU's report beside a genuine quote."""
    appraisal = composite.appraise_composite(_evidence(OTHERWISE[step]).encode(), EXPECTED, VERIFIER, at=NOW)
    assert appraisal.failed_step == step
    relayed = replace(_evidence(OTHERWISE[step]), binding=BINDING)
    appraisal = composite.appraise_composite(relayed.encode(), EXPECTED, VERIFIER, at=NOW)
    assert appraisal.failed_step == "quote.report-data"


def test_the_instance_is_told_as_the_td_committed_to_it_and_cannot_be_rewritten() -> None:
    other = _evidence(replace(BINDING, instance=b"j" * 32))
    told = composite.appraise_composite(other.encode(), EXPECTED, VERIFIER, at=NOW)
    assert (told.accepted, told.claims["instance"]) == (True, (b"j" * 32).hex())
    rewritten = replace(other, binding=BINDING)
    assert (
        composite.appraise_composite(rewritten.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "quote.report-data"
    )


@pytest.mark.parametrize("instance", [b"", b"i" * 31, b"i" * 33])
def test_an_instance_of_another_length_is_refused_at_parse(instance: bytes) -> None:
    evidence = _evidence(replace(BINDING, instance=instance))
    assert composite.appraise_composite(evidence.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "parse"


@pytest.mark.parametrize("step", sorted(set(OTHERWISE) - {"gpu-report"}))
def test_each_attack_comes_through_where_a_verifier_expects_what_the_evidence_says(step: str) -> None:
    field = {"channel": "exporter"}.get(step, step)
    expected = replace(EXPECTED, **{field: getattr(OTHERWISE[step], field)})
    assert composite.appraise_composite(_evidence(OTHERWISE[step]).encode(), expected, VERIFIER, at=NOW).accepted


def test_the_report_of_another_gpu_is_refused_though_the_td_vouches_for_it() -> None:
    swapped = replace(_evidence(), gpu_report=OTHER_GPU.report(gpu_request(b"g" * 32)), gpu_chain=OTHER_GPU.chain_pem)
    assert composite.appraise_composite(swapped.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "gpu-report"
    report = OTHER_GPU.report(gpu_request(b"g" * 32))
    binding = replace(BINDING, gpu_report_digest=sha384(report))
    quote = PLATFORM.td().quote(binding.report_data())
    evidence = composite.CompositeEvidence(binding, quote, report, OTHER_GPU.chain_pem)
    assert composite.appraise_composite(evidence.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "gpu.chain"


def test_a_verifier_leaves_out_what_it_has_no_policy_for_and_takes_no_debugged_or_simulated_td() -> None:
    verifier = replace(VERIFIER, gpu_policy=None)
    appraisal = composite.appraise_composite(_evidence().encode(), EXPECTED, verifier, at=NOW)
    assert appraisal.accepted
    assert appraisal.steps[-1].id == "gpu"
    assert appraisal.steps[-1].ok is None
    quote = PLATFORM.td(debug=True).quote(BINDING.report_data())
    evidence = replace(_evidence(), quote=quote)
    assert composite.appraise_composite(evidence.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "quote.debug"
    verifier = replace(VERIFIER, anchors=default_anchors())
    assert (
        composite.appraise_composite(_evidence().encode(), EXPECTED, verifier, at=NOW).failed_step == "quote.pck-chain"
    )


@pytest.mark.parametrize(
    ("verifier", "failed"),
    [
        (replace(VERIFIER, td_policy=td.Policy()), "quote.policy"),
        (replace(VERIFIER, gpu_policy=nvidia.Policy()), "gpu.policy"),
    ],
)
def test_an_empty_policy_accepts_nothing(verifier: composite.Verifier, failed: str) -> None:
    assert composite.appraise_composite(_evidence().encode(), EXPECTED, verifier, at=NOW).failed_step == failed


def test_no_two_bindings_ask_for_the_same_quote() -> None:
    """Fields move into each other only where lengths are left out of the encoding."""
    one = replace(BINDING, role="ab", exporter=b"c" * 33)
    other = replace(BINDING, role="abc", exporter=b"c" * 32)
    bindings = [one, other, BINDING, *OTHERWISE.values()]
    assert len({binding.report_data() for binding in bindings}) == len(bindings)


@pytest.mark.parametrize("length", [0, 10, 27, 40, 300, -1])
def test_truncated_evidence_is_refused_at_parse(length: int) -> None:
    evidence = _evidence().encode()
    assert composite.appraise_composite(evidence[:length], EXPECTED, VERIFIER, at=NOW).failed_step == "parse"
    with pytest.raises(MalformedError):
        composite.parse_evidence(evidence + b"\0")


def test_nothing_may_follow_a_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = composite.Binding.encode
    monkeypatch.setattr(composite.Binding, "encode", lambda self: encode(self) + b"\0")
    with pytest.raises(MalformedError, match="binding"):
        composite.parse_evidence(_evidence().encode())


ATTACKERS_GPU = SimulatedGpu(b"another gpu", NOW, vendor=SimulatedVendor(b"another vendor", NOW), imitated=GPU.vendor)
SOFTWARE, OTHER_SOFTWARE = b"o" * 48, b"x" * 48
MANIFEST = sha384(b"a job")
DRAWN = b"d" * 32
GPUS = Anchors({role: GPU.anchors.of(role) + ATTACKERS_GPU.anchors.of(role) for role in GPU.anchors.by_role})
GPU_VERIFIER = verifier_of(GPU.vendor, ATTACKERS_GPU.vendor, at=NOW)
DEPLOYED_VERIFIER = composite.Verifier(
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
) -> composite.CompositeEvidence:
    """Return what a TD with the orchestrator's software, or ``td``, says on a channel."""
    binding = composite.Binding(role, exporter, sha384(report), nonce, 1, MANIFEST, bytes(32))
    quote = (td or PLATFORM.td(SOFTWARE)).quote(binding.report_data())
    return composite.CompositeEvidence(binding, quote, report, GPU.chain_pem)


def seen_by_holder(evidence: composite.CompositeEvidence, exporter: bytes, nonce: bytes = b"n" * 32) -> Appraisal:
    expected = composite.Expected("orchestrator", exporter, nonce, 1, MANIFEST)
    return composite.appraise_composite(evidence.encode(), expected, DEPLOYED_VERIFIER, at=NOW)


def seen_in_session(evidence: GpuEvidence, ends: GpuEnds) -> Appraisal:
    """Take a report as the running orchestrator does, for use in the session between ``ends``."""
    nonce = ends.requester.report_nonce(DRAWN)
    _, appraisal = facts.establish_attestation(
        ends.requester, evidence, nonce, GPU_VERIFIER, Checks(), ReceivedMessage("gpu", evidence.report)
    )
    return appraisal


def test_the_report_of_another_genuine_gpu_is_refused_by_both_ends() -> None:
    ends, (near, far) = gpu_session("one"), channel("one")
    report = ends.report()
    assert seen_in_session(report, ends).accepted
    appraisal = seen_by_holder(quoted(far.exporter, report.report), near.exporter)
    assert appraisal.accepted, appraisal.steps[-1]
    ends = gpu_session("cuckoo", GPU, reporter=ATTACKERS_GPU)
    with pytest.raises(ProtocolError, match="report is refused: signature"):
        seen_in_session(ends.report(), ends)
    ends, others = gpu_session("one"), gpu_session("two", ATTACKERS_GPU)
    assert seen_in_session(others.report(), others).accepted
    relayed = gpu_session("three", ATTACKERS_GPU).report(nonce=ends.requester.report_nonce(DRAWN))
    with pytest.raises(ProtocolError, match="signed by another GPU than the session's responder"):
        seen_in_session(relayed, ends)
    report, (near, far) = gpu_session("one").report(), channel("one")
    other = ATTACKERS_GPU.report(gpu_request(b"g" * 32))
    evidence = replace(quoted(far.exporter, report.report), gpu_report=other, gpu_chain=ATTACKERS_GPU.chain_pem)
    assert seen_by_holder(evidence, near.exporter).failed_step == "gpu-report"


# Other GPU: another genuine GPU's report is shown, or the request is passed on to one (Parno, cuckoo attack).


# Replay: evidence of an earlier moment.


def test_no_report_and_no_evidence_counts_in_another_session_or_twice() -> None:
    ends, others = gpu_session("one"), gpu_session("two")
    with pytest.raises(ProtocolError, match="report is refused: nonce"):
        seen_in_session(others.report(), ends)
    earlier, ends = gpu_session("earlier"), gpu_session("one")
    stale = ends.report(nonce=earlier.requester.report_nonce(DRAWN))
    with pytest.raises(ProtocolError, match="report is refused: nonce"):
        seen_in_session(stale, ends)
    ends = gpu_session("one")
    with pytest.raises(ProtocolError, match="report is refused: nonce"):
        seen_in_session(ends.report(b"y" * 32), ends)
    report, (near, far) = gpu_session("one").report(), channel("one")
    old = quoted(far.exporter, report.report, nonce=b"y" * 32)
    assert seen_by_holder(old, near.exporter).failed_step == "nonce"


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
