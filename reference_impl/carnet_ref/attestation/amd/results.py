"""What the steps about an SNP guest say of it to others.

Nothing is said of the instance: AMD's revocation lists speak of signing keys, and of no chip.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from carnet_ref.attestation.amd.report import DEBUG
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
    words = claims["guest_policy"]
    assert isinstance(words, list), "the guest's policy is told as words"
    return {TrustClaim.RUNTIME_OPAQUE: CONTRADICTED} if DEBUG in words else {}


PLATFORM: Final = ("product", "certificate-tcb", "tcb-order", "minimum-tcb")
RESULTS: Final = ResultProfile(
    (
        TrustRow(
            TrustClaim.HARDWARE,
            {
                "chain": UNRECOGNISED,
                **dict.fromkeys(("validity", "signature", "signing-key"), NOT_VERIFIED),
                **dict.fromkeys(PLATFORM, CONTRADICTED),
            },
            dict.fromkeys(("chip-id", "revocation"), CONTRADICTED),
        ),
        TrustRow(
            TrustClaim.EXECUTABLES,
            {"measurement": CONTRADICTED},
            dict.fromkeys(("guest-svn", "id-keys"), CONTRADICTED),
            affirmed=BOOTED,
        ),
        TrustRow(TrustClaim.RUNTIME_OPAQUE, dict.fromkeys(("debug", "migration"), CONTRADICTED)),
        TrustRow(
            TrustClaim.CONFIGURATION,
            dict.fromkeys(("guest-policy", "platform-info"), CONTRADICTED),
            dict.fromkeys(("vmpl", "host-data"), CONTRADICTED),
        ),
    ),
    "report-data",
    "report_data",
    _noted,
)
"""Of an SNP guest."""
