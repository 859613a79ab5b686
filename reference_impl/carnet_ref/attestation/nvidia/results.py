"""What the steps about an NVIDIA device say of it to others.

Of run-time memory only a debug mode says something: a GPU keeps others out of its memory and does not encrypt it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from carnet_ref.attestation.nvidia.node_policy import NodePolicy
from carnet_ref.attestation.nvidia.policy import Policy
from carnet_ref.attestation.results.trust import (
    BOOTED,
    CONTRADICTED,
    NOT_VERIFIED,
    UNRECOGNISED,
    ResultProfile,
    TrustClaim,
    TrustRow,
)


def _noted(claims: Mapping[str, object]) -> Mapping[TrustClaim, int]:
    return {TrustClaim.RUNTIME_OPAQUE: CONTRADICTED} if claims["debugged"] else {}


def _lasting(policy: Policy) -> int:
    return policy.result_ttl


def _lasting_of_node(policy: NodePolicy) -> int:
    return policy.device.result_ttl


FIRMWARE: Final = ("firmware-id", "driver-rim", "vbios-rim", "rim-revocation", "measurements")
ROWS: Final = (
    TrustRow(TrustClaim.HARDWARE, {"chain": UNRECOGNISED, "validity": NOT_VERIFIED, "signature": NOT_VERIFIED}),
    TrustRow(TrustClaim.INSTANCE_IDENTITY, {"revocation": CONTRADICTED}),
    TrustRow(TrustClaim.EXECUTABLES, dict.fromkeys(FIRMWARE, CONTRADICTED), affirmed=BOOTED),
    TrustRow(TrustClaim.CONFIGURATION, dict.fromkeys(("mode", "debug"), CONTRADICTED)),
)
DEVICE: Final = ResultProfile(ROWS, "nonce", "nonce", _noted, _lasting)
"""Of one device."""
NODE: Final = ResultProfile(ROWS, "nonce", "nonce", _noted, _lasting_of_node, grouped=True)
"""Of every device of a node."""
