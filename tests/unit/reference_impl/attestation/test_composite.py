"""Composite evidence: accepted on the channel, in the role, session and job that it was made for, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from carnet_ref.attestation.anchors import Anchors, default_anchors
from carnet_ref.attestation.composite import (
    Binding,
    CompositeEvidence,
    Expected,
    Verifier,
    appraise_composite,
    parse_evidence,
)
from carnet_ref.attestation.intel import policy as td
from carnet_ref.attestation.nvidia import policy as nvidia
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.crypto.primitives import sha384
from carnet_ref.wire import MalformedError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLATFORM = SimulatedPlatform(b"a platform", NOW)
GPU = SimulatedGpu(b"a gpu", NOW)
OTHER_GPU = SimulatedGpu(b"another gpu", NOW)
EXPECTED = Expected("orchestrator", b"e" * 48, b"n" * 32, 1, sha384(b"a job"))
VERIFIER = Verifier(
    Anchors({**PLATFORM.anchors.by_role, **GPU.anchors.by_role}),
    replace(td.DEFAULT_POLICY, require=td.DEFAULT_STEPS | {"report-data", "tcb-status", "revocation"}),
    nvidia.DEFAULT_POLICY,
    PLATFORM.collateral,
)
REPORT = GPU.report(gpu_request(b"g" * 32))
BINDING = Binding("orchestrator", b"e" * 48, sha384(REPORT), b"n" * 32, 1, sha384(b"a job"), b"i" * 32)
OTHERWISE = {
    "role": replace(BINDING, role="holder"),
    "channel": replace(BINDING, exporter=b"f" * 48),
    "nonce": replace(BINDING, nonce=b"o" * 32),
    "epoch": replace(BINDING, epoch=2),
    "manifest": replace(BINDING, manifest=sha384(b"another job")),
    "gpu-report": replace(BINDING, gpu_report_digest=sha384(OTHER_GPU.report(gpu_request(b"g" * 32)))),
}


def _evidence(binding: Binding = BINDING) -> CompositeEvidence:
    return CompositeEvidence(binding, PLATFORM.td().quote(binding.report_data()), REPORT, GPU.chain_pem)


def test_evidence_bound_to_what_is_expected_is_accepted() -> None:
    appraisal = appraise_composite(_evidence().encode(), EXPECTED, VERIFIER, at=NOW)
    assert appraisal.accepted, appraisal.steps[-1]
    assert appraisal.claims["role"] == "orchestrator"


@pytest.mark.parametrize("step", OTHERWISE)
def test_a_genuine_quote_bound_to_something_else_is_refused_where_it_differs(step: str) -> None:
    """Role and channel: diversion and relay; nonce: replay; gpu-report: another GPU's report beside a genuine quote."""
    appraisal = appraise_composite(_evidence(OTHERWISE[step]).encode(), EXPECTED, VERIFIER, at=NOW)
    assert appraisal.failed_step == step


@pytest.mark.parametrize("step", OTHERWISE)
def test_a_binding_rewritten_to_what_is_expected_is_not_what_the_td_signed(step: str) -> None:
    relayed = replace(_evidence(OTHERWISE[step]), binding=BINDING)
    appraisal = appraise_composite(relayed.encode(), EXPECTED, VERIFIER, at=NOW)
    assert appraisal.failed_step == "quote.report-data"


