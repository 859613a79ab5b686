"""Verifiers refuse a GPU's report and an orchestrator's quote of other contents than they expect."""

from __future__ import annotations

import pytest

from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.device.mode import Mode
from carnet_ref.spdm.errors import SpdmError
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdQuoter, TdVerifier
from carnet_ref.systems.gpu_travelling.parties.deployment import MADE, Deployment, holder_names
from carnet_ref.systems.gpu_travelling.roles.ports import GpuEvidence

DEPLOYMENT = Deployment(holder_names(1), 1)
NONCE = bytes(range(32))
OWN = DEPLOYMENT.silicon()
FOREIGN = SimulatedGpu(b"another maker", MADE)
VERIFIER = GpuVerifier(OWN.anchors, lambda: MADE, {})

MACHINE = SimulatedPlatform(b"a platform", MADE)
MEASURED = bytes(range(48))
EXPORTER, MANIFEST = bytes(range(32, 64)), b"the manifest of the job"
HOLDERS_VERIFIER = TdVerifier(MACHINE.anchors, MACHINE.collateral, MEASURED, lambda: MADE)


@pytest.mark.parametrize(
    ("gpu", "asked", "accepted"),
    [
        (OWN, NONCE, True),
        (OWN, bytes(32), False),
        (DEPLOYMENT.silicon(mode=Mode.OPEN), NONCE, False),
        (FOREIGN, NONCE, False),
    ],
    ids=["as it should be", "another nonce", "another mode", "another maker"],
)
def test_a_report_is_accepted_from_a_genuine_gpu_in_confidential_mode_only(
    gpu: SimulatedGpu, asked: bytes, accepted: bool
) -> None:
    evidence = GpuEvidence(gpu.report(gpu_request(asked)), gpu.chain_pem)
    assert VERIFIER.appraise(evidence, NONCE).accepted is accepted


def test_a_session_is_opened_with_a_chain_to_the_vendors_root_only() -> None:
    VERIFIER.trust(tuple(reversed(OWN.certificates)))
    with pytest.raises(SpdmError):
        VERIFIER.trust(tuple(reversed(FOREIGN.certificates)))


def quoted(
    measured: bytes = MEASURED, exporter: bytes = EXPORTER, nonce: bytes = NONCE, manifest: bytes = MANIFEST
) -> bytes:
    """Return the evidence of an orchestrator with this measurement, bound to these."""
    return TdQuoter(MACHINE.td(measured)).evidence(exporter, nonce, manifest, GpuEvidence(b"report", b"chain"))


@pytest.mark.parametrize(
    ("evidence", "refused"),
    [
        (quoted(), []),
        (quoted(measured=bytes(48)), ["quote.measurements"]),
        (quoted(exporter=bytes(32)), ["channel"]),
        (quoted(nonce=bytes(32)), ["nonce"]),
        (quoted(manifest=b"the manifest of another job"), ["manifest"]),
    ],
    ids=["as it should be", "another measurement", "another channel", "another nonce", "another manifest"],
)
def test_a_quote_is_accepted_of_the_orchestrator_in_this_channel_for_this_job_only(
    evidence: bytes, refused: list[str]
) -> None:
    appraisal = HOLDERS_VERIFIER.appraise(evidence, EXPORTER, NONCE, MANIFEST)
    assert [step.id for step in appraisal.steps if step.ok is False] == refused
    assert appraisal.accepted is (not refused)
