"""The orchestrator's verifier refuses a report of another maker, for another nonce, or in another mode."""

from __future__ import annotations

import pytest

from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from carnet_ref.device.mode import Mode
from carnet_ref.spdm.errors import SpdmError
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier
from carnet_ref.systems.gpu_travelling.parties.deployment import MADE, Deployment, holder_names
from carnet_ref.systems.gpu_travelling.roles.ports import GpuEvidence

DEPLOYMENT = Deployment(holder_names(1), 1)
NONCE = bytes(range(32))
OWN = DEPLOYMENT.silicon()
FOREIGN = SimulatedGpu(b"another maker", MADE)
VERIFIER = GpuVerifier(OWN.anchors, lambda: MADE, {})


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