def test_the_instance_is_told_as_the_td_committed_to_it_and_cannot_be_rewritten() -> None:
    other = _evidence(replace(BINDING, instance=b"j" * 32))
    told = appraise_composite(other.encode(), EXPECTED, VERIFIER, at=NOW)
    assert (told.accepted, told.claims["instance"]) == (True, (b"j" * 32).hex())
    rewritten = replace(other, binding=BINDING)
    assert appraise_composite(rewritten.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "quote.report-data"


@pytest.mark.parametrize("instance", [b"", b"i" * 31, b"i" * 33])
def test_an_instance_of_another_length_is_refused_at_parse(instance: bytes) -> None:
    evidence = _evidence(replace(BINDING, instance=instance))
    assert appraise_composite(evidence.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "parse"


@pytest.mark.parametrize("step", sorted(set(OTHERWISE) - {"gpu-report"}))
def test_each_attack_comes_through_where_a_verifier_expects_what_the_evidence_says(step: str) -> None:
    field = {"channel": "exporter"}.get(step, step)
    expected = replace(EXPECTED, **{field: getattr(OTHERWISE[step], field)})
    assert appraise_composite(_evidence(OTHERWISE[step]).encode(), expected, VERIFIER, at=NOW).accepted


def test_another_gpus_report_is_refused() -> None:
    swapped = replace(_evidence(), gpu_report=OTHER_GPU.report(gpu_request(b"g" * 32)), gpu_chain=OTHER_GPU.chain_pem)
    assert appraise_composite(swapped.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "gpu-report"


def test_a_gpu_of_an_unknown_maker_is_refused_though_the_td_vouches_for_it() -> None:
    report = OTHER_GPU.report(gpu_request(b"g" * 32))
    binding = replace(BINDING, gpu_report_digest=sha384(report))
    quote = PLATFORM.td().quote(binding.report_data())
    evidence = CompositeEvidence(binding, quote, report, OTHER_GPU.chain_pem)
    assert appraise_composite(evidence.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "gpu.chain"


def test_a_verifier_without_a_gpu_policy_leaves_the_gpu_to_the_td_and_says_so() -> None:
    verifier = replace(VERIFIER, gpu_policy=None)
    appraisal = appraise_composite(_evidence().encode(), EXPECTED, verifier, at=NOW)
    assert appraisal.accepted
    assert appraisal.steps[-1].id == "gpu"
    assert appraisal.steps[-1].ok is None


def test_a_td_that_its_host_may_debug_is_refused() -> None:
    quote = PLATFORM.td(debug=True).quote(BINDING.report_data())
    evidence = replace(_evidence(), quote=quote)
    assert appraise_composite(evidence.encode(), EXPECTED, VERIFIER, at=NOW).failed_step == "quote.debug"


def test_simulated_evidence_is_refused_with_the_production_roots() -> None:
    verifier = replace(VERIFIER, anchors=default_anchors())
    assert appraise_composite(_evidence().encode(), EXPECTED, verifier, at=NOW).failed_step == "quote.pck-chain"


@pytest.mark.parametrize(
    ("verifier", "failed"),
    [
        (replace(VERIFIER, td_policy=td.Policy()), "quote.policy"),
        (replace(VERIFIER, gpu_policy=nvidia.Policy()), "gpu.policy"),
    ],
)
def test_an_empty_policy_accepts_nothing(verifier: Verifier, failed: str) -> None:
    assert appraise_composite(_evidence().encode(), EXPECTED, verifier, at=NOW).failed_step == failed


def test_evidence_is_read_as_it_was_written() -> None:
    assert parse_evidence(_evidence().encode()) == _evidence()


def test_no_two_bindings_ask_for_the_same_quote() -> None:
    """Fields move into each other only where lengths are left out of the encoding."""
    one = replace(BINDING, role="ab", exporter=b"c" * 33)
    other = replace(BINDING, role="abc", exporter=b"c" * 32)
    bindings = [one, other, BINDING, *OTHERWISE.values()]
    assert len({binding.report_data() for binding in bindings}) == len(bindings)


@pytest.mark.parametrize("length", [0, 10, 27, 40, 300, -1])
def test_truncated_evidence_is_refused_at_parse(length: int) -> None:
    evidence = _evidence().encode()
    assert appraise_composite(evidence[:length], EXPECTED, VERIFIER, at=NOW).failed_step == "parse"
    with pytest.raises(MalformedError):
        parse_evidence(evidence + b"\0")


def test_nothing_may_follow_a_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Binding.encode
    monkeypatch.setattr(Binding, "encode", lambda self: encode(self) + b"\0")
    with pytest.raises(MalformedError, match="binding"):
        parse_evidence(_evidence().encode())
