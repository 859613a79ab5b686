"""What the steps about a TD say of it to others.

That the hardware is genuine and supported needs collateral: without it nobody has said that the platform is up to date.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from carnet_ref.attestation.intel.tcb import TcbStatus
from carnet_ref.attestation.results.trust import (
    BOOTED,
    CONTRADICTED,
    NOT_VERIFIED,
    UNRECOGNISED,
    VULNERABLE,
    ResultProfile,
    TrustClaim,
    TrustRow,
)


def _noted(claims: Mapping[str, object]) -> Mapping[TrustClaim, int]:
    """Tell of a TD that its host may read, and of a platform with known vulnerabilities."""
    noted = {TrustClaim.RUNTIME_OPAQUE: CONTRADICTED} if claims["debug"] else {}
    if claims["tcb_status"] not in (None, TcbStatus.UP_TO_DATE) or claims["advisories"]:
        noted[TrustClaim.HARDWARE] = VULNERABLE
    return noted


SIGNATURES: Final = ("validity", "qe-report-signature", "qe-report-binding", "quote-signature", "collateral-signature")
PLATFORM: Final = ("fmspc", "collateral-validity", "qe-identity", "tdx-module", "tcb-status")
RESULTS: Final = ResultProfile(
    (
        TrustRow(
            TrustClaim.HARDWARE,
            {
                "pck-chain": UNRECOGNISED,
                **dict.fromkeys(SIGNATURES, NOT_VERIFIED),
                **dict.fromkeys(PLATFORM, CONTRADICTED),
            },
        ),
        TrustRow(TrustClaim.INSTANCE_IDENTITY, {"revocation": CONTRADICTED}),
        TrustRow(TrustClaim.EXECUTABLES, {"measurements": CONTRADICTED}, {"event-log": CONTRADICTED}, affirmed=BOOTED),
        TrustRow(
            TrustClaim.RUNTIME_OPAQUE,
            dict.fromkeys(("debug", "attributes"), CONTRADICTED),
            {"isolation": CONTRADICTED},
        ),
    ),
    "report-data",
    "report_data",
    _noted,
)
"""Of a TD."""
