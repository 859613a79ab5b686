"""Readings: what the designs that lack something still give, and what of the argument they lose.

Every claim that is not named here holds in them, and is proved.
"""

from __future__ import annotations

from carnet_spec.language import TwoRuns
from carnet_spec.protocols.sgx_lkl.claims import THREATS
from carnet_spec.protocols.sgx_lkl.variants import ON_DEMAND, SHUFFLED

_MEDDLING = THREATS[1:]

FALLS: dict[str, dict[str, tuple[str, ...]]] = {
    SHUFFLED: {"revisits": THREATS},
    ON_DEMAND: {"count": THREATS},
    "protected-only": dict.fromkeys(("size", "count", "order", "time", "address", "revisits"), THREATS),
    "early-end": dict.fromkeys(("end", "schedule"), THREATS),
    "needed-retry": {"refusal": _MEDDLING},
    "calls-checked": {"error": _MEDDLING},
    "bare-hand-over": dict.fromkeys(
        ("hand-over-count", "hand-over-end", "hand-over-size", "schedule", "begun"), THREATS
    ),
}
"""For each variant the claims that fall, and under which threat models."""

UNTRUE: dict[str, tuple[str, ...]] = {"bare-hand-over": ("frames_have_their_time",)}
"""For each variant the lemmas that do not hold in it."""


def expect_falls(runs: TwoRuns) -> None:
    """Say which claims fall in the variant that is drafted, and take back the lemmas that do not hold."""
    for claim, fails in FALLS.get(runs.variant, {}).items():
        runs.expect(claim, under=tuple(threat for threat in THREATS if threat not in fails), fails_under=fails)
    runs.withdraw(*UNTRUE.get(runs.variant, ()))
